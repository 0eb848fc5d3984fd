"""Turns a resource and the table of clauses in `ops/preview_settings.py` into words. Pure.

A clause is shown when every property that it names is set. A property is a path through the inputs; what a path
finds inside a list is shown one after the other.
    {cidrBlock}      the value
    {timeout!s}      seconds, in days or hours where these are whole
    {@role}          the resource from which the value comes, instead of an id that only AWS knows
    {?vpcConfig}     nothing; the clause's own words say it
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ops.capture.recording import RecordedResource, Secret, Unknown
from ops.preview_settings import SETTINGS

LONGEST_VALUE = 60
PLACEHOLDER = re.compile(r"\{([@?]?)([\w.]+)(!s)?\}")


def settings_of(resource: RecordedResource) -> list[str]:
    """The clauses worth showing of one resource, in order."""
    compute = COMPUTED.get(resource.type)
    first = compute(resource) if compute else []
    filled = [_filled(clause, resource) for clause in SETTINGS.get(resource.type, ())]
    return [text for text in [*first, *filled] if text]


def _filled(clause: str, resource: RecordedResource) -> str:
    places = [match.groups("") for match in PLACEHOLDER.finditer(clause)]
    values = [_place(resource, *place) for place in places]
    if not all(values):
        return ""
    texts = iter(
        "" if kind == "?" else shorten(" ".join(found))
        for (kind, *_), found in zip(places, values, strict=True)
    )
    return PLACEHOLDER.sub(lambda _: next(texts), clause)


def _place(resource: RecordedResource, kind: str, path: str, unit: str) -> list[str]:
    """What one placeholder shows; empty when the property is not set."""
    found = list(_found(resource.inputs, path.split(".")))
    if kind == "@" and found:
        names = sorted(urn.split("::")[-1] for urn in resource.property_dependencies.get(path, ()))
        return names or [shown(value) for value in found]
    return list(dict.fromkeys(_duration(value) if unit else shown(value) for value in found))


def _found(value: Any, path: list[str]) -> Iterator[Any]:
    """What `path` leads to; every item of a list is followed, and JSON text is read."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        value = _parsed(value)
    if isinstance(value, list):
        for item in value:
            yield from _found(item, path)
    elif isinstance(value, Unknown | Secret):
        yield value
    elif not path:
        if value not in (None, "", {}):
            yield value
    elif isinstance(value, Mapping):
        yield from _found(value.get(path[0]), path[1:])


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _rule(direction: str) -> Callable[[RecordedResource], list[str]]:
    """A security group's rule: protocol and ports."""

    def clauses(resource: RecordedResource) -> list[str]:
        low, high = resource.inputs.get("fromPort"), resource.inputs.get("toPort")
        if low is None:
            return [f"{direction}, every port"]
        ports = shown(low) if low == high else f"{shown(low)}-{shown(high)}"
        return [f"{direction} {resource.inputs.get('ipProtocol')} {ports}"]

    return clauses


def _service(resource: RecordedResource) -> list[str]:
    """The capacity of an ECS service: weights are shares, a base comes first."""
    strategies = [
        item for item in resource.inputs.get("capacityProviderStrategies") or () if isinstance(item, Mapping)
    ]
    total = sum(int(item.get("weight") or 0) for item in strategies) or 1
    shares = [
        f"{shown(item['capacityProvider'])} {100 * int(item.get('weight') or 0) // total} %"
        + (f" and the first {item['base']}" if item.get("base") else "")
        for item in strategies
    ]
    return [", ".join(shares)]


def _kept_images(resource: RecordedResource) -> list[str]:
    return [
        f"keeps {shown(count)} images"
        for count in _found(resource.inputs.get("policy"), ["rules", "selection", "countNumber"])
    ]


def _machine_image(resource: RecordedResource) -> list[str]:
    """The pinned image; one that is looked up is made up here, and would mislead."""
    image = resource.inputs.get("imageId")
    if image is None:
        return []
    return ["newest image" if "imageId" in resource.ignore_changes else shown(image)]


COMPUTED: dict[str, Callable[[RecordedResource], list[str]]] = {
    "aws:ec2/launchTemplate:LaunchTemplate": _machine_image,
    "aws:ecr/lifecyclePolicy:LifecyclePolicy": _kept_images,
    "aws:ecs/service:Service": _service,
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule("out"),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule("in"),
}


def shown(value: Any) -> str:
    """A value as a person would write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return " ".join(f"{key}={shown(value[key])}" for key in sorted(value))
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value))
    return str(value)


def _duration(value: Any) -> str:
    if not isinstance(value, int):
        return shown(value)
    for seconds, unit in ((86400, "days"), (3600, "hours")):
        if value > seconds and value % seconds == 0:
            return f"{value // seconds} {unit}"
    return f"{value} s"


def shorten(text: str, limit: int = LONGEST_VALUE) -> str:
    """`text` on one line, cut at `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
