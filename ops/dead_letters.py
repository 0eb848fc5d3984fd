"""Looks at the messages of a dead-letter queue without taking them out."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from ops.aws_calls import told

# Long enough to look through the queue once, short enough that nobody waits for what was looked at.
VISIBILITY_SECONDS = 30
RECEIVE_COUNT = 10
# SQS may answer a short look with nothing although messages are there.
EMPTY_LOOKS = 2
ATTRIBUTES = ("reason", "document_key", "failed_at")


@dataclass(frozen=True, kw_only=True)
class DeadLetter:
    """One message. `reason` is empty where SQS itself gave it up, after too many tries."""

    message_id: str
    document_key: str
    reason: str
    failed_at: str
    sent_at_ms: int


def message_count(client: Any, url: str) -> int:
    """About how many messages the queue holds, those in flight included."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    with told(f"counting the messages of {url}"):
        attributes = client.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(attributes.get(name, 0)) for name in names)


def peek(client: Any, url: str, limit: int) -> list[DeadLetter]:
    """Up to `limit` messages, each once, the oldest first. They are given back at once."""
    found: dict[str, DeadLetter] = {}
    handles: list[str] = []
    try:
        for message in _received(client, url, limit, handles):
            found.setdefault(message["MessageId"], _letter(message))
            if len(found) >= limit:
                break
    finally:
        _give_back(client, url, handles)
    return sorted(found.values(), key=lambda letter: (letter.sent_at_ms, letter.message_id))


def table(letters: Sequence[DeadLetter]) -> list[str]:
    """Lines for people: when, which document, and why."""
    return [
        f"  {letter.failed_at or '-':<25}  {_line(letter.document_key) or '(no document)'}: "
        f"{_line(letter.reason) or 'given up by SQS after too many tries'}"
        for letter in letters
    ]


def _line(text: str) -> str:
    """A key may hold what would move the cursor of a terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


def _received(client: Any, url: str, limit: int, handles: list[str]) -> Iterator[dict[str, Any]]:
    """Messages until the queue looks empty; bounded, since a message may come twice. Adds to `handles`."""
    empty = 0
    for _ in range(EMPTY_LOOKS + 2 * limit // RECEIVE_COUNT):
        with told(f"looking into {url}"):
            messages = client.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=RECEIVE_COUNT,
                VisibilityTimeout=VISIBILITY_SECONDS,
                WaitTimeSeconds=1,
                MessageAttributeNames=list(ATTRIBUTES),
                MessageSystemAttributeNames=["SentTimestamp"],
            ).get("Messages", [])
        handles += [message["ReceiptHandle"] for message in messages]
        yield from messages
        empty = 0 if messages else empty + 1
        if empty == EMPTY_LOOKS:
            return


def _give_back(client: Any, url: str, handles: Sequence[str]) -> None:
    """What this fails for comes back by itself when its time is over."""
    for start in range(0, len(handles), RECEIVE_COUNT):
        entries = [
            {"Id": str(number), "ReceiptHandle": handle, "VisibilityTimeout": 0}
            for number, handle in enumerate(handles[start : start + RECEIVE_COUNT])
        ]
        with told(f"giving messages back to {url}"):
            client.change_message_visibility_batch(QueueUrl=url, Entries=entries)


def _letter(message: dict[str, Any]) -> DeadLetter:
    attributes = message.get("MessageAttributes", {})
    reason, key, failed_at = (attributes.get(name, {}).get("StringValue", "") for name in ATTRIBUTES)
    return DeadLetter(
        message_id=message["MessageId"],
        document_key=key or _key_in(message.get("Body", "")),
        reason=reason,
        failed_at=failed_at,
        sent_at_ms=int(message.get("Attributes", {}).get("SentTimestamp", 0)),
    )


def _key_in(body: str) -> str:
    """The document that the message is about: a part to be embedded, or a change that S3 told of."""
    try:
        document = json.loads(body)
        if "embed" in document:
            return str(document["embed"]["document_key"])
        return ", ".join(unquote_plus(record["s3"]["object"]["key"]) for record in document["Records"])
    except (ValueError, KeyError, TypeError):
        return ""
