"""Plants faults in a recording: a resource with other inputs, one more, or one less."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ops.capture.recording import RecordedResource, Recording
from policies.rule import Finding
from policies.rules import findings

Change = Callable[[RecordedResource], RecordedResource | None]


def changed(recording: Recording, type_token: str, name: str, change: Change) -> Recording:
    """The recording with one resource changed, or without it where `change` gives None."""
    target = recording.one(type_token, name)
    items = [change(item) if item is target else item for item in recording.resources]
    return replace(recording, resources=tuple(item for item in items if item is not None))


def inputs(**values: Any) -> Change:
    """Sets inputs; None takes one out."""

    def change(resource: RecordedResource) -> RecordedResource:
        merged = {**resource.inputs, **values}
        return replace(resource, inputs={key: value for key, value in merged.items() if value is not None})

    return change


def document(key: str, edit: Callable[[Any], Any]) -> Change:
    """Edits a JSON text in place."""

    def change(resource: RecordedResource) -> RecordedResource:
        content = json.loads(resource.inputs[key])
        edit(content)
        return replace(resource, inputs={**resource.inputs, key: json.dumps(content)})

    return change


def options(**values: Any) -> Change:
    """Sets options, such as `protect`."""
    return lambda resource: replace(resource, **values)


def gone(resource: RecordedResource) -> None:
    """Takes the resource out."""


def added(
    recording: Recording, type_token: str, name: str, values: Mapping[str, Any], like: RecordedResource
) -> Recording:
    """The recording with one more resource, below the parent and with the provider of another."""
    resource = RecordedResource(
        urn=f"{like.urn.rpartition('::')[0]}-{type_token}::{name}", type=type_token, name=name, parent=like.parent,
        inputs=values, outputs=values, provider=like.provider, property_dependencies=like.property_dependencies,
    )  # fmt: skip
    return replace(recording, resources=(*recording.resources, resource))


def found(recording: Recording) -> dict[str, list[Finding]]:
    """The findings by rule."""
    by_rule: dict[str, list[Finding]] = {}
    for item in findings(recording):
        by_rule.setdefault(item.rule, []).append(item)
    return by_rule
