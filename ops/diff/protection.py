"""Which data a change leaves less protected than it was. Pure."""

from collections.abc import Iterable, Iterator

from ops.capture.recording import RecordedResource
from ops.diff.matching import Pair
from policies.data import DATA_HOLDING

# What lets AWS delete a bucket or a repository with all that is in it.
DELETES_CONTENT = ("forceDestroy", "forceDelete")


def lost_protection(pairs: Iterable[Pair]) -> Iterator[str]:
    """One sentence for each resource that holds data and is held back from being deleted by less than before."""
    for pair in pairs:
        if pair.head.type in DATA_HOLDING and (lost := list(_lost(pair.base, pair.head))):
            yield f"{pair.head.name} {' and '.join(lost)}: a destroy, or a line lost in a merge, can delete {DATA_HOLDING[pair.head.type]}."


def _lost(base: RecordedResource, head: RecordedResource) -> Iterator[str]:
    if base.protect and not head.protect:
        yield "is no longer protected"
    if base.retain_on_delete and not head.retain_on_delete:
        yield "no longer stays in AWS when it is removed"
    for name in DELETES_CONTENT:
        if head.inputs.get(name) is True and base.inputs.get(name) is not True:
            yield f"can be deleted with all that is in it ({name})"
