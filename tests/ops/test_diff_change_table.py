"""The report beside the engine: what the rows of the change table do to a stack that is up, told without one."""

from collections.abc import Sequence

import pytest

from ops.capture.program import record
from ops.capture.recording import Recording
from ops.diff.comparison import Comparison, compared
from recordings import recorded
from tests.engine.change_table import CHANGES, ZONE_WITH_ONE_NAT_GATEWAY
from tests.engine.changes import Base, Change, Touched, changed_keys, in_few_previews, short_type

# Rows of the other stacks whose like the dev stack has none of.
ALSO = (
    ZONE_WITH_ONE_NAT_GATEWAY,
    "larger disks for training",
    "the API inside the network only",
)


def _base(stack: str) -> Base:
    """The stack as the table knows it; no engine is asked."""
    return Base(
        engine=None,  # ty: ignore[invalid-argument-type]
        resources={
            item.urn: {"custom": item.custom and not item.remote, "parent": item.parent or ""}
            for item in recorded(stack).resources
        },
    )


def _groups() -> list[list[Change]]:
    """The rows of the dev stack and a few others; of rows that are to do the same the first."""
    rows: dict[str, Change] = {}
    for change in CHANGES:
        if change.stack == "dev":
            rows.setdefault(change.expected, change)
    return [
        *in_few_previews(_base("dev"), rows.values()),
        *([change] for change in CHANGES if change.what in ALSO),
    ]


def _told(found: Comparison, head: Recording) -> set[Touched]:
    changed = {resource.urn for resource, _ in found.changed} | found.replaced.updated.keys()
    # The children of the network stand for it.
    there = [item for item in head.resources if not item.remote]
    lists = {
        "create": found.added,
        "delete": found.removed,
        "replace": [item for item in there if item.urn in found.replaced.because],
        "update": [item for item in there if item.urn in changed - found.replaced.because.keys()],
    }
    return {
        Touched(operation, short_type(item.type), item.name)
        for operation, items in lists.items()
        for item in items
    }


@pytest.mark.parametrize("changes", _groups(), ids=lambda changes: changes[0].what)
def test_a_change_is_told_as_the_engine_carries_it_out(changes: Sequence[Change]) -> None:
    stack = changes[0].stack
    head = record(stack, changes=changed_keys(stack, [change.values for change in changes]))
    found = compared(recorded(stack), head)
    base = _base(stack)
    expected = frozenset[Touched]().union(*(base.expected(change) for change in changes))
    told = _told(found, head)
    assert told == expected, (
        f"{[change.what for change in changes]}: told without need {sorted(map(str, told - expected))}, "
        f"not told {sorted(map(str, expected - told))}"
    )
    losing = any(change.loses_data for change in changes)
    assert bool(found.data) == losing, f"data at risk: {[item.name for item in found.data]}"
