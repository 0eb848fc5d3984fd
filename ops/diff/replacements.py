"""Which resources a change replaces, and which of the others then follow. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ops.capture.recording import RecordedResource, Recording
from ops.diff.changes import changes_of, is_ignored
from ops.diff.matching import Matched, Pair, identities, with_texts
from ops.replacements.facts import FACTS, replaced_by

# What stands for an identity that only AWS will know.
NEXT = "(another)"
PROVIDER = "aws:"


@dataclass(frozen=True, kw_only=True)
class Replacements:
    """`because` has the replacing properties by URN in the head; `followed` names what their change comes from.

    `unjudged` are changed resources of types without facts: whether they are replaced is not known.
    """

    because: Mapping[str, frozenset[str]]
    followed: Mapping[str, str]
    unjudged: tuple[RecordedResource, ...]


def replacements(found: Matched, base: Recording, head: Recording) -> Replacements:
    """What AWS cannot change in place, by the replacement facts, and what refers to it by an id of it."""
    regions = _Regions(base), _Regions(head)
    because: dict[str, frozenset[str]] = {}
    unjudged = []
    for pair in found.pairs:
        if not pair.head.type.startswith(PROVIDER):
            continue
        if pair.head.type in FACTS:
            old, new = (
                places.inputs_of(item) for places, item in zip(regions, (pair.base, pair.head), strict=True)
            )
            because[pair.head.urn] = _replacing(pair, old, new)
        elif changes_of(pair):
            unjudged.append(pair.head)
    because = {urn: paths for urn, paths in because.items() if paths}
    followed = _follow(found.pairs, because)
    return Replacements(because=because, followed=followed, unjudged=tuple(unjudged))


class _Regions:
    """A resource lies in the Region of its provider, unless it names another: a new one replaces it."""

    def __init__(self, recording: Recording) -> None:
        self._regions = {
            item.urn: item.inputs.get("region")
            for item in recording.resources
            if item.type.startswith("pulumi:providers:")
        }

    def inputs_of(self, resource: RecordedResource) -> dict[str, Any]:
        region = self._regions.get(resource.provider.rpartition("::")[0])
        return {**({"region": region} if region else {}), **resource.inputs}


def _replacing(pair: Pair, old: Mapping[str, Any], new: Mapping[str, Any]) -> frozenset[str]:
    paths = replaced_by(pair.head.type, old, new)
    asked = {
        change.path
        for change in changes_of(pair)
        for root in pair.head.replace_on_changes
        if change.path.startswith(root)
    }
    return frozenset(path for path in paths | asked if not is_ignored(path, pair.head))


def _follow(pairs: Sequence[Pair], because: dict[str, frozenset[str]]) -> dict[str, str]:
    """Adds to `because` what is replaced since something else is, and returns what each of these comes from."""
    followed: dict[str, str] = {}
    dependents = _dependents(pairs)
    by_urn = {pair.head.urn: pair for pair in pairs}
    pending = list(because)
    while pending:
        source = by_urn[pending.pop(0)].head
        names = {value: f"{value}{NEXT}" for value in identities(source).values()}
        for pair in dependents.get(source.urn, ()) if names else ():
            if pair.head.urn in because or pair.head.type not in FACTS:
                continue
            paths = _replacing(pair, pair.head.inputs, with_texts(pair.head.inputs, names))
            if paths:
                because[pair.head.urn] = paths
                followed[pair.head.urn] = source.name
                pending.append(pair.head.urn)
    return followed


def _dependents(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        for urn in {urn for urns in pair.head.property_dependencies.values() for urn in urns}:
            found.setdefault(urn, []).append(pair)
    return found
