"""Judges the properties of `schema_table.py` by CloudFormation's schemas, as cfn-lint carries them.

The schemas know enums, patterns and limits that neither the provider nor a preview checks; Fargate's sizes and the
end of life of Lambda's runtimes are cfn-lint's own tables.
"""

import datetime
import functools
import json
from collections.abc import Iterator, Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from ops.capture.recording import RecordedResource, Recording, Secret, Unknown
from ops.judges.findings import Finding, of_resource
from ops.judges.schema_table import ROWS
from ops.preview_text import region_of

JUDGE = "cfn-lint"
COMPLETE_REGION = "us-east-1"
TASK_DEFINITION = "aws:ecs/taskDefinition:TaskDefinition"
FUNCTION = "aws:lambda/function:Function"
FARGATE_SIZES = "schemas/extensions/aws_ecs_taskdefinition/fargate_cpu_memory.json"
RUNTIMES = "AdditionalSpecs/LmbdRuntimeLifecycle.json"


def schema_findings(recording: Recording, today: datetime.date) -> list[Finding]:
    """Values that CloudFormation's schemas refuse, Fargate sizes that do not exist, and runtimes at their end."""
    rows: dict[str, list[tuple[str, str, str]]] = {}
    for type_token, *rest in ROWS:
        rows.setdefault(type_token, []).append((rest[0], rest[1], rest[2]))
    found: list[Finding] = []
    region = region_of(recording) or COMPLETE_REGION
    for resource in recording.resources:
        for path, cloudformation_type, part in rows.get(resource.type, ()):
            for value in values_at(resource.inputs, path):
                found += _refused(resource, path, value, part_schema(region, cloudformation_type, part))
    found += [fault for item in recording.of_type(TASK_DEFINITION) for fault in _size_faults(item)]
    return [
        *found,
        *(fault for item in recording.of_type(FUNCTION) for fault in _runtime_faults(item, today)),
    ]


def values_at(value: Any, path: str) -> Iterator[Any]:
    """What a path leads to; every item of a list where it says `[]`."""
    if isinstance(value, Unknown | Secret) or value is None:
        return
    if not path:
        yield value
        return
    if path.startswith("[]"):
        for item in value:
            yield from values_at(item, path[2:].lstrip("."))
        return
    head, _, rest = path.partition(".")
    key, brackets, _ = head.partition("[")
    if isinstance(value, Mapping):
        yield from values_at(value.get(key), f"[].{rest}" if brackets else rest)


def _refused(
    resource: RecordedResource, path: str, value: Any, schema: Mapping[str, Any]
) -> Iterator[Finding]:
    for message in complaints(schema, value):
        yield of_resource(JUDGE, f"schema {path}", resource, f"{path} = {value!r}: {message}")


def _size_faults(resource: RecordedResource) -> Iterator[Finding]:
    inputs = resource.inputs
    if "cpu" not in inputs or "memory" not in inputs:
        return
    asked = {
        "Cpu": str(inputs["cpu"]),
        "Memory": int(inputs["memory"]),
        "RequiresCompatibilities": list(inputs.get("requiresCompatibilities") or ()),
    }
    # Python takes a flag at the beginning of a pattern only; the values that we write are plain numbers.
    schema = json.loads(_text(FARGATE_SIZES).replace("(?i)", ""))
    if any(complaints(schema, asked)):
        yield of_resource(
            JUDGE,
            "fargate-size",
            resource,
            f"Fargate has no tasks of {inputs['cpu']} CPU units and {inputs['memory']} MiB.",
        )


def _runtime_faults(resource: RecordedResource, today: datetime.date) -> Iterator[Finding]:
    entry = json.loads(_text(RUNTIMES)).get(resource.inputs.get("runtime"))
    if entry and today >= datetime.date.fromisoformat(entry["deprecated"]):
        yield of_resource(
            JUDGE,
            "runtime-end",
            resource,
            f"the runtime {resource.inputs['runtime']} is deprecated since {entry['deprecated']}.",
        )


@functools.cache
def part_schema(region: str, cloudformation_type: str, part: str) -> dict[str, Any]:
    """The schema of a property, or of a definition's property; KeyError where the schemas have no such thing.

    Some regions lack types, and new ones are not listed yet: the limits of us-east-1 hold there too.
    """
    names = _names(COMPLETE_REGION) | _names(region)
    schema = json.loads(_text(f"schemas/resources/{names[cloudformation_type]}.json"))
    definition, _, name = part.rpartition(".")
    owner = schema["definitions"][definition] if definition else schema
    return {**owner["properties"][name], "definitions": schema.get("definitions", {})}


def complaints(schema: Mapping[str, Any], value: Any) -> list[str]:
    """What a schema has against a value, in its own words."""
    # A package of the development environment, which the other verbs need not have.
    from jsonschema import Draft7Validator, ValidationError, validators

    def any_case(_validator: Any, allowed: list[str], given: Any, _schema: Any) -> Iterator[ValidationError]:
        if str(given).lower() not in allowed:
            yield ValidationError(f"{given!r} is not one of {allowed!r}")

    kind = validators.extend(Draft7Validator, {"enumCaseInsensitive": any_case})
    return [error.message for error in kind(schema).iter_errors(value)]


def _names(region: str) -> dict[str, str]:
    """The file of each type's schema in a region."""
    try:
        return json.loads(_text(f"schemas/providers/{region}.json"))
    except FileNotFoundError:
        return {}


@functools.cache
def _text(path: str) -> str:
    # Only the files: the package itself takes seconds to import.
    file = Path(str(distribution("cfn-lint").locate_file(f"cfnlint/data/{path}")))
    return file.read_text(encoding="utf-8")
