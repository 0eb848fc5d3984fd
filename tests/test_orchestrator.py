"""The orchestrator: its environment, its time, its ways in, and what becomes of calls that fail."""

import json
from typing import Any

import botocore.session
import pytest

from answer_parts import COLLECTION, LAKE, PRIVATE, Parts, function_of, record_part, variables_of
from components.timeouts import request_seconds
from ops.capture.computed import Computed
from ops.capture.recording import Recording, Unknown
from rag.bedrock import BedrockClients
from rag.settings import PipelineSettings
from walk import names, statements

QUEUE = "aws:sqs/queue:Queue"
QUEUE_POLICY = "aws:sqs/queuePolicy:QueuePolicy"
URL = "aws:lambda/functionUrl:FunctionUrl"
ASYNCHRONOUS = "aws:lambda/functionEventInvokeConfig:FunctionEventInvokeConfig"
TOKYO = {
    "region": "ap-northeast-1",
    "availabilityZones": ["ap-northeast-1a", "ap-northeast-1c"],
    "answerModel": "jp.anthropic.claude-sonnet-4-6",
    "gpuFleets": [],
}


def build(parts: Parts) -> None:
    parts.orchestrator()


@pytest.fixture(scope="module")
def recording() -> Recording:
    return record_part(build)


def test_the_pipeline_accepts_the_environment_and_reads_the_configuration_out_of_it() -> None:
    changes = {
        "embeddingDimensions": 1024, "retrievalCount": 7, "bedrockReadTimeoutSeconds": 9, "bedrockMaximumAttempts": 3,
    }  # fmt: skip
    recording = record_part(build, changes)
    settings = PipelineSettings.from_environment(variables_of(recording, "orchestrator"))
    assert settings == PipelineSettings(
        region="eu-central-1",
        opensearch_endpoint=recording.one(COLLECTION).outputs["collectionEndpoint"],
        index_alias="documents",
        embedding_model_id="amazon.titan-embed-text-v2:0",
        embedding_dimensions=1024,
        answer_model_id="eu.anthropic.claude-haiku-4-5-20251001-v1:0",
        bedrock_read_timeout_seconds=9,
        bedrock_max_attempts=3,
        retrieval_count=7,
        search_mode="hybrid",
        context_tokens=6000,
        answer_max_tokens=1024,
        answer_temperature=None,
    )


def test_no_variable_has_a_name_that_lambda_keeps_for_itself(recording: Recording) -> None:
    variables = function_of(recording, "orchestrator").inputs["environment"]["variables"]
    assert not [name for name in variables if name.startswith("AWS_")], "Lambda refuses to make the function"


def test_time_memory_and_concurrency_are_those_of_the_configuration() -> None:
    changes = {
        "orchestratorTimeoutSeconds": 150, "orchestratorMemoryMib": 2048, "orchestratorReservedConcurrency": 5,
    }  # fmt: skip
    inputs = function_of(record_part(build, changes), "orchestrator").inputs
    assert (inputs["timeout"], inputs["memorySize"]) == (150, 2048)
    assert inputs["reservedConcurrentExecutions"] == 5


def test_no_concurrency_is_reserved_unless_asked(recording: Recording) -> None:
    assert "reservedConcurrentExecutions" not in function_of(recording, "orchestrator").inputs, (
        "a new account has none to spare"
    )


def test_logs_are_kept_as_long_as_the_stack_says(recording: Recording) -> None:
    group = recording.one("aws:cloudwatch/logGroup:LogGroup", "orchestrator-answer-logs")
    assert group.inputs["retentionInDays"] == 7


def test_every_try_of_a_model_call_ends_before_the_function_does(recording: Recording) -> None:
    settings = PipelineSettings.from_environment(variables_of(recording, "orchestrator"))
    clients = BedrockClients(botocore.session.get_session(), settings.region)
    client = clients(settings.bedrock_read_timeout_seconds).meta.config
    assert client.retries["total_max_attempts"] == 1, (
        "the SDK would repeat calls behind the back of the deadline"
    )
    needed = request_seconds(int(client.read_timeout), settings.bedrock_max_attempts)
    assert needed < function_of(recording, "orchestrator").inputs["timeout"], (
        "a slow model would get the function cut off without an answer"
    )


def test_the_url_takes_signed_requests_only(recording: Recording) -> None:
    url = recording.one(URL)
    assert url.inputs["authorizationType"] == "AWS_IAM", "anyone could spend on your models"
    assert url.inputs["functionName"] == function_of(recording, "orchestrator").outputs["name"]
    assert not recording.of_type("aws:lambda/permission:Permission"), (
        "nobody is let in from outside by default"
    )


