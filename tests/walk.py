"""Walks recorded policies the way a reader would."""

import json
from collections.abc import Iterator
from typing import Any

from ops.capture.recording import RecordedResource, Recording


def policy_documents(resource: RecordedResource) -> Iterator[dict[str, Any]]:
    """Every IAM or data access document among a resource's inputs."""
    for value in resource.inputs.values():
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            parsed = json.loads(value) if _is_json(value) else None
            if isinstance(parsed, dict) and "Statement" in parsed:
                yield parsed


def _is_json(value: str) -> bool:
    try:
        json.loads(value)
    except json.JSONDecodeError:
        return False
    return True


def statements(recording: Recording) -> Iterator[tuple[RecordedResource, dict[str, Any]]]:
    """Every statement of every policy, with the resource that carries it."""
    for resource in recording.resources:
        for document in policy_documents(resource):
            for statement in document["Statement"]:
                yield resource, statement


def as_list(value: Any) -> list[Any]:
    """IAM writes one value bare and several as a list."""
    return value if isinstance(value, list) else [value]


def names(recording: Recording) -> set[tuple[str, str]]:
    """Type and name of every registration."""
    return {(resource.type, resource.name) for resource in recording.resources}
