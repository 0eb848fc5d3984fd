"""Who hears of a training run that makes no progress, or fails: the alarms, their topic, and the function that measures."""

import json
from typing import Any

import pytest

from components.config_gpu_sections import TrainingConfig
from components.training_pace import check_seconds
from gpu_workloads import MULTI_NODE, TRAINING, record_workloads
from ops.capture.recording import RecordedResource, Recording
from recordings import recorded
from training_progress.handler import NAMESPACE
from walk import statements

ALARM = "aws:cloudwatch/metricAlarm:MetricAlarm"
FUNCTION = "aws:lambda/function:Function"
KEY = "aws:kms/key:Key"
MACHINE = "aws:sfn/stateMachine:StateMachine"
SUBSCRIPTION = "aws:sns/topicSubscription:TopicSubscription"
TOPIC = "aws:sns/topic:Topic"
TOPIC_POLICY = "aws:sns/topicPolicy:TopicPolicy"
PROGRESS = "training-progress-check-function"
progress_alarms = pytest.mark.parametrize(
    ("role", "metric"),
    [("no-checkpoint", "MinutesWithoutCheckpoint"), ("no-output", "MinutesWithoutOutput")],
)
WITHOUT_ALARMS = {**TRAINING, "trainingStaleMinutes": 0}


def alarm(role: str, settings: dict[str, Any] | None = None) -> RecordedResource:
    return record_workloads(settings or TRAINING).one(ALARM, f"training-alarms-{role}")


def document(recording: Recording, type_token: str, key: str = "policy") -> list[dict[str, Any]]:
    return json.loads(recording.one(type_token).inputs[key])["Statement"]


@progress_alarms
def test_a_job_without_progress_raises_an_alarm_at_the_bound(role: str, metric: str) -> None:
    recording = record_workloads({**TRAINING, "trainingStaleMinutes": 90})
    inputs = recording.one(ALARM, f"training-alarms-{role}").inputs
    group = recording.one("aws:cloudwatch/logGroup:LogGroup", "training-jobs")

    assert (inputs["namespace"], inputs["metricName"]) == (NAMESPACE, metric), "nobody measures that"
    assert inputs["dimensions"] == {"LogGroup": group.outputs["name"]}, (
        "another stack's jobs would raise it, or no job"
    )
    assert (inputs["statistic"], inputs["comparisonOperator"]) == (
        "Maximum",
        "GreaterThanOrEqualToThreshold",
    ), "a job that hangs would hide behind one that does not"
    assert (inputs["threshold"], inputs["evaluationPeriods"]) == (90, 1)
    assert inputs["treatMissingData"] == "notBreaching", "it would stay raised while no job runs"
    assert "90 minutes" in inputs["alarmDescription"]


@progress_alarms
@pytest.mark.parametrize("minutes", [10, 60, 1440])
@pytest.mark.parametrize("hours", [1, 168, 672])
def test_an_alarm_lasts_from_one_check_to_the_next(role: str, metric: str, minutes: int, hours: int) -> None:
    settings = {**TRAINING, "trainingStaleMinutes": minutes, "trainingRunHours": hours}
    period = alarm(role, settings).inputs["period"]
    seconds = check_seconds(TrainingConfig(stale_minutes=minutes, run_hours=hours))

    assert period >= 2 * seconds, "between two checks the alarm would be over, and be raised again"
    assert period % 60 == 0 and period <= 86_400, "CloudWatch would refuse the alarm"


def test_a_run_that_fails_raises_an_alarm() -> None:
    recording = record_workloads(TRAINING)
    inputs = recording.one(ALARM, "training-alarms-run-failed").inputs

    assert (inputs["namespace"], inputs["metricName"], inputs["statistic"]) == (
        "AWS/States",
        "ExecutionsFailed",
        "Sum",
    )
    assert inputs["dimensions"] == {"StateMachineArn": recording.one(MACHINE).outputs["arn"]}
    assert (inputs["threshold"], inputs["comparisonOperator"]) == (1, "GreaterThanOrEqualToThreshold")
    assert inputs["treatMissingData"] == "notBreaching"


def test_every_alarm_reaches_the_topic() -> None:
    recording = record_workloads(TRAINING)
    topic = recording.one(TOPIC).outputs["arn"]

    alarms = recording.of_type(ALARM)
    assert len(alarms) == 3
    for item in alarms:
        assert item.inputs["alarmActions"] == [topic], f"nobody would hear of {item.name}"


