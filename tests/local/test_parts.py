"""The parts of the local platform that stand where AWS's own would."""

import base64
import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from ops.capture.recording import Recording
from tests.local.aws import LocalAws
from tests.local.environment import api_environment, ingestion_environment, pipeline_environment
from tests.local.event_source import event_of, failed_ids, poll
from tests.local.function import event_of as function_event
from tests.local.function import reply_of
from tests.local.mirror import Mirror
from tests.standins.loopback import Request

AWS = LocalAws("http://127.0.0.1:1", "http://127.0.0.1:1/queue", "http://127.0.0.1:1/dead")
MESSAGE = {
    "MessageId": "1",
    "ReceiptHandle": "r",
    "Body": "{}",
    "MD5OfBody": "m",
    "Attributes": {"SentTimestamp": "1"},
}
# What a deployment sets and a laptop need not: a choice of the model, the load balancer's time, secrets.
DEPLOYED_ONLY = {
    "ANSWER_TEMPERATURE",
    "UVICORN_TIMEOUT_KEEP_ALIVE",
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "AWS_REGION",
}


def function_variables(recording: Recording) -> list[set[str]]:
    functions = recording.of_type("aws:lambda/function:Function")
    return [set(one.inputs.get("environment", {}).get("variables", {})) for one in functions]


def container_variables(recording: Recording) -> list[set[str]]:
    tasks = recording.of_type("aws:ecs/taskDefinition:TaskDefinition")
    containers = [one for task in tasks for one in json.loads(task.inputs["containerDefinitions"])]
    return [{variable["name"] for variable in one.get("environment", [])} for one in containers]


def test_the_local_functions_have_the_variables_of_the_deployed_ones(prod: Recording) -> None:
    deployed = [names - DEPLOYED_ONLY for names in function_variables(prod)]
    shared = set(pipeline_environment(""))
    assert shared in deployed, "the orchestrator would run with other settings than on AWS"
    assert shared | set(ingestion_environment(AWS, "NEXTGEN")) in deployed, "and so would ingestion"


def test_the_local_api_has_the_variables_of_the_deployed_one(prod: Recording) -> None:
    ours = set(pipeline_environment("")) | set(api_environment({}))
    assert ours in [names - DEPLOYED_ONLY for names in container_variables(prod)]


@pytest.mark.parametrize(
    ("reply", "failed"),
    [
        ({"batchItemFailures": []}, set()),
        ({"batchItemFailures": [{"itemIdentifier": "1"}]}, {"1"}),
        ({"batchItemFailures": [{"itemIdentifier": "unknown"}]}, {"1", "2"}),
        ({"batchItemFailures": [{"itemIdentifier": ""}]}, {"1", "2"}),
        ({}, {"1", "2"}),
        (None, {"1", "2"}),
    ],
)
def test_a_reply_of_the_handler_is_read_as_lambda_reads_it(reply: Any, failed: set[str]) -> None:
    event = event_of([MESSAGE, {**MESSAGE, "MessageId": "2"}], "arn", "eu-central-1")
    assert failed_ids(lambda *_: reply, event) == failed


def test_a_handler_that_raises_gives_every_message_back() -> None:
    def handler(event: Any, context: Any) -> dict[str, Any]:
        raise ValueError

    assert failed_ids(handler, event_of([MESSAGE], "arn", "eu-central-1")) == {"1"}


@mock_aws
def test_only_messages_that_were_dealt_with_leave_the_queue() -> None:
    sqs = boto3.client("sqs", region_name="eu-central-1")
    url = sqs.create_queue(QueueName="queue", Attributes={"VisibilityTimeout": "0"})["QueueUrl"]
    for body in ("good", "bad"):
        sqs.send_message(QueueUrl=url, MessageBody=body)
    records: list[dict[str, Any]] = []

    def handler(event: Any, context: Any) -> dict[str, Any]:
        records.extend(event["Records"])
        failed = [record["messageId"] for record in event["Records"] if record["body"] == "bad"]
        return {"batchItemFailures": [{"itemIdentifier": one} for one in failed]}

    assert poll(sqs, url, handler) == 2
    assert poll(sqs, url, handler) == 1
    assert records[-1]["body"] == "bad"
    assert records[-1]["attributes"]["ApproximateReceiveCount"] == "2"
    assert records[-1]["eventSourceARN"].endswith(":queue")


def test_a_request_becomes_the_event_of_a_function_url() -> None:
    text = function_event(
        Request("POST", "/a?b=c", {"content-type": "application/json"}, b'{"query": "\xc3\xbc"}')
    )
    assert text["body"] == '{"query": "ü"}'
    assert text["isBase64Encoded"] is False
    assert text["queryStringParameters"] == {"b": "c"}
    assert text["requestContext"]["http"]["method"] == "POST"
    form = "application/x-www-form-urlencoded"  # what curl says when nobody says otherwise
    encoded = function_event(Request("POST", "/", {"content-type": form}, b"\xff"))
    assert (encoded["isBase64Encoded"], base64.b64decode(encoded["body"])) == (True, b"\xff")
    assert "body" not in function_event(Request("GET", "/", {}, b""))


def test_a_result_of_the_function_becomes_a_reply() -> None:
    headers = {"content-type": "application/json", "retry-after": "5"}
    reply = reply_of({"statusCode": 429, "headers": headers, "body": "{}"})
    assert (reply.status, reply.body, reply.headers) == (429, b"{}", {"retry-after": "5"})


@mock_aws
def test_a_folder_is_mirrored_with_its_changes(tmp_path: Path) -> None:
    s3 = boto3.client("s3", region_name="us-east-1")
    s3.create_bucket(Bucket="lake")
    mirror = Mirror(tmp_path, s3, "lake")

    def objects() -> dict[str, bytes]:
        mirror.look()
        keys = [one["Key"] for one in s3.list_objects_v2(Bucket="lake").get("Contents", [])]
        return {key: s3.get_object(Bucket="lake", Key=key)["Body"].read() for key in keys}

    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a b+ü.txt").write_bytes(b"old")
    (tmp_path / ".hidden.txt").write_bytes(b"left out")
    assert objects() == {"raw/sub/a b+ü.txt": b"old"}
    (tmp_path / "sub" / "a b+ü.txt").write_bytes(b"newer")
    (tmp_path / "b.md").write_bytes(b"b")
    assert objects() == {"raw/sub/a b+ü.txt": b"newer", "raw/b.md": b"b"}
    (tmp_path / "sub" / "a b+ü.txt").unlink()
    assert objects() == {"raw/b.md": b"b"}
