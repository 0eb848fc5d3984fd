"""Reads S3 event notifications out of SQS messages.

The shapes: https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
"""

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from rag.errors import PipelineError

# Whatever happened to the object, it is compared with what the bucket holds now.
EVENT_NAMES = ("ObjectCreated:", "ObjectRemoved:", "ObjectRestore:Completed", "LifecycleExpiration:")


class EventError(PipelineError):
    """A message that is no S3 notification."""

    code = "not_a_notification"


@dataclass(frozen=True, kw_only=True)
class ObjectChange:
    """Something happened to `key`. `sequencer` orders the changes of one key; empty when S3 sent none."""

    key: str
    sequencer: str


def object_changes(body: str) -> list[ObjectChange]:
    """The changes in one message; none for the test event that S3 sends when notifications begin."""
    try:
        notification = json.loads(body)
        if notification.get("Event") == "s3:TestEvent":
            return []
        records = [
            record for record in notification["Records"] if record["eventName"].startswith(EVENT_NAMES)
        ]
        return [_change(record["s3"]) for record in records]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EventError("The message is no S3 event notification.") from error


def is_older(sequencer: str, than: str) -> bool:
    """Whether a change is not newer than one already dealt with.

    Sequencers are hexadecimal texts of different lengths: the shorter one is filled with zeros on its right.
    A change without a sequencer is never older.
    """
    if not sequencer or not than:
        return False
    length = max(len(sequencer), len(than))
    return sequencer.upper().ljust(length, "0") <= than.upper().ljust(length, "0")


def newest(*sequencers: str) -> str:
    """The last in order of the given sequencers; empty ones count as the first."""
    length = max(map(len, sequencers))
    return max(sequencers, key=lambda sequencer: sequencer.upper().ljust(length, "0"))


def _change(s3: dict[str, Any]) -> ObjectChange:
    """S3 writes keys as a form does: a blank is a plus sign."""
    return ObjectChange(key=unquote_plus(s3["object"]["key"]), sequencer=s3["object"].get("sequencer", ""))