def test_without_a_bound_nothing_is_measured_and_failures_are_still_told() -> None:
    recording = record_workloads(WITHOUT_ALARMS)

    assert [item.name for item in recording.of_type(ALARM)] == ["training-alarms-run-failed"]
    assert not recording.of_type(FUNCTION), "a function that nobody calls"
    assert "lambda" not in recording.one(MACHINE).inputs["definition"]
    granted = [action for _, statement in statements(recording) for action in statement["Action"]]
    assert "lambda:InvokeFunction" not in granted and "logs:FilterLogEvents" not in granted


@pytest.mark.parametrize("settings", [TRAINING, MULTI_NODE], ids=["one node", "several nodes"])
def test_the_function_knows_the_log_and_may_read_it_and_no_other(settings: dict[str, Any]) -> None:
    recording = record_workloads({**settings, "trainingStaleMinutes": 45})
    group = recording.one("aws:cloudwatch/logGroup:LogGroup", "training-jobs")
    function = recording.one(FUNCTION, PROGRESS)

    assert function.inputs["environment"]["variables"] == {
        "LOG_GROUP": group.outputs["name"],
        "STALE_MINUTES": "45",
    }
    assert function.inputs["handler"] == "training_progress.handler.lambda_handler"
    role = function.inputs["role"].rpartition("/")[2]
    mine = [
        statement
        for item, statement in statements(recording)
        if item.type == "aws:iam/rolePolicy:RolePolicy" and item.inputs["role"] == role
    ]
    reads = [statement for statement in mine if "logs:FilterLogEvents" in statement["Action"]]
    assert [statement["Resource"] for statement in reads] == [[f"{group.outputs['arn']}:*"]]
    assert set(reads[0]["Action"]) == {"logs:FilterLogEvents", "logs:GetLogEvents"}
    assert len(mine) == 2, "it may do more than read the jobs' log and write its own"


def test_the_state_machine_calls_that_function() -> None:
    recording = record_workloads(TRAINING)
    arn = recording.one(FUNCTION, PROGRESS).outputs["arn"]
    states = json.loads(recording.one(MACHINE).inputs["definition"])["States"]

    assert states["CheckProgress"]["Parameters"]["FunctionName"] == arn


def test_only_this_accounts_alarms_may_publish_and_only_over_tls() -> None:
    recording = record_workloads(TRAINING)
    topic = recording.one(TOPIC).outputs["arn"]
    refusal, publish = document(recording, TOPIC_POLICY)

    assert (refusal["Effect"], refusal["Principal"], refusal["Resource"]) == ("Deny", "*", topic)
    assert refusal["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert publish["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert (publish["Action"], publish["Resource"]) == (["sns:Publish"], topic)
    assert publish["Condition"] == {
        "StringEquals": {"aws:SourceAccount": "111122223333"},
        "ArnLike": {"aws:SourceArn": "arn:aws:cloudwatch:eu-central-1:111122223333:alarm:*"},
    }, "any account's alarms could send messages to our people"


def test_messages_are_encrypted_with_a_key_that_alarms_may_use() -> None:
    recording = record_workloads(TRAINING)
    key = recording.one(KEY)
    administrators, alarms = document(recording, KEY)

    assert recording.one(TOPIC).inputs["kmsMasterKeyId"] == key.outputs["arn"], (
        "AWS's own key for SNS does not let alarms publish: nobody would hear of anything"
    )
    assert key.inputs["enableKeyRotation"] is True
    assert administrators["Principal"] == {"AWS": "arn:aws:iam::111122223333:root"}, (
        "nobody could change the key's policy any more"
    )
    assert alarms["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert set(alarms["Action"]) == {"kms:Decrypt", "kms:GenerateDataKey*"}
    assert alarms["Condition"]["StringEquals"] == {"aws:SourceAccount": "111122223333"}


def test_a_person_is_told_by_mail_where_an_address_is_given() -> None:
    recording = record_workloads({**TRAINING, "alarmEmail": "team@example.com"})
    subscription = recording.one(SUBSCRIPTION).inputs

    assert subscription["topic"] == recording.one(TOPIC).outputs["arn"]
    assert (subscription["protocol"], subscription["endpoint"]) == ("email", "team@example.com")
    assert not record_workloads(TRAINING).of_type(SUBSCRIPTION)


def test_a_stack_that_raises_no_alarm_has_no_topic() -> None:
    assert not recorded("dev").of_type(TOPIC), "a key that nobody needs would be paid for"
    assert recorded("prod").one(TOPIC)


def test_training_tells_the_bound_to_those_who_show_runs(prod: Recording) -> None:
    assert prod.exports["training"]["stale_minutes"] == 180
