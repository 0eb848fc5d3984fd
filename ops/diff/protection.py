"""What a change lets a slip delete that it did not before. Pure."""

from collections.abc import Iterable, Iterator

from ops.capture.recording import RecordedResource
from ops.diff.matching import Pair
from policies.data import DATA_HOLDING

# With these AWS deletes a bucket, a registry or a collection with all that it holds.
DELETES_ALL = ("forceDestroy", "forceDelete")


def lost_protection(pairs: Iterable[Pair]) -> Iterator[str]:
    """A sentence for each resource that holds data, or was protected, and is so less than before."""
    for pair in pairs:
        if pair.head.type not in DATA_HOLDING and not pair.base.protect:
            continue
        lost = [*_options_off(pair), *_deletions_on(pair)]
        if lost:
            held = DATA_HOLDING.get(pair.head.type, "what it holds")
            yield (
                f"{pair.head.name}: {', '.join(lost)}. A destroy, or a line that is lost in a merge, may delete for good {held}. "
                "Fix: set protectData to true, or leave these as they were."
            )


def _options_off(pair: Pair) -> Iterator[str]:
    for option in ("protect", "retain_on_delete"):
        if getattr(pair.base, option) and not getattr(pair.head, option):
            yield f"{option} is taken off"


def _deletions_on(pair: Pair) -> Iterator[str]:
    for key in DELETES_ALL:
        if _is_on(pair.head, key) and not _is_on(pair.base, key):
            yield f"{key} is turned on"


def _is_on(resource: RecordedResource, key: str) -> bool:
    return str(resource.inputs.get(key)).lower() == "true"
