"""What AWS computes for a resource of the stub, from the same answers as a recording."""

from collections.abc import Mapping
from typing import Any

from ops.capture.computed import Computed
from tests.engine.stub.sdk_types import output_names
from tests.engine.stub.wire import UNKNOWN, Values

JOB_DEFINITION = "aws:batch/jobDefinition:JobDefinition"
LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
TASK_DEFINITION = "aws:ecs/taskDefinition:TaskDefinition"

# Where several resources can share an id: the output that tells them apart.
TOLD_APART_BY = {
    TASK_DEFINITION: "arn",
    "aws:ecs/service:Service": "cluster",
    "aws:opensearch/serverlessSecurityPolicy:ServerlessSecurityPolicy": "type",
}


def created(
    computed: Computed, type_token: str, name: str, inputs: Mapping[str, Any], number: int
) -> tuple[str, Values]:
    """The id and outputs of the `number`-th resource of this type and name; each has an id of its own."""
    made_for = name if number == 1 else f"{name}-{number}"
    resource_id, values = computed.resource(type_token, made_for, inputs)
    if type_token == TASK_DEFINITION:
        values |= {"revision": number, "arn": f"{values['arnWithoutRevision']}:{number}"}
    return resource_id, _outputs(type_token, inputs, values)


def previewed(computed: Computed, type_token: str, name: str, inputs: Mapping[str, Any]) -> Values:
    """The outputs of a resource that is yet to be made: what AWS computes is unknown."""
    _, values = created(computed, type_token, name, inputs, 1)
    return {**dict.fromkeys(values, UNKNOWN), **inputs}


def updated(
    type_token: str,
    old: Mapping[str, Any],
    old_inputs: Mapping[str, Any],
    new_inputs: Mapping[str, Any],
    preview: bool,
) -> Values:
    """The outputs after an update in place: what the program changed, and nothing else that AWS holds.

    Some types count their versions; a preview cannot tell the next one.
    """
    changed = {key: value for key, value in new_inputs.items() if old_inputs.get(key) != value}
    outputs = {key: value for key, value in old.items() if key in new_inputs or key not in old_inputs}
    version = _next_version(type_token, old)
    return {**outputs, **changed, **(dict.fromkeys(version, UNKNOWN) if preview else version)}


def _next_version(type_token: str, old: Mapping[str, Any]) -> Values:
    if type_token == LAUNCH_TEMPLATE:
        return {"latestVersion": old["latestVersion"] + 1}
    if type_token == JOB_DEFINITION:
        revision = old["revision"] + 1
        return {"revision": revision, "arn": f"{old['arnPrefix']}:{revision}"}
    return {}


def _outputs(type_token: str, inputs: Mapping[str, Any], values: Mapping[str, Any]) -> Values:
    """The inputs and those computed values that the SDK knows as outputs of the type."""
    return {**inputs, **{key: value for key, value in values.items() if key in output_names(type_token)}}


def identity(type_token: str, resource_id: str, outputs: Mapping[str, Any]) -> str:
    """What tells a resource apart from others of its type."""
    key = TOLD_APART_BY.get(type_token)
    return f"{resource_id} {outputs[key]}" if key and key in outputs else resource_id
