"""The interruption drill can end one marked spot node of its own stack's training, and nothing else."""

import json
from collections.abc import Mapping
from typing import Any

import boto3
import pytest
from botocore.session import get_session
from botocore.validate import ParamValidator
from moto import mock_aws

from components.interruption_drill import MARK, NODE_TAGS
from ops.capture.recording import Recording
from ops.drill.experiment import look, start
from ops.drill.place import Drill, DrillClients, drill_of
from ops.stack_outputs import StackOutputs
from recordings import record_as, recorded
from typed_config import TRAINING, faults_of
from walk import statements

TEMPLATE = "aws:fis/experimentTemplate:ExperimentTemplate"
LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
ROLE = "interruption-drill-role"
POLICY = f"interruption-drill-interrupt-{ROLE}"
SWITCHED_ON = {**TRAINING, "interruptionDrill": True}


def as_the_api_takes_it(template: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of the resource as the provider hands them to CreateExperimentTemplate: lists by name become maps."""
    action, target = template["actions"][0], template["targets"][0]
    return {
        "clientToken": "token",
        "description": template["description"],
        "roleArn": template["roleArn"],
        "stopConditions": template["stopConditions"],
        "experimentOptions": template["experimentOptions"],
        "actions": {
            action["name"]: {
                "actionId": action["actionId"],
                "parameters": {item["key"]: item["value"] for item in action["parameters"]},
                "targets": {action["target"]["key"]: action["target"]["value"]},
            }
        },
        "targets": {
            target["name"]: {
                "resourceType": target["resourceType"],
                "resourceTags": {item["key"]: item["value"] for item in target["resourceTags"]},
                "filters": target["filters"],
                "selectionMode": target["selectionMode"],
            }
        },
    }


def asked(recording: Recording) -> dict[str, Any]:
    return as_the_api_takes_it(recording.one(TEMPLATE).inputs)


def permissions(recording: Recording) -> dict[str, dict[str, Any]]:
    """The statement of each action that the experiment may take."""
    found = [statement for item, statement in statements(recording) if item.name == POLICY]
    return {action: statement for statement in found for action in statement["Action"]}


def test_an_experiment_gives_one_marked_running_spot_node_two_minutes_notice() -> None:
    request = asked(recorded("staging"))
    assert request["actions"] == {
        "interrupt": {
            "actionId": "aws:ec2:send-spot-instance-interruptions",
            "parameters": {"durationBeforeInterruption": "PT2M"},
            "targets": {"SpotInstances": "marked-node"},
        }
    }
    assert request["targets"] == {
        "marked-node": {
            "resourceType": "aws:ec2:spot-instance",
            "resourceTags": {MARK: "ai-platform/staging"},
            "filters": [{"path": "State.Name", "values": ["running"]}],
            "selectionMode": "COUNT(1)",
        }
    }, "more than one node, or one that has ended, could be taken"
    assert request["experimentOptions"]["emptyTargetResolutionMode"] == "fail", (
        "an experiment that interrupted nothing would look like one that was passed"
    )


def test_the_request_is_one_that_the_service_takes() -> None:
    model = get_session().get_service_model("fis")
    shape = model.operation_model("CreateExperimentTemplate").input_shape
    report = ParamValidator().validate(asked(recorded("staging")), shape)
    assert not report.has_errors(), report.generate_report()


def test_the_experiment_may_end_nothing_but_a_marked_training_node_of_its_stack() -> None:
    recording = recorded("staging")
    allowed = permissions(recording)
    assert set(allowed) == {"ec2:SendSpotInstanceInterruptions", "ec2:DescribeInstances"}
    statement = allowed["ec2:SendSpotInstanceInterruptions"]
    assert statement["Resource"] == ["arn:aws:ec2:eu-central-1:111122223333:instance/*"]
    condition = statement["Condition"]["StringEquals"]
    assert condition.pop(f"aws:ResourceTag/{MARK}") == "ai-platform/staging"

    template = recording.one(LAUNCH_TEMPLATE, "training-capacity-template").inputs
    (tags,) = (item["tags"] for item in template["tagSpecifications"] if item["resourceType"] == "instance")
    assert condition == {f"aws:ResourceTag/{key}": tags[key] for key in NODE_TAGS}, (
        "no training node would be one that the experiment may end"
    )
    others = [item for item in recording.of_type(LAUNCH_TEMPLATE) if not item.name.startswith("training-")]
    assert others
    for other in others:
        found = next(item["tags"] for item in other.inputs["tagSpecifications"])
        assert found["Name"] != tags["Name"], "a node that serves people could be ended"


def test_only_experiments_of_this_account_and_region_may_use_the_role() -> None:
    role = recorded("staging").one("aws:iam/role:Role", ROLE)
    (statement,) = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
    assert statement["Principal"] == {"Service": "fis.amazonaws.com"}
    assert statement["Condition"] == {
        "StringEquals": {"aws:SourceAccount": "111122223333"},
        "ArnLike": {"aws:SourceArn": "arn:aws:fis:eu-central-1:111122223333:experiment/*"},
    }
    assert recorded("staging").one(TEMPLATE).inputs["roleArn"] == role.outputs["arn"]


def test_two_stacks_of_an_account_mark_their_nodes_apart() -> None:
    marks = [
        next(iter(asked(record_as(stack, project=project, changes=SWITCHED_ON))["targets"].values()))[
            "resourceTags"
        ]
        for stack, project in (("one", "ai-platform"), ("two", "ai-platform"), ("one", "vision"))
    ]
    assert [mark[MARK] for mark in marks] == ["ai-platform/one", "ai-platform/two", "vision/one"]


def test_a_stack_has_no_drill_unless_it_asks_for_one() -> None:
    for stack in ("dev", "prod"):
        assert not recorded(stack).of_type(TEMPLATE), (
            "anybody with the permission could end a node of production"
        )
        assert "interruption_drill" not in recorded(stack).exports
    assert faults_of(SWITCHED_ON) == []


def test_a_drill_without_training_is_a_fault_that_says_what_to_do() -> None:
    assert faults_of({"interruptionDrill": True}) == [
        "interruptionDrill = true: interrupts nodes of training jobs, which are switched off. Fix: set training to true, or remove it."
    ]


def test_the_command_is_told_what_it_needs_by_the_stacks_outputs() -> None:
    recording = recorded("staging")
    drill = drill_of(StackOutputs("staging", recording.exports))
    assert (
        recording.one(TEMPLATE).outputs["arn"].endswith(f"experiment-template/{drill.experiment_template_id}")
    )
    assert drill.mark == next(iter(asked(recording)["targets"].values()))["resourceTags"]
    assert drill.node_tags == {"Project": "ai-platform", "Stack": "staging", "Name": "training-capacity"}


def test_an_experiment_of_this_template_is_started_and_followed_by_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(key, "x")
    with mock_aws():
        template = boto3.client("fis", "eu-central-1").create_experiment_template(
            **asked(recorded("staging"))
        )
        drill = Drill(experiment_template_id=template["experimentTemplate"]["id"], mark={}, node_tags={})
        clients = DrillClients("eu-central-1")
        experiment_id = start(clients, drill)
        looks = [look(clients, experiment_id) for _ in range(6)]
    assert looks[0].notice_sent is None or looks[0].status in ("running", "completed")
    assert looks[-1].status == "completed" and not looks[-1].failed
    assert looks[-1].notice_sent is not None, "the command would wait for a notice that was sent"
