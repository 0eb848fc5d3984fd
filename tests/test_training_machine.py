"""The state machine of training runs as a resource: its definition, its role, its log and who is told of it."""

import json
from typing import Any

import pytest

from components.config_gpu_sections import TrainingConfig
from components.training_states import RunParts, run_definition
from gpu_workloads import MULTI_NODE, TRAINING, record_workloads
from ops.capture.recording import Recording
from ops.stack_outputs import StackOutputs
from ops.train.stack import training_stack
from recordings import recorded
from walk import statements

MACHINE = "aws:sfn/stateMachine:StateMachine"
QUEUE = "aws:batch/jobQueue:JobQueue"
JOB = "aws:batch/jobDefinition:JobDefinition"
POLICY = "training-machine-run-jobs-training-machine-role"


def granted(recording: Recording) -> dict[str, list[str]]:
    """The resources of each action that the machine may take."""
    found = [statement for item, statement in statements(recording) if item.name == POLICY]
    return {action: statement["Resource"] for statement in found for action in statement["Action"]}


def test_the_definition_is_the_one_that_is_executed_in_tests() -> None:
    settings = {
        **TRAINING,
        "trainingCapacityWaitMinutes": 90,
        "trainingSpotSubmissions": 3,
        "trainingRunHours": 20,
    }
    machine = record_workloads(settings).one(MACHINE).inputs
    config = TrainingConfig(capacity_wait_minutes=90, spot_submissions=3, run_hours=20)

    definition = json.loads(machine["definition"])
    parts = RunParts(
        partition="aws",
        tags=definition["States"]["Submit"]["Parameters"]["Tags"],
        progress_function_arn=definition["States"]["CheckProgress"]["Parameters"]["FunctionName"],
    )
    assert definition == run_definition(config, parts)
    assert machine.get("type", "STANDARD") == "STANDARD", "a run of more than five minutes would be cut off"


@pytest.mark.parametrize("settings", [TRAINING, MULTI_NODE], ids=["one node", "several nodes"])
def test_a_run_may_submit_the_stacks_own_jobs_to_its_own_queues_and_nothing_else(
    settings: dict[str, Any],
) -> None:
    recording = record_workloads(settings)
    queues = [item.outputs["arn"] for item in recording.of_type(QUEUE)]
    revisions = [f"{item.outputs['arnPrefix']}:*" for item in recording.of_type(JOB)]

    assert sorted(granted(recording)["batch:SubmitJob"]) == sorted([*queues, *revisions]), (
        "no run could start, or a run could be any job of the account"
    )


def test_a_run_may_end_the_jobs_of_its_own_stack_and_no_others() -> None:
    recording = record_workloads(TRAINING)
    (ending,) = [item for _, item in statements(recording) if "batch:TerminateJob" in item["Action"]]
    (machine,) = recording.of_type(MACHINE)
    tags = json.loads(machine.inputs["definition"])["States"]["Submit"]["Parameters"]["Tags"]

    assert ending["Action"] == ["batch:TerminateJob"]
    assert ending["Resource"] == ["arn:aws:batch:eu-central-1:111122223333:job/*"]
    assert ending["Condition"] == {
        "StringEquals": {"aws:ResourceTag/Project": "ai-platform", "aws:ResourceTag/Stack": "dev"}
    }, "a run could end any job of the account"
    assert {"Project": "ai-platform", "Stack": "dev"}.items() <= tags.items(), "a run could not end its job"
    assert tags["Owner"] == "platform-team", "the job's cost would belong to nobody"


def test_a_job_may_be_submitted_with_tags() -> None:
    recording = record_workloads(MULTI_NODE)
    revisions = [f"{item.outputs['arnPrefix']}:*" for item in recording.of_type(JOB)]

    assert granted(recording)["batch:TagResource"] == [
        "arn:aws:batch:eu-central-1:111122223333:job/*",
        *revisions,
    ], "AWS Batch would refuse every job"


def test_the_machine_needs_no_rule_and_no_tracing() -> None:
    recording = record_workloads(TRAINING)

    services = {action.split(":")[0] for action in granted(recording)}
    assert services == {"batch", "lambda", "logs"}, "the role may do more than the definition calls"
    assert recording.one(MACHINE).inputs["tracingConfiguration"] == {"enabled": False}


def test_the_definition_calls_nothing_that_the_role_may_not() -> None:
    recording = record_workloads(TRAINING)
    states = json.loads(recording.one(MACHINE).inputs["definition"])["States"].values()
    tasks = [state["Resource"] for state in states if state["Type"] == "Task"]
    called = {task.rpartition(":")[2] for task in tasks if ":batch:" in task}

    allowed = {action.split(":")[1] for action in granted(recording) if action.startswith("batch:")}
    # Submitting with tags is tagging too.
    assert {name[:1].upper() + name[1:] for name in called} == allowed - {"TagResource"}
    function = recording.one("aws:lambda/function:Function").outputs["arn"]
    assert granted(recording)["lambda:InvokeFunction"] == [function]


def test_only_step_functions_takes_the_role_and_the_machine_waits_for_its_permissions() -> None:
    recording = record_workloads(TRAINING)
    role = recording.one("aws:iam/role:Role", "training-machine-role")
    machine = recording.one(MACHINE)

    (statement,) = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
    assert statement["Principal"] == {"Service": "states.amazonaws.com"}
    assert machine.inputs["roleArn"] == role.outputs["arn"]
    permission = recording.one("aws:iam/rolePolicy:RolePolicy", POLICY)
    assert permission.urn in machine.dependencies, "AWS would refuse a machine that may not write its log"


def test_failures_are_logged_without_what_a_person_has_put_into_a_run() -> None:
    recording = record_workloads(TRAINING)
    group = recording.one("aws:cloudwatch/logGroup:LogGroup", "training-machine-logs")

    assert group.inputs["retentionInDays"] == 7
    assert group.inputs["namePrefix"].startswith("/aws/vendedlogs/states/"), (
        "the account's log policy would grow with each stack until AWS refuses it"
    )
    assert recording.one(MACHINE).inputs["loggingConfiguration"] == {
        "level": "ERROR",
        "includeExecutionData": False,
        "logDestination": f"{group.outputs['arn']}:*",
    }


def test_training_tells_where_its_runs_are_started() -> None:
    recording = record_workloads(MULTI_NODE)
    outputs = recording.registered_outputs[recording.one("aiplatform:index:Training").urn]
    assert outputs["state_machine_arn"] == recording.one(MACHINE).outputs["arn"]


def test_the_program_exports_what_the_command_asks_for(prod: Recording) -> None:
    found = training_stack(StackOutputs("prod", prod.exports))
    assert found.state_machine_arn == prod.one(MACHINE).outputs["arn"]
    assert found.multi_node_queue_arn, "runs over several nodes could not be started"
    assert training_stack(StackOutputs("staging", recorded("staging").exports)).multi_node_queue_arn == ""
