"""What the checkpoint helper has said in the log of an attempt: the one place that reads its lines for the drill."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from components.job_facts import SCRATCH
from ops.aws_calls import error_code, told
from ops.train.runs import MILLISECONDS, Attempt
from ops.train.stack import Clients

LINE = re.compile(
    r"checkpoint: (?:"
    r"(?P<saved>saved) step (?P<saved_step>\d+) in (?P<place>.+) in [0-9.]+ s"
    r"|(?P<copied>copied) step (?P<copied_step>\d+) to "
    r"|(?P<resumed>resuming) from step (?P<resumed_step>\d+) in "
    r"|(?P<began>no valid checkpoint) in .*: starting from the beginning"
    r")"
)
FILTER = '"checkpoint:"'


class Kind(StrEnum):
    """What a line tells: the work so far lies on the node's own disk, or outlives the node, or was taken up again."""

    ON_THE_NODE = "on the node"
    SAFE = "safe"
    RESUMED = "resumed"
    BEGAN = "began"


@dataclass(frozen=True, kw_only=True)
class Said:
    """One line. `at` is in seconds since 1970; the step is 0 where the work begins anew."""

    at: float
    kind: Kind
    step: int = 0


def meaning(at: float, line: str) -> Said | None:
    """None for a line that tells none of these."""
    match = LINE.search(line)
    if match is None:
        return None
    if match["saved"]:
        on_the_node = match["place"].startswith(f"{SCRATCH}/")
        kind = Kind.ON_THE_NODE if on_the_node else Kind.SAFE
        return Said(at=at, kind=kind, step=int(match["saved_step"]))
    if match["copied"]:
        return Said(at=at, kind=Kind.SAFE, step=int(match["copied_step"]))
    if match["resumed"]:
        return Said(at=at, kind=Kind.RESUMED, step=int(match["resumed_step"]))
    return Said(at=at, kind=Kind.BEGAN)


def said(clients: Clients, attempt: Attempt) -> list[Said]:
    """All of it, oldest first; empty where the log does not exist yet, or has nothing of the helper."""
    meant = (
        meaning(event["timestamp"] / MILLISECONDS, event["message"]) for event in _events(clients, attempt)
    )
    return sorted(filter(None, meant), key=lambda one: one.at)


def last_line_at(clients: Clients, attempt: Attempt) -> float | None:
    """When the attempt wrote its last line, of whatever kind."""

    def page() -> list[dict[str, Any]]:
        return clients.logs.get_log_events(
            logGroupName=attempt.log_group, logStreamName=attempt.log_stream, startFromHead=False, limit=1
        )["events"]

    events = _unless_missing(page, attempt)
    return max((event["timestamp"] / MILLISECONDS for event in events), default=None)


def of_kind(lines: Sequence[Said], *kinds: Kind) -> list[Said]:
    """In their order."""
    return [one for one in lines if one.kind in kinds]


def _events(clients: Clients, attempt: Attempt) -> list[dict[str, Any]]:
    def pages() -> list[dict[str, Any]]:
        found = clients.logs.get_paginator("filter_log_events").paginate(
            logGroupName=attempt.log_group,
            logStreamNames=[attempt.log_stream],
            startTime=int(attempt.started * MILLISECONDS),
            filterPattern=FILTER,
        )
        return [event for page in found for event in page["events"]]

    return _unless_missing(pages, attempt)


def _unless_missing(read: Callable[[], list[dict[str, Any]]], attempt: Attempt) -> list[dict[str, Any]]:
    """A container that has written nothing yet has no stream."""
    from botocore.exceptions import ClientError

    if not attempt.log_stream:
        return []
    with told(f"reading the log {attempt.log_stream}"):
        try:
            return read()
        except ClientError as error:
            if error_code(error) == "ResourceNotFoundException":
                return []
            raise