def test_calls_that_fail_in_the_end_are_kept(recording: Recording) -> None:
    queue, kept = recording.one(QUEUE), recording.one(ASYNCHRONOUS).inputs
    assert kept["destinationConfig"] == {"onFailure": {"destination": queue.outputs["arn"]}}
    assert kept["functionName"] == function_of(recording, "orchestrator").outputs["name"]
    assert kept["maximumRetryAttempts"] == 1, "each try costs a model call"
    assert kept["maximumEventAgeInSeconds"] == 3600, "nobody waits longer for an answer"


def test_the_failure_queue_is_encrypted_kept_long_and_closed_to_plain_http(recording: Recording) -> None:
    queue = recording.one(QUEUE)
    assert queue.inputs["sqsManagedSseEnabled"] is True
    assert queue.inputs["messageRetentionSeconds"] == 1_209_600
    policy = recording.one(QUEUE_POLICY)
    assert policy.inputs["queueUrl"] == queue.outputs["url"]
    assert json.loads(policy.inputs["policy"])["Statement"] == [
        {
            "Effect": "Deny",
            "Principal": "*",
            "Action": "sqs:*",
            "Resource": queue.outputs["arn"],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
    ]


def test_the_function_may_send_to_its_failure_queue_before_lambda_checks_it(recording: Recording) -> None:
    sending = [
        (resource, statement)
        for resource, statement in statements(recording)
        if "sqs:SendMessage" in str(statement)
    ]
    assert [statement["Resource"] for _, statement in sending] == [[recording.one(QUEUE).outputs["arn"]]]
    assert (
        sending[0][0].inputs["role"]
        == recording.one("aws:iam/role:Role", "orchestrator-answer-role").outputs["name"]
    )
    assert sending[0][0].urn in recording.one(ASYNCHRONOUS).dependencies, (
        "Lambda would refuse the destination"
    )


@pytest.mark.parametrize(("changes", "inside"), [({}, False), (PRIVATE, True)])
def test_it_sits_in_the_network_only_for_a_private_collection(changes: dict[str, Any], inside: bool) -> None:
    function = function_of(record_part(build, changes), "orchestrator")
    assert ("vpcConfig" in function.inputs) is inside


def test_a_sleeping_stack_leaves_the_function_where_it_is() -> None:
    awake, asleep = (
        function_of(record_part(build, {**PRIVATE, "asleep": sleeping}), "orchestrator").inputs
        for sleeping in (False, True)
    )
    assert awake == asleep


def test_no_permission_is_a_wildcard(recording: Recording) -> None:
    for resource, statement in statements(recording):
        if statement["Effect"] == "Allow":
            assert "*" not in statement.get("Resource", []), f"{resource.name} allows it on everything"
            assert not [action for action in statement["Action"] if "*" in action], resource.name


def test_a_profile_is_granted_with_its_model_in_each_region_it_can_send_to() -> None:
    def build_with_models(parts: Parts) -> None:
        parts.models().grant_embed_and_answer(parts.orchestrator().role)

    tokyo = record_part(build_with_models, TOKYO)
    (granted,) = [
        statement["Resource"]
        for resource, statement in statements(tokyo)
        if resource.name == "models-answer-orchestrator-answer-role"
    ]
    model = "foundation-model/anthropic.claude-sonnet-4-6"
    assert set(granted) >= {
        "arn:aws:bedrock:ap-northeast-1:111122223333:inference-profile/jp.anthropic.claude-sonnet-4-6",
        f"arn:aws:bedrock:ap-northeast-1::{model}",
        f"arn:aws:bedrock:ap-northeast-3::{model}",
    }, "a call that the profile sends to the other region would be denied"
    assert not [arn for arn in granted if "*" in arn], "the function could call any model"


@pytest.mark.parametrize("changes", [{}, PRIVATE])
def test_a_first_preview_shows_what_up_makes(changes: dict[str, Any]) -> None:
    preview = record_part(build, changes, preview=True)
    assert names(preview) == names(record_part(build, changes))
    assert variables_of(preview, "orchestrator")["OPENSEARCH_ENDPOINT"] == Unknown()


def test_a_run_without_computed_values_does_not_raise(recording: Recording) -> None:
    empty = record_part(build, computed=Computed(resources=LAKE, empty=True))
    assert names(empty) == names(recording)


def test_name_and_url_are_registered(recording: Recording) -> None:
    component = recording.one("aiplatform:index:Orchestrator")
    assert recording.registered_outputs[component.urn] == {
        "function_name": function_of(recording, "orchestrator").outputs["name"],
        "function_url": recording.one(URL).outputs["functionUrl"],
    }
