"""What the function sends: its own work to its own queue, and what cannot be handled to the dead letters."""

import base64
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from ingestion.events import PartToEmbed
from rag.aws_errors import typed_errors
from rag.errors import UnavailableError

# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
MESSAGES_PER_CALL = 10
MAXIMUM_ATTRIBUTES = 10
MAXIMUM_MESSAGE_BYTES = 1_048_576
MAXIMUM_REASON_CHARACTERS = 1000
REFUSED_CHARACTERS = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SEND_ATTEMPTS = 3


class Queue:
    """The function's own queue and its dead letters. `sqs` is a boto3 client.

    Lambda stops a chain of more than 16 runs that call each other through SQS; here a chain has an event's run and a
    part's run, since a part's run sends nothing. Only where the index changed under a document does a part's run
    begin the document again, with parts once more.
    https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
    """

    def __init__(self, sqs: Any, queue_url: str, dead_letter_queue_url: str) -> None:
        self._sqs = sqs
        self._queue_url = queue_url
        self._dead_letter_queue_url = dead_letter_queue_url

    def send_parts(self, parts: Sequence[PartToEmbed]) -> None:
        """One message per part. After an error some were sent and some not; sending all again does no harm."""
        for start in range(0, len(parts), MESSAGES_PER_CALL):
            bodies = {str(part.part): part.to_json() for part in parts[start : start + MESSAGES_PER_CALL]}
            for _ in range(SEND_ATTEMPTS):
                bodies = self._send(bodies)
                if not bodies:
                    break
            else:
                raise UnavailableError(f"{len(bodies)} messages were not taken by the queue.")

    def _send(self, bodies: dict[str, str]) -> dict[str, str]:
        """What was not taken: a batch is answered with 200 even when messages in it failed."""
        entries = [{"Id": one, "MessageBody": body} for one, body in bodies.items()]
        with typed_errors("Sending messages"):
            reply = self._sqs.send_message_batch(QueueUrl=self._queue_url, Entries=entries)
        failed = {failure["Id"] for failure in reply.get("Failed", [])}
        return {one: body for one, body in bodies.items() if one in failed}

    def bury(self, record: dict[str, Any], reason: str, document_key: str) -> None:
        """Send a received message as it is to the dead letters, with why and when it got there.

        Of attributes that the message had before, only those are kept that still fit into SQS's limits.
        """
        own = {
            "reason": _text(reason[:MAXIMUM_REASON_CHARACTERS]),
            "document_key": _text(document_key),
            "failed_at": _text(datetime.now(UTC).isoformat(timespec="seconds")),
        }
        attributes = _fitting(own, record.get("messageAttributes") or {}, len(record["body"].encode()))
        with typed_errors("Sending to the dead-letter queue"):
            self._sqs.send_message(
                QueueUrl=self._dead_letter_queue_url,
                MessageBody=record["body"],
                MessageAttributes=attributes,
            )


def _text(value: str) -> dict[str, Any]:
    """An attribute; SQS refuses an empty value and what XML 1.0 cannot hold."""
    return {"DataType": "String", "StringValue": REFUSED_CHARACTERS.sub("\ufffd", value) or "-"}


def _fitting(own: dict[str, Any], before: dict[str, Any], body_bytes: int) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    left = MAXIMUM_MESSAGE_BYTES - body_bytes
    candidates = {**own, **{name: _as_sent(value) for name, value in before.items() if name not in own}}
    for name, attribute in candidates.items():
        size = _size(name, attribute)
        if len(kept) < MAXIMUM_ATTRIBUTES and size <= left:
            kept[name] = attribute
            left -= size
    return kept


def _as_sent(received: dict[str, Any]) -> dict[str, Any]:
    """An attribute of a received message, in the shape in which it is sent."""
    if received.get("binaryValue") is not None:
        return {"DataType": received["dataType"], "BinaryValue": base64.b64decode(received["binaryValue"])}
    return {"DataType": received["dataType"], "StringValue": received["stringValue"]}


def _size(name: str, attribute: dict[str, Any]) -> int:
    value = attribute.get("BinaryValue", attribute.get("StringValue", ""))
    data = value if isinstance(value, bytes) else value.encode()
    return len(name.encode()) + len(attribute["DataType"]) + len(data)
