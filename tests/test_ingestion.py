"""Ingestion: from a change in the lake, through the queue, to the function, and what becomes of failures."""

import json
from typing import Any

import pytest

from answer_parts import LAKE, PRIVATE, Parts, function_of, record_part, variables_of
from components.lake_layout import RAW
from ingestion.events import EVENT_NAMES
from ingestion.extraction import RAW_PREFIX
from ingestion.messages import MAXIMUM_MESSAGE_BYTES
from ingestion.settings import IngestionSettings
from ops.capture.computed import Computed
from ops.capture.recording import Recording, Unknown
from walk import names, statements

QUEUE = "aws:sqs/queue:Queue"
QUEUE_POLICY = "aws:sqs/queuePolicy:QueuePolicy"
REDRIVE_ALLOW = "aws:sqs/redriveAllowPolicy:RedriveAllowPolicy"
NOTIFICATION = "aws:s3/bucketNotification:BucketNotification"
MAPPING = "aws:lambda/eventSourceMapping:EventSourceMapping"
EVENTS, DEAD_LETTERS = "ingestion-events", "ingestion-dead-letters"


def build(parts: Parts) -> None:
    parts.ingestion()


@pytest.fixture(scope="module")
def recording() -> Recording:
    return record_part(build)


def test_both_queues_are_encrypted_and_keep_messages_as_long_as_sqs_can(recording: Recording) -> None:
    queues = recording.of_type(QUEUE)
    assert {queue.name for queue in queues} == {EVENTS, DEAD_LETTERS}
    for queue in queues:
        assert queue.inputs["sqsManagedSseEnabled"] is True, f"messages of {queue.name} would lie in clear"
        assert queue.inputs["messageRetentionSeconds"] == 1_209_600, "a sleeping stack would lose changes"
        assert queue.inputs["maxMessageSize"] == MAXIMUM_MESSAGE_BYTES, (
            "the function would be refused a message that it thinks fits"
        )


def test_a_message_is_not_handed_out_again_while_the_function_works_on_it() -> None:
    recording = record_part(build, {"ingestionTimeoutSeconds": 100})
    assert function_of(recording, "ingestion").inputs["timeout"] == 100
    assert recording.one(QUEUE, EVENTS).inputs["visibilityTimeoutSeconds"] == 600


def test_what_fails_again_and_again_goes_to_the_dead_letters() -> None:
    recording = record_part(build, {"ingestionMaximumReceives": 3})
    dead_letters = recording.one(QUEUE, DEAD_LETTERS)
    assert json.loads(recording.one(QUEUE, EVENTS).inputs["redrivePolicy"]) == {
        "deadLetterTargetArn": dead_letters.outputs["arn"],
        "maxReceiveCount": 3,
    }, "a document that cannot be read would be tried, and paid for, for two weeks"


def test_no_other_queue_may_use_these_dead_letters(recording: Recording) -> None:
    allowed = recording.one(REDRIVE_ALLOW)
    assert allowed.inputs["queueUrl"] == recording.one(QUEUE, DEAD_LETTERS).outputs["url"]
    assert json.loads(allowed.inputs["redriveAllowPolicy"]) == {
        "redrivePermission": "byQueue",
        "sourceQueueArns": [recording.one(QUEUE, EVENTS).outputs["arn"]],
    }


