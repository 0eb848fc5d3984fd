"""Judges the documents inside of properties by botocore's validator: containers, job definitions, and state machines' calls.

A preview passes these texts on unread; AWS refuses them while deploying, or the first run fails.
"""

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from ops.capture.recording import Recording
from ops.judges.findings import Finding, of_resource

JUDGE = "botocore"
TASK_DEFINITION = "aws:ecs/taskDefinition:TaskDefinition"
JOB_DEFINITION = "aws:batch/jobDefinition:JobDefinition"
STATE_MACHINE = "aws:sfn/stateMachine:StateMachine"
# Type, property with the document, and the request and its member that the document becomes.
DOCUMENTS = (
    (TASK_DEFINITION, "containerDefinitions", "ecs", "RegisterTaskDefinition", "containerDefinitions"),
    (JOB_DEFINITION, "containerProperties", "batch", "RegisterJobDefinition", "containerProperties"),
    (JOB_DEFINITION, "nodeProperties", "batch", "RegisterJobDefinition", "nodeProperties"),
)
# Anything goes into these: https://docs.aws.amazon.com/step-functions/latest/dg/connect-lambda.html
FREE = frozenset({("lambda", "Payload")})


def contract_findings(recording: Recording) -> list[Finding]:
    """What the services' own models have against the documents."""
    found = [
        of_resource(JUDGE, key, resource, complaint)
        for type_token, key, *target in DOCUMENTS
        for resource in recording.of_type(type_token)
        if isinstance(resource.inputs.get(key), str)
        for complaint in _complaints(_member(*target), json.loads(resource.inputs[key]))
    ]
    for machine in recording.of_type(STATE_MACHINE):
        found += [
            of_resource(JUDGE, name, machine, complaint)
            for name, state in states_in(json.loads(str(machine.inputs["definition"])))
            for complaint in _call_complaints(state)
        ]
    return found


def states_in(machine: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every state with its name, also those inside of a Parallel or Map state."""
    for name, state in sorted(machine["States"].items()):
        yield name, state
        inner = [*state.get("Branches", ()), state.get("ItemProcessor"), state.get("Iterator")]
        for part in filter(None, inner):
            yield from states_in(part)


def _call_complaints(state: Mapping[str, Any]) -> Iterator[str]:
    """A task state calls an operation whose members are written with a capital letter."""
    if state.get("Type") != "Task" or ":states:::" not in str(state.get("Resource")):
        return
    service, action = str(state["Resource"]).split(":")[-2:]
    operation = action.split(".")[0]
    try:
        shape = _input(service, operation[:1].upper() + operation[1:])
    except LookupError as error:
        yield str(error)
        return
    yield from _structure_complaints(service, shape, state.get("Parameters") or {})


def _structure_complaints(service: str, shape: Any, given: Mapping[str, Any]) -> Iterator[str]:
    """Members that exist, are all there, and hold what they may; what a path fills in later ends in `.$`."""
    members = {name.lower(): (name, member) for name, member in shape.members.items()}
    names = {key: members.get(key.removesuffix(".$").lower()) for key in given}
    for key, found in names.items():
        if found is None:
            yield f"{shape.name} has no {key}."
        elif not key.endswith(".$") and (service, key) not in FREE:
            yield from _value_complaints(service, found[1], given[key])
    lacking = {*shape.required_members} - {found[0] for found in names.values() if found}
    yield from (f"{shape.name} needs {name}." for name in sorted(lacking))


def _value_complaints(service: str, shape: Any, value: Any) -> Iterator[str]:
    if shape.type_name == "structure" and isinstance(value, Mapping):
        yield from _structure_complaints(service, shape, value)
    elif shape.type_name == "list" and isinstance(value, list):
        for item in value:
            yield from _value_complaints(service, shape.member, item)
    else:
        yield from _complaints(shape, value)


def _complaints(shape: Any, value: Any) -> list[str]:
    from botocore.validate import ParamValidator

    report = ParamValidator().validate(value, shape)
    return report.generate_report().splitlines() if report.has_errors() else []


def _member(service: str, operation: str, member: str) -> Any:
    return _input(service, operation).members[member]


@functools.cache
def _input(service: str, operation: str) -> Any:
    """The input of an operation; LookupError for one that the service does not have."""
    from botocore.exceptions import UnknownServiceError
    from botocore.model import OperationNotFoundError

    try:
        shape = _session().get_service_model(service).operation_model(operation).input_shape
    except (UnknownServiceError, OperationNotFoundError) as error:
        raise LookupError(f"AWS has no operation {operation} in {service}.") from error
    return shape


@functools.cache
def _session() -> Any:
    import botocore.session

    return botocore.session.get_session()
