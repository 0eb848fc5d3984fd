"""One recording, indexed once for all rules."""

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ops.capture.recording import RecordedResource, Recording, Secret, Unknown
from ops.openings import Opening, openings
from ops.permissions import Permission, permissions_of

BALANCER = "aws:lb/loadBalancer:LoadBalancer"
TASK = "aws:ecs/taskDefinition:TaskDefinition"
JOB = "aws:batch/jobDefinition:JobDefinition"
# Names of the same thing in pulumi-aws 7.
SECOND_NAMES = (
    (re.compile(r"^aws:(?:alb|applicationloadbalancing|elasticloadbalancingv2)/"), "aws:lb/"),
    (re.compile(r"^aws:s3/(\w+)V2:(\w+)V2$"), r"aws:s3/\1:\2"),
)
# What other resources know a resource by.
IDENTITIES = ("arn", "bucket", "id", "name", "url")


def _by_first_name(resource: RecordedResource) -> RecordedResource:
    """The provider knows some types by two names; the rules know one."""
    name = resource.type
    for other, first in SECOND_NAMES:
        name = other.sub(first, name)
    return resource if name == resource.type else replace(resource, type=name)


class View:
    """A recording by type, by URN and by what hangs on what."""

    def __init__(self, recording: Recording) -> None:
        recording = replace(recording, resources=tuple(map(_by_first_name, recording.resources)))
        self.recording = recording
        self._by_urn = {resource.urn: resource for resource in recording.resources}
        self._by_type: dict[str, list[RecordedResource]] = {}
        for resource in recording.resources:
            self._by_type.setdefault(resource.type, []).append(resource)
        self._attached: dict[tuple[str, str, str], dict[str, list[RecordedResource]]] = {}

    def of(self, *type_tokens: str) -> list[RecordedResource]:
        """The resources of these types, in order."""
        return [resource for token in type_tokens for resource in self._by_type.get(token, ())]

    def get(self, urn: str) -> RecordedResource:
        """The resource with this URN; KeyError when there is none."""
        return self._by_urn[urn]

    def attached(self, holder: RecordedResource, type_token: str, key: str) -> list[RecordedResource]:
        """The resources of a type whose property `key` names `holder`, directly or by way of others."""
        place = (holder.type, type_token, key)
        if place not in self._attached:
            self._attached[place] = self._grouped(*place)
        return self._attached[place].get(holder.urn, [])

    def _grouped(self, holder_type: str, type_token: str, key: str) -> dict[str, list[RecordedResource]]:
        known = {
            value: holder.urn
            for holder in self.of(holder_type)
            for identity in IDENTITIES
            if isinstance(value := holder.outputs.get(identity), str) and value
        }
        grouped: dict[str, list[RecordedResource]] = {}
        for resource in self.of(type_token):
            value = resource.inputs.get(key)
            named = {known[value]} if isinstance(value, str) and value in known else set()
            for urn in named or self._sources(resource, key, holder_type):
                grouped.setdefault(urn, []).append(resource)
        return grouped

    def _sources(self, resource: RecordedResource, key: str, type_token: str) -> set[str]:
        """The resources of a type from which the value of a property comes."""
        pending = list(resource.property_dependencies.get(key, ()))
        seen: set[str] = set()
        while pending:
            urn = pending.pop()
            source = self._by_urn.get(urn)
            if urn in seen or source is None:
                continue
            seen.add(urn)
            if source.type != type_token:
                pending += source.property_dependencies.get(key, ())
        return {urn for urn in seen if self._by_urn[urn].type == type_token}

    @functools.cached_property
    def permissions(self) -> dict[str, list[Permission]]:
        """Every statement of every policy, by the URN of the resource that carries it."""
        found = {resource.urn: permissions_of(resource) for resource in self.recording.resources}
        return {urn: items for urn, items in found.items() if items}

    @functools.cached_property
    def openings(self) -> list[Opening]:
        return openings(self.recording)

    @functools.cached_property
    def public_balancers(self) -> list[RecordedResource]:
        """The load balancers that the internet reaches; AWS publishes one that does not say `internal`."""
        return [item for item in self.of(BALANCER) if item.inputs.get("internal") in (False, None)]


def is_unknown(value: Any) -> bool:
    return isinstance(value, Unknown)


def is_on(value: Any) -> bool:
    """Whether a switch is on; what only AWS can tell counts as on. The provider takes some switches as texts."""
    return is_unknown(value) or str(revealed(value)).lower() == "true"


def revealed(value: Any) -> Any:
    """A value without its mark as a secret, to judge and never to show."""
    return value.value if isinstance(value, Secret) else value


def parts(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a property that holds one or several."""
    value = revealed(value)
    items = value if isinstance(value, list | tuple) else [value]
    return [item for item in map(revealed, items) if isinstance(item, Mapping)]


def document(value: Any) -> Any:
    """A property that carries JSON as text, or as it is; None where it cannot be read here."""
    value = revealed(value)
    if not isinstance(value, str):
        return None if is_unknown(value) else value
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return None


def containers(resource: RecordedResource) -> Iterator[Mapping[str, Any]]:
    """The containers of a task or job definition, in AWS's own words; none while their text is unknown."""
    if resource.type == TASK:
        yield from parts(document(resource.inputs.get("containerDefinitions")))
        return
    yield from parts(document(resource.inputs.get("containerProperties")))
    nodes = document(resource.inputs.get("nodeProperties"))
    for group in parts(nodes.get("nodeRangeProperties") if isinstance(nodes, Mapping) else None):
        yield from parts(group.get("container"))
    tasks = document(resource.inputs.get("ecsProperties"))
    for task in parts(tasks.get("taskProperties") if isinstance(tasks, Mapping) else None):
        yield from parts(task.get("containers"))
