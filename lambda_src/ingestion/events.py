"""Reads what an SQS message asks for: a look at a changed document, or the work on one part of a document.

The shapes of S3's: https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
The sequencer in them, which orders the events of one key, is not used: whatever an event says happened, the document
is compared with what the bucket holds when it is handled, and reads of S3 are never older than its events. So an
event that comes late finds nothing to do, and an order of events has nothing to decide.
"""

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from ingestion.manifest import REVISION
from rag.errors import PipelineError

EVENT_NAMES = ("ObjectCreated:", "ObjectRemoved:", "ObjectRestore:Completed", "LifecycleExpiration:")


class EventError(PipelineError):
    """A message that is neither an S3 notification nor one of our own; trying again does not help."""

    code = "not_a_notification"


@dataclass(frozen=True, kw_only=True)
class DocumentChange:
    """Something happened to the object `key`."""

    key: str


@dataclass(frozen=True, kw_only=True)
class PartToEmbed:
    """The part `part` of a revision of the document `key` is to be embedded and indexed."""

    key: str
    revision: str
    part: int

    def to_json(self) -> str:
        """The message that asks for it."""
        fields = {"document_key": self.key, "revision": self.revision, "part": self.part}
        return json.dumps({"embed": fields})


Task = DocumentChange | PartToEmbed


def tasks(body: str) -> list[Task]:
    """What one message asks for; nothing for the test event that S3 sends when notifications begin."""
    try:
        message = json.loads(body)
        if "embed" in message:
            return [_part(message["embed"])]
        if message.get("Event") == "s3:TestEvent":
            return []
        if not isinstance(message["Records"], list):
            raise TypeError
        records = [record for record in message["Records"] if record["eventName"].startswith(EVENT_NAMES)]
        return [_change(record["s3"]["object"]["key"]) for record in records]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise EventError("The message is no S3 event notification and no part of a document.") from error


def _change(encoded_key: Any) -> DocumentChange:
    """S3 writes keys as a form does: a blank is a plus sign, and a plus sign is %2B."""
    if not isinstance(encoded_key, str) or not encoded_key:
        raise TypeError
    # S3 has keys of UTF-8 only; anything else would be made into the key of another object.
    return DocumentChange(key=unquote_plus(encoded_key, errors="strict"))


def _part(fields: dict[str, Any]) -> PartToEmbed:
    key, revision, part = fields["document_key"], fields["revision"], fields["part"]
    if not (isinstance(key, str) and isinstance(revision, str) and REVISION.fullmatch(revision)):
        raise TypeError
    if not isinstance(part, int) or isinstance(part, bool) or part < 0:
        raise TypeError
    return PartToEmbed(key=key, revision=revision, part=part)
