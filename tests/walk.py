"""Walks recorded inputs the way a reader would: into lists, JSON texts and base64."""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Any

from ops.capture.recording import RecordedResource, Recording, Secret


def texts(value: Any) -> Iterator[str]:
    """Every text inside `value`: keys left out, base64 decoded, JSON parsed."""
    if isinstance(value, Secret):
        yield from texts(value.value)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str):
        yield value
        yield from texts(_inner(value))


def _inner(value: str) -> Any:
    """What a text carries inside, or None."""
    if value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            return None
    try:
        decoded = base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return decoded if len(value) >= 16 and decoded.isascii() else None


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