@pytest.mark.parametrize("name", [EVENTS, DEAD_LETTERS])
def test_each_queue_refuses_plain_http(recording: Recording, name: str) -> None:
    queue, policy = recording.one(QUEUE, name), recording.one(QUEUE_POLICY, f"{name}-policy")
    assert policy.inputs["queueUrl"] == queue.outputs["url"]
    refusals = [item for item in json.loads(policy.inputs["policy"])["Statement"] if item["Effect"] == "Deny"]
    assert refusals == [
        {
            "Effect": "Deny",
            "Principal": "*",
            "Action": "sqs:*",
            "Resource": queue.outputs["arn"],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
    ]


def test_only_s3_may_send_and_only_for_this_bucket_of_this_account(recording: Recording) -> None:
    allowed = [
        statement
        for resource, statement in statements(recording)
        if resource.type == QUEUE_POLICY and statement["Effect"] == "Allow"
    ]
    assert allowed == [
        {
            "Effect": "Allow",
            "Principal": {"Service": "s3.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": recording.one(QUEUE, EVENTS).outputs["arn"],
            "Condition": {
                "ArnEquals": {"aws:SourceArn": "arn:aws:s3:::lake-abc"},
                "StringEquals": {"aws:SourceAccount": "111122223333"},
            },
        }
    ], "others could feed documents into your answers"


def test_changes_below_raw_are_told_and_those_that_ingestion_writes_are_not(recording: Recording) -> None:
    inputs = recording.one(NOTIFICATION).inputs
    assert inputs["bucket"] == "lake-abc"
    (queue,) = inputs["queues"]
    assert queue["queueArn"] == recording.one(QUEUE, EVENTS).outputs["arn"]
    assert queue["filterPrefix"] == "raw/" == RAW == RAW_PREFIX, (
        "what ingestion writes below processed/ would start it again, for ever"
    )
    assert "filterSuffix" not in queue


def test_new_changed_removed_and_expired_documents_are_told_in_words_that_the_function_knows(
    recording: Recording,
) -> None:
    (queue,) = recording.one(NOTIFICATION).inputs["queues"]
    assert queue["events"] == ["s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:LifecycleExpiration:*"], (
        "the index would keep answering from documents that are gone"
    )
    for event in queue["events"]:
        assert event.removeprefix("s3:").startswith(EVENT_NAMES), f"the function would drop {event}"


def test_s3_begins_to_send_once_the_queue_takes_it(recording: Recording) -> None:
    policy = recording.one(QUEUE_POLICY, f"{EVENTS}-policy")
    assert policy.urn in recording.one(NOTIFICATION).dependencies, "S3 would refuse the queue"


@pytest.mark.parametrize("generation", ["NEXTGEN", "CLASSIC"])
def test_the_function_accepts_its_environment(generation: str) -> None:
    recording = record_part(build, {"vectorGeneration": generation})
    settings = IngestionSettings.from_environment(variables_of(recording, "ingestion"))
    assert settings.data_lake_bucket == "lake-abc"
    assert settings.collection_generation == generation, "CLASSIC refuses the ids that NEXTGEN needs"
    assert settings.pipeline.index_alias == "documents"
    assert settings.pipeline.embedding_dimensions == 512


def test_memory_and_logs_are_those_of_the_configuration() -> None:
    recording = record_part(build, {"ingestionMemoryMib": 2048})
    assert function_of(recording, "ingestion").inputs["memorySize"] == 2048
    group = recording.one("aws:cloudwatch/logGroup:LogGroup", "ingestion-index-logs")
    assert group.inputs["retentionInDays"] == 7


def test_the_queue_feeds_the_function_one_document_at_a_time_and_within_the_limit() -> None:
    recording = record_part(build, {"ingestionMaximumConcurrency": 6})
    inputs = recording.one(MAPPING).inputs
    assert inputs["eventSourceArn"] == recording.one(QUEUE, EVENTS).outputs["arn"]
    assert inputs["functionName"] == function_of(recording, "ingestion").outputs["arn"]
    assert inputs["scalingConfig"] == {"maximumConcurrency": 6}, (
        "an upload of many files would exhaust Bedrock"
    )
    assert inputs["batchSize"] == 1, "one slow document would carry others to the dead letters"


def test_the_queue_takes_back_what_the_function_reports_as_failed(recording: Recording) -> None:
    assert recording.one(MAPPING).inputs["functionResponseTypes"] == ["ReportBatchItemFailures"], (
        "the function never raises: without this every failure would count as done"
    )


@pytest.mark.parametrize("asleep", [True, False])
def test_a_sleeping_stack_leaves_changes_in_the_queue(asleep: bool) -> None:
    recording = record_part(build, {"asleep": asleep})
    assert recording.one(MAPPING).inputs["enabled"] is not asleep
    assert recording.one(NOTIFICATION), "changes made meanwhile would never be indexed"


def test_the_function_reads_its_own_queue_only_and_may_do_so_before_lambda_checks_it(
    recording: Recording,
) -> None:
    reading = [
        (resource, statement)
        for resource, statement in statements(recording)
        if "sqs:ReceiveMessage" in str(statement)
    ]
    assert [statement for _, statement in reading] == [
        {
            "Effect": "Allow",
            "Action": ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"],
            "Resource": [recording.one(QUEUE, EVENTS).outputs["arn"]],
        }
    ]
    role = recording.one("aws:iam/role:Role", "ingestion-index-role")
    assert reading[0][0].inputs["role"] == role.outputs["name"]
    assert reading[0][0].urn in recording.one(MAPPING).dependencies, "Lambda would refuse the queue"


def test_the_function_sends_to_its_own_queues_only_and_may_do_so_with_its_first_document(
    recording: Recording,
) -> None:
    sending = [
        (resource, statement)
        for resource, statement in statements(recording)
        if resource.type == "aws:iam/rolePolicy:RolePolicy" and "sqs:SendMessage" in str(statement)
    ]
    queues = [recording.one(QUEUE, name).outputs["arn"] for name in (EVENTS, DEAD_LETTERS)]
    assert [statement for _, statement in sending] == [
        {"Effect": "Allow", "Action": ["sqs:SendMessage"], "Resource": queues}
    ], "it could send to queues of other programs, or not part a large document"
    role = recording.one("aws:iam/role:Role", "ingestion-index-role")
    assert sending[0][0].inputs["role"] == role.outputs["name"]
    assert sending[0][0].urn in recording.one(MAPPING).dependencies, "the first large document would fail"


@pytest.mark.parametrize(("changes", "inside"), [({}, False), (PRIVATE, True)])
def test_it_sits_in_the_network_only_for_a_private_collection(changes: dict[str, Any], inside: bool) -> None:
    function = function_of(record_part(build, changes), "ingestion")
    assert ("vpcConfig" in function.inputs) is inside


def test_no_permission_is_a_wildcard(recording: Recording) -> None:
    for resource, statement in statements(recording):
        if statement["Effect"] == "Allow":
            assert "*" not in statement.get("Resource", []), f"{resource.name} allows it on everything"
            assert not [action for action in statement["Action"] if "*" in action], resource.name


@pytest.mark.parametrize("changes", [{}, PRIVATE])
def test_a_first_preview_shows_what_up_makes(changes: dict[str, Any]) -> None:
    preview = record_part(build, changes, preview=True)
    assert names(preview) == names(record_part(build, changes))
    assert variables_of(preview, "ingestion")["OPENSEARCH_ENDPOINT"] == Unknown()


def test_a_run_without_computed_values_does_not_raise(recording: Recording) -> None:
    empty = record_part(build, computed=Computed(resources=LAKE, empty=True))
    assert names(empty) == names(recording)


def test_queue_and_function_are_registered(recording: Recording) -> None:
    component = recording.one("aiplatform:index:Ingestion")
    assert recording.registered_outputs[component.urn] == {
        "queue_url": recording.one(QUEUE, EVENTS).outputs["url"],
        "function_name": function_of(recording, "ingestion").outputs["name"],
    }
