"""Which resource of one recording is which of the other: by URN, or by an alias after a rename. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ops.capture.recording import RecordedResource, Recording, Secret

# What AWS computes and many resources have alike.
SHARED_OUTPUTS = ("region", "registryId", "zoneId")
# A shorter text may be anything.
SHORTEST_IDENTITY = 8


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One resource before and after."""

    base: RecordedResource
    head: RecordedResource


@dataclass(frozen=True, kw_only=True)
class Matched:
    """Every resource of two recordings, each list in the order of its recording."""

    added: tuple[RecordedResource, ...]
    removed: tuple[RecordedResource, ...]
    pairs: tuple[Pair, ...]


def matched(base: Recording, head: Recording) -> Matched:
    """Pairs the resources by URN; `base` is best carried over first."""
    before = {resource.urn: resource for resource in base.resources}
    after = {resource.urn for resource in head.resources}
    return Matched(
        added=tuple(resource for resource in head.resources if resource.urn not in before),
        removed=tuple(resource for resource in base.resources if resource.urn not in after),
        pairs=tuple(
            Pair(base=before[resource.urn], head=resource)
            for resource in head.resources
            if resource.urn in before
        ),
    )


def former_urns(base: Recording, head: Recording) -> dict[str, str]:
    """The URN in `base` by that in `head`, of the resources that an alias carries over."""
    before = {resource.urn for resource in base.resources}
    free = before - {resource.urn for resource in head.resources}
    found: dict[str, str] = {}
    for resource in head.resources:
        known = [urn for urn in resource.aliases if urn in free]
        if resource.urn not in before and known:
            found[resource.urn] = known[0]
            free.remove(known[0])
    return found


def carried_over(base: Recording, head: Recording, former: Mapping[str, str]) -> Recording:
    """`base` with the names that `head` has for the same things, which keep their names and ids in AWS."""
    if not former:
        return base
    new = {resource.urn: resource for resource in head.resources}
    urns = {old: urn for urn, old in former.items()}
    known = {resource.urn: resource for resource in base.resources}
    texts: dict[str, str] = {}
    for urn, old in former.items():
        now = identities(new[urn])
        texts |= {text: now[key] for key, text in identities(known[old]).items() if key in now}
    texts = _longest_first(texts)
    return replace(
        base,
        resources=tuple(_carried_over(resource, urns, texts, new) for resource in base.resources),
        exports=with_texts(base.exports, texts),
    )


def _carried_over(
    resource: RecordedResource,
    urns: Mapping[str, str],
    texts: Mapping[str, str],
    new: Mapping[str, RecordedResource],
) -> RecordedResource:
    urn = urns.get(resource.urn, resource.urn)
    return replace(
        resource,
        urn=urn,
        name=new[urn].name if resource.urn in urns else resource.name,
        parent=urns.get(resource.parent or "", resource.parent),
        id=with_texts(resource.id, texts),
        inputs=with_texts(resource.inputs, texts),
        outputs=with_texts(resource.outputs, texts),
        property_dependencies={
            key: frozenset(urns.get(source, source) for source in sources)
            for key, sources in resource.property_dependencies.items()
        },
    )


def identities(resource: RecordedResource) -> dict[str, str]:
    """What AWS computes for this resource alone and others refer to it by: its id, and outputs by their property.

    What the program chooses is not here: a resource keeps its given name, and its ARN, when it is replaced.
    """
    given = {str(value) for value in resource.inputs.values()}
    names = tuple(str(resource.inputs[key]) for key in ("name", "bucket") if resource.inputs.get(key))
    return {
        key: value
        for key, value in (*resource.outputs.items(), ("id", resource.id))
        if isinstance(value, str)
        and key not in SHARED_OUTPUTS
        and len(value) >= SHORTEST_IDENTITY
        and value not in given
        and not value.endswith(names)
    }


def names_in(recording: Recording) -> dict[str, str]:
    """The program's names by the made-up names and ids, the longest first: people know those."""
    return _longest_first(
        {value: resource.name for resource in recording.resources for value in identities(resource).values()}
    )


def with_texts(value: Any, texts: Mapping[str, str]) -> Any:
    """`value` with each of `texts`, wherever it stands in a text, written as the other one."""
    if isinstance(value, str):
        for old, new in texts.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, Secret):
        return Secret(with_texts(value.value, texts))
    if isinstance(value, Mapping):
        return {with_texts(key, texts): with_texts(item, texts) for key, item in value.items()}
    return [with_texts(item, texts) for item in value] if isinstance(value, list) else value


def _longest_first(texts: Mapping[str, str]) -> dict[str, str]:
    """An ARN has the name in it."""
    return dict(sorted(texts.items(), key=lambda item: (-len(item[0]), item)))
