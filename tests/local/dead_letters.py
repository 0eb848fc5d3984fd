"""Tells which documents could not be indexed, and why."""

from typing import Any

import boto3


class DeadLetters:
    """Reads the queue of dead letters and leaves every message in it."""

    def __init__(self, queue_url: str) -> None:
        self._sqs = boto3.client("sqs")
        self._queue_url = queue_url
        self._seen: set[str] = set()

    def new(self) -> list[str]:
        """A line for each message that was not there before."""
        received = self._sqs.receive_message(
            QueueUrl=self._queue_url,
            MaxNumberOfMessages=10,
            VisibilityTimeout=1,
            MessageAttributeNames=["All"],
        ).get("Messages", [])
        lines = [_line(message) for message in received if message["MessageId"] not in self._seen]
        self._seen |= {message["MessageId"] for message in received}
        return lines


def _line(message: dict[str, Any]) -> str:
    said = {
        name: value.get("StringValue", "") for name, value in message.get("MessageAttributes", {}).items()
    }
    return f"Not indexed: {said.get('document_key', '')}: {said.get('reason', message['Body'][:200])}"
