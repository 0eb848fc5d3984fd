"""Documents inside of properties: the stacks pass, and what AWS would refuse is seen."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ops.capture.recording import Recording
from ops.judges.contracts import JOB_DEFINITION, STATE_MACHINE, TASK_DEFINITION, contract_findings
from recordings import recorded


def planted(type_: str, key: str, change: Callable[[Any], None]) -> list[str]:
    """What is found on the prod stack with the document in `key` of every resource of a type changed."""
    recording = recorded("prod")
    resources = []
    for item in recording.resources:
        if item.type == type_ and isinstance(item.inputs.get(key), str):
            document = json.loads(item.inputs[key])
            change(document)
            item = replace(item, inputs={**item.inputs, key: json.dumps(document)})
        resources.append(item)
    found = contract_findings(replace(recording, resources=tuple(resources)))
    return [f"{item.rule}: {item.message}" for item in found]


def state(name: str, **changes: Any) -> list[str]:
    return planted(STATE_MACHINE, "definition", lambda document: document["States"][name].update(changes))


def test_the_stacks_pass(platform: Recording) -> None:
    assert contract_findings(platform) == []


def test_a_misspelt_key_of_a_container_is_seen() -> None:
    found = planted(TASK_DEFINITION, "containerDefinitions", lambda items: items[0].update(enviroment=[]))
    assert len(found) == 1 and '"enviroment"' in found[0]


def test_a_wrong_type_in_a_container_is_seen() -> None:
    found = planted(TASK_DEFINITION, "containerDefinitions", lambda items: items[0].update(memory="lots"))
    assert len(found) == 1 and "memory" in found[0]


@pytest.mark.parametrize("key", ["containerProperties", "nodeProperties"])
def test_a_misspelt_key_of_a_job_is_seen(key: str) -> None:
    found = planted(JOB_DEFINITION, key, lambda document: document.update(imagee="x"))
    assert len(found) == 1 and '"imagee"' in found[0]


def test_a_state_that_calls_no_operation_of_aws_is_seen() -> None:
    found = state("Submit", Resource="arn:aws:states:::aws-sdk:batch:submitTheJob")
    assert found == ["Submit: AWS has no operation SubmitTheJob in batch."]


@pytest.mark.parametrize("holder", ["Branches", "ItemProcessor", "Iterator"])
def test_a_state_inside_of_another_is_judged_too(holder: str) -> None:
    call = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:batch:submitTheJob"}
    inner = {"States": {"Inner": call}}
    found = state("Wait", Type="Map", **{holder: [inner] if holder == "Branches" else inner})
    assert found == ["Inner: AWS has no operation SubmitTheJob in batch."], "a state in there is never seen"


def test_a_state_with_a_parameter_that_does_not_exist_or_is_missing_is_seen() -> None:
    found = state("Submit", Parameters={"JobName.$": "$.name", "JobQueue": "spot", "Definition": "x"})
    assert found == [
        "Submit: SubmitJobRequest has no Definition.",
        "Submit: SubmitJobRequest needs jobDefinition.",
    ]


def test_a_state_with_a_parameter_of_another_type_is_seen() -> None:
    found = state(
        "FindJob", Parameters={"JobQueue.$": "$.queue", "Filters": [{"Nam": "JOB_NAME", "Values": "x"}]}
    )
    assert len(found) == 2 and "has no Nam" in found[0] and "Invalid type" in found[1]
