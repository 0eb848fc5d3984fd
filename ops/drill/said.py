"""What the checkpoint helper has said in the log of an attempt: the one place that reads its lines for the drill."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from components.job_facts import SCRATCH
from ops.train.logs import events, unless_missing
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
        meaning(event["timestamp"] / MILLISECONDS, event["message"])
        for event in events(clients, attempt, FILTER)
    )
    return sorted(filter(None, meant), key=lambda one: one.at)


def last_line_at(clients: Clients, attempt: Attempt) -> float | None:
    """When the attempt wrote its last line, of whatever kind."""

    def page() -> list[dict[str, Any]]:
        return clients.logs.get_log_events(
            logGroupName=attempt.log_group, logStreamName=attempt.log_stream, startFromHead=False, limit=1
        )["events"]

    newest = unless_missing(page, attempt)
    return max((event["timestamp"] / MILLISECONDS for event in newest), default=None)


def of_kind(lines: Sequence[Said], *kinds: Kind) -> list[Said]:
    """In their order."""
    return [one for one in lines if one.kind in kinds]
