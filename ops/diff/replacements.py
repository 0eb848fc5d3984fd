"""Which resources a change replaces, and which of the others then follow. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ops.capture.recording import RecordedResource, Recording
from ops.diff.changes import changes_of
from ops.diff.leaves import differing, is_named, leaves, lies_in
from ops.diff.matching import Matched, Pair, identities, with_texts
from ops.replacements.facts import FACTS, replaced_by

# What stands for an identity that only AWS will know.
NEXT = "(another)"
PROVIDER = "aws:"
BUCKET = "aws:s3/bucket:Bucket"
# What AWS counts up with each change in place, and others refer to.
COUNTED = {"aws:ec2/launchTemplate:LaunchTemplate": "latestVersion"}


@dataclass(frozen=True, kw_only=True)
class Replacements:
    """`because` has the replacing properties by URN in the head; `followed` names what their change comes from.

    `updated` are resources that only change since what they refer to does, and its name. `unjudged` are changed
    resources of types without facts: whether they are replaced is not known.
    """

    because: Mapping[str, frozenset[str]]
    followed: Mapping[str, str]
    updated: Mapping[str, str]
    unjudged: tuple[RecordedResource, ...]


def replacements(found: Matched, base: Recording, head: Recording) -> Replacements:
    """What AWS cannot change in place, by the replacement facts, and what refers to it by something that is new then."""
    regions = _Regions(base), _Regions(head)
    because: dict[str, frozenset[str]] = {}
    changed = {pair.head.urn for pair in found.pairs if changes_of(pair)}
    for pair in found.pairs:
        if pair.head.type in FACTS:
            old, new = (
                places.inputs_of(item) for places, item in zip(regions, (pair.base, pair.head), strict=True)
            )
            because[pair.head.urn] = _replacing(pair.head, old, new)
    followers = _Followers(found.pairs, {urn: paths for urn, paths in because.items() if paths})
    followers.follow(changed)
    return Replacements(
        because=followers.because,
        followed=followers.followed,
        updated=followers.updated,
        unjudged=tuple(
            pair.head
            for pair in found.pairs
            if pair.head.type.startswith(PROVIDER)
            and pair.head.type not in FACTS
            and pair.head.urn in changed | followers.updated.keys()
        ),
    )


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


def _replacing(resource: RecordedResource, old: Mapping[str, Any], new: Mapping[str, Any]) -> frozenset[str]:
    """The properties that replace the resource, by the facts or since the program asks for it."""
    asked = {
        path
        for path in differing(dict(leaves(old)), dict(leaves(new)))
        if is_named(path, resource.replace_on_changes)
    }
    replacing = replaced_by(resource.type, old, new) | asked
    meant = {path for path in replacing if not is_named(path, resource.ignore_changes)}
    return frozenset(path for path in meant if not any(lies_in(path, other) for other in meant - {path}))


class _Followers:
    """Finds what else changes, as the engine does: what refers to a replaced resource is looked at in its turn.

    Whose name the program gives is deleted before it is made anew. The engine then takes for unknown whatever property
    refers to it, even to that name, and deletes what is replaced for that first, too (pulumi/pulumi
    pkg/resource/deploy/step_generator.go, calculateDependentReplacements).
    """

    def __init__(self, pairs: Sequence[Pair], because: Mapping[str, frozenset[str]]) -> None:
        self.because = dict(because)
        self.followed: dict[str, str] = {}
        self.updated: dict[str, str] = {}
        self._resources = {pair.head.urn: pair.head for pair in pairs}
        self._deleted_first = {urn for urn in because if _is_deleted_first(self._resources[urn])}
        self._dependents: dict[str, list[RecordedResource]] = {}
        for resource in self._resources.values():
            for urn in {urn for urns in resource.property_dependencies.values() for urn in urns}:
                self._dependents.setdefault(urn, []).append(resource)

    def follow(self, changed: Collection[str]) -> None:
        """`changed` are the resources that differ by themselves."""
        # What is deleted first comes first, since more follows from it.
        pending = sorted(self.because, key=lambda urn: urn not in self._deleted_first)
        pending += [urn for urn in self._resources if urn in changed and urn not in self.because]
        while pending:
            source = self._resources[pending.pop(0)]
            for resource in self._dependents.get(source.urn, ()):
                if resource.urn in self.because:
                    continue
                inputs = dict(self._inputs_after(source, resource))
                paths = _replacing(resource, resource.inputs, inputs) if resource.type in FACTS else None
                if paths:
                    self.because[resource.urn] = paths
                    self.followed[resource.urn] = source.name
                    self.updated.pop(resource.urn, None)
                    if source.urn in self._deleted_first:
                        self._deleted_first.add(resource.urn)
                elif resource.urn in changed or resource.urn in self.updated or not _differ(resource, inputs):
                    continue
                else:
                    self.updated[resource.urn] = source.name
                pending.append(resource.urn)

    def _inputs_after(
        self, source: RecordedResource, resource: RecordedResource
    ) -> Iterator[tuple[str, Any]]:
        """The inputs of `resource`, in which what refers to something new of `source` is another."""
        is_replaced = source.urn in self.because
        texts = {value: f"{value}{NEXT}" for value in identities(source).values()} if is_replaced else {}
        count = str(source.outputs.get(COUNTED[source.type], "")) if source.type in COUNTED else ""
        for key, value in resource.inputs.items():
            if source.urn not in resource.property_dependencies.get(key, ()):
                yield key, value
            elif source.urn in self._deleted_first:
                yield key, NEXT
            else:
                yield key, _counted_up(with_texts(value, texts), count)


def _is_deleted_first(resource: RecordedResource) -> bool:
    """Whether the program asks for it, or gives the name (pulumi-terraform-bridge, nameRequiresDeleteBeforeReplace)."""
    name = resource.inputs.get("bucket" if resource.type == BUCKET else "name")
    return resource.delete_before_replace or name is not None


def _differ(resource: RecordedResource, inputs: Mapping[str, Any]) -> bool:
    before, after = dict(leaves(resource.inputs)), dict(leaves(inputs))
    return any(not is_named(path, resource.ignore_changes) for path in differing(before, after))


def _counted_up(value: Any, count: str) -> Any:
    """`value`, in which each text that is `count` is the next one; "" counts nothing."""
    if isinstance(value, Mapping):
        return {key: _counted_up(item, count) for key, item in value.items()}
    if isinstance(value, list):
        return [_counted_up(item, count) for item in value]
    return NEXT if count and value == count else value
