"""What a removed resource is now, and the alias with which the engine would know. Pure."""

from collections.abc import Iterable, Iterator

from ops.capture.recording import RecordedResource
from ops.diff.comparison import Comparison


def successor_of(urn: str, item: Comparison) -> str:
    """Two sentences: which added resource looks like the removed one, and the alias that keeps it; "" for none."""
    removed = {resource.urn: resource for resource in item.removed}
    added = {resource.urn: resource for resource in item.added}
    old = removed.get(urn)
    new = _alike(old, added.values()) if old else None
    if not old or not new:
        return ""
    looks = f"like a rename to {new.name}" if new.name != old.name else f"moved to {_place(new.parent)}"
    # A component that is known by its former name takes its children along.
    while old.parent in removed and new.parent in added:
        parents = removed[old.parent], added[new.parent]
        if parents[0].type != parents[1].type:
            break
        old, new = parents
    alias = f"pulumi.Alias({', '.join(_said(old, new))})"
    return f"It looks {looks}. Fix: to keep it, put aliases=[{alias}] into the options of {new.name}"


def _alike(old: RecordedResource, added: Iterable[RecordedResource]) -> RecordedResource | None:
    """The only one of its type, or the only one of them that has its name."""
    of_type = [new for new in added if new.type == old.type]
    named = [new for new in of_type if new.name == old.name]
    return next((found[0] for found in (of_type, named) if len(found) == 1), None)


def _said(old: RecordedResource, new: RecordedResource) -> Iterator[str]:
    """What an alias must say: the parts that differ."""
    if old.name != new.name:
        yield f'name="{old.name}"'
    if old.parent != new.parent:
        yield f"parent={_parent(old.parent)}"


def _parent(urn: str | None) -> str:
    """The same in the program of every stack."""
    if not urn:
        return "pulumi.ROOT_STACK_RESOURCE"
    rest = urn.split("::", 1)[1]
    return f'f"urn:pulumi:{{pulumi.get_stack()}}::{rest}"'


def _place(urn: str | None) -> str:
    return urn.rpartition("::")[2] if urn else "the top of the program"
