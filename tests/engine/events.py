"""What one run of the command line did, read from its event log."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STACK = "pulumi:pulumi:Stack"
# Operations that leave a resource as it is.
UNCHANGED = ("same", "read")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One operation on one resource; `changed` holds the property paths that differ."""

    operation: str
    urn: str
    changed: tuple[str, ...] = ()
    failed: bool = False

    @property
    def type(self) -> str:
        return self.urn.split("::")[2].rpartition("$")[2]

    @property
    def name(self) -> str:
        return self.urn.split("::", 3)[3]


@dataclass(frozen=True, kw_only=True)
class Result:
    """One run: exit code, everything printed, the steps in order and the errors that the engine reported."""

    exit_code: int
    output: str = field(repr=False)
    steps: tuple[Step, ...] = field(repr=False)
    errors: str = field(repr=False)

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def changes(self) -> list[Step]:
        """The steps that change something; providers and the stack itself are left out."""
        return [
            step
            for step in self.steps
            if step.operation not in UNCHANGED
            and step.type != STACK
            and not step.type.startswith("pulumi:providers:")
        ]

    def changed(self) -> set[tuple[str, str, str]]:
        """Operation, type and name of every change."""
        return {(step.operation, step.type, step.name) for step in self.changes}


def read_events(path: Path) -> tuple[tuple[Step, ...], str]:
    """The steps and the error messages of an event log; an absent log has none."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    events = [json.loads(line) for line in lines]
    failed = {event["resOpFailedEvent"]["metadata"]["urn"] for event in events if "resOpFailedEvent" in event}
    steps = tuple(_steps(events, failed))
    return steps, "".join(_errors(events))


def _steps(events: list[dict[str, Any]], failed: set[str]) -> Iterator[Step]:
    being_refreshed: set[str] = set()
    for event in events:
        metadata = event.get("resourcePreEvent", event.get("resOutputsEvent", {})).get("metadata")
        if metadata is None:
            continue
        urn, starts = metadata["urn"], "resourcePreEvent" in event
        # What a refresh finds is told when it is done: same, update or delete.
        if starts and metadata["op"] == "refresh":
            being_refreshed.add(urn)
        elif starts or urn in being_refreshed:
            being_refreshed.discard(urn)
            changed = tuple(sorted(metadata.get("detailedDiff") or ()))
            yield Step(operation=metadata["op"], urn=urn, changed=changed, failed=urn in failed)


def _errors(events: list[dict[str, Any]]) -> Iterator[str]:
    for event in events:
        diagnostic = event.get("diagnosticEvent", {})
        if diagnostic.get("severity") == "error":
            yield diagnostic["message"]
