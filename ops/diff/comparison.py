"""Two recordings of one stack side by side: all that a report tells. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ops.capture.recording import RecordedResource, Recording
from ops.diagram import component_diagram
from ops.diff.access import grants, told
from ops.diff.boot_texts import with_boot_texts
from ops.diff.changes import Change, changes_of, differences
from ops.diff.costs import CostChange, cost_change
from ops.diff.matching import carried_over, former_urns, matched, names_in
from ops.diff.picture import Picture, picture
from ops.diff.protection import lost_protection
from ops.diff.replacements import Replacements, replacements
from ops.diff.zones import moved_zones
from ops.openings import Direction, Opening, openings
from policies.data import data_findings
from policies.rule import Finding
from policies.rules import findings


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What a change does to one stack. `is_new` says that the base has no such stack: all of it is added.

    `renamed` has the URN in the base by that in the head, of what an alias carries over; it is called by its new name
    everywhere else. `unprotected` and `moved_zones` are sentences.
    """

    stack: str
    is_new: bool
    added: tuple[RecordedResource, ...]
    removed: tuple[RecordedResource, ...]
    renamed: Mapping[str, str]
    changed: tuple[tuple[RecordedResource, tuple[Change, ...]], ...]
    replaced: Replacements
    data: tuple[Finding, ...]
    unprotected: tuple[str, ...]
    moved_zones: tuple[str, ...]
    permissions_gained: tuple[str, ...]
    permissions_lost: tuple[str, ...]
    openings_gained: tuple[Opening, ...]
    openings_lost: tuple[Opening, ...]
    cost: CostChange
    findings_new: tuple[Finding, ...]
    findings_gone: tuple[Finding, ...]
    exports: tuple[Change, ...]
    picture: Picture | None

    @property
    def is_same(self) -> bool:
        """Whether nothing at all has changed: every part of the report is made of these."""
        parts = (self.added, self.removed, self.renamed, self.changed, self.replaced.because, self.exports)
        return not self.is_new and not any(parts)

    @property
    def is_refused(self) -> bool:
        """Whether the change loses data or its protection, cannot be carried out, or lets the internet in."""
        return bool(self.data or self.unprotected or self.moved_zones or self.internet_openings)

    @property
    def internet_openings(self) -> list[Opening]:
        """What lets everybody in that did not before."""
        return [item for item in self.openings_gained if item.is_internet and item.direction is Direction.IN]


def compared(base: Recording | None, head: Recording) -> Comparison:
    """The change from `base`, or from nothing, to `head`. PriceTableError when the prices cannot be read."""
    is_new = base is None
    base = base or _nothing(head)
    former = former_urns(base, head)
    # The rules and the meters read user data as AWS gets it, a reviewer what is in it.
    found = matched(carried_over(with_boot_texts(base), head, former), with_boot_texts(head))
    base = carried_over(base, head, former)
    replaced = replacements(found, base, head)
    names = names_in(base), names_in(head)
    changed = [(pair.head, tuple(changes_of(pair, names))) for pair in found.pairs]
    permissions = grants(base), grants(head)
    doors = {str(item): item for item in openings(base)}, {str(item): item for item in openings(head)}
    faults = _by_key(findings(base)), _by_key(findings(head))
    return Comparison(
        stack=head.stack,
        is_new=is_new,
        added=found.added,
        removed=found.removed,
        renamed=former,
        changed=tuple((resource, changes) for resource, changes in changed if changes),
        replaced=replaced,
        data=tuple(data_findings(base, _without_aliases(head), replaced.because)),
        unprotected=tuple(lost_protection(found.pairs)),
        moved_zones=tuple(moved_zones(found.pairs)),
        permissions_gained=tuple(told(permissions[1] - permissions[0])),
        permissions_lost=tuple(told(permissions[0] - permissions[1])),
        openings_gained=tuple(door for text, door in doors[1].items() if text not in doors[0]),
        openings_lost=tuple(door for text, door in doors[0].items() if text not in doors[1]),
        cost=cost_change(base, head),
        findings_new=tuple(item for key, item in faults[1].items() if key not in faults[0]),
        findings_gone=tuple(item for key, item in faults[0].items() if key not in faults[1]),
        exports=tuple(differences(base.exports, head.exports, names)),
        picture=picture(component_diagram(base), component_diagram(head)),
    )


def _nothing(head: Recording) -> Recording:
    return Recording(
        project=head.project, stack=head.stack, resources=(), invokes=(), registered_outputs={}, exports={}
    )


def _without_aliases(head: Recording) -> Recording:
    """The base is carried over already: an alias left over names what the engine deletes."""
    return replace(head, resources=tuple(replace(item, aliases=()) for item in head.resources))


def _by_key(found: list[Finding]) -> dict[tuple[str, str], Finding]:
    return {(item.rule, item.message): item for item in found}
