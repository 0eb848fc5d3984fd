"""The program as a whole, with the three stack files: what it builds, what it never builds, and how it bends."""

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest

from ops.capture.computed import Computed
from ops.capture.program import record
from ops.capture.recording import Recording, Unknown
from policies.texts import texts
from recordings import STACKS, previewed, record_as, recorded
from walk import names, statements

BUCKET = "aws:s3/bucket:Bucket"
FILE_SYSTEM = "aws:efs/fileSystem:FileSystem"
COLLECTION = "aws:opensearch/serverlessCollection:ServerlessCollection"
FUNCTION = "aws:lambda/function:Function"
QUEUE = "aws:sqs/queue:Queue"

FIELD_VALUES = Computed(
    resources={
        BUCKET: {"id": "lake-abc", "bucket": "lake-abc", "arn": "arn:aws:s3:::lake-abc"},
        FILE_SYSTEM: {
            "id": "fs-0a1b2c3d4e5f60718",
            "arn": "arn:aws:elasticfilesystem:eu-central-1:111122223333:file-system/fs-0a1b2c3d4e5f60718",
        },
        "aws:ec2/launchTemplate:LaunchTemplate": {"latestVersion": 7},
        "aws:lb/loadBalancer:LoadBalancer": {"arnSuffix": "app/rag-alb/50dc6c495c0c9188"},
        "aws:lb/targetGroup:TargetGroup": {"arnSuffix": "targetgroup/rag-tg/6d0ecf831eec9f09"},
    }
)
OUTPUT_AS_TEXT = ("Calling __str__", "Output object at", "Output[T]", "<pulumi.", "None/", "/None", '"None"')

# Bills by the hour whether it is used or not.
HOURLY = {
    "aws:ec2/natGateway:NatGateway", "aws:ec2/eip:Eip", "aws:lb/loadBalancer:LoadBalancer", "aws:ecs/service:Service",
    "aws:autoscaling/group:Group", "aws:opensearch/serverlessVpcEndpoint:ServerlessVpcEndpoint",
}  # fmt: skip
DATA = {BUCKET, FILE_SYSTEM, COLLECTION, "aws:ecr/repository:Repository"}

WORKLOADS: dict[str, dict[str, Any]] = {
    "gpuFleets": {"gpuFleets": []},
    "training": {"training": False, "interruptionDrill": False},
    "interruptionDrill": {"interruptionDrill": False},
    "ragService": {"ragService": False},
    "orchestrator": {"orchestrator": False},
    "ingestion": {"ingestion": False},
    "budgetEmail": {"budgetEmail": ""},
}
WITHOUT_VECTOR_STORE = {"vectorStore": False, "ragService": False, "orchestrator": False, "ingestion": False}


@pytest.fixture(scope="module")
def field() -> Recording:
    """The prod stack with the values of the field cases."""
    return record("prod", computed=FIELD_VALUES)


def test_no_output_ever_becomes_text(field: Recording) -> None:
    for resource in field.resources:
        for text in texts(dict(resource.inputs)):
            for mark in OUTPUT_AS_TEXT:
                assert mark not in text, (
                    f"{resource.name} would be deployed with {mark!r} in it: {text[:200]}"
                )


def test_known_values_reach_boot_scripts_and_policies(field: Recording) -> None:
    boots = [
        "".join(texts(item.inputs["userData"]))
        for item in field.of_type("aws:ec2/launchTemplate:LaunchTemplate")
        if "research" in item.name
    ]
    assert boots, "the dlami fleet has no boot script"
    for boot in boots:
        assert "fs-0a1b2c3d4e5f60718" in boot, "nodes would not find the shared files"
        assert "eu-central-1" in boot, "nodes would call AWS in another region"
    granted = " ".join(str(statement) for _, statement in statements(field))
    assert "arn:aws:s3:::lake-abc" in granted, "no role may reach the lake"


def test_the_program_runs_when_the_sdk_turns_output_text_into_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_ERROR_OUTPUT_STRING", "true")
    assert os.environ["PULUMI_ERROR_OUTPUT_STRING"] == "true"
    assert names(record("staging")) == names(recorded("staging"))


@pytest.mark.parametrize("stack", STACKS)
def test_a_first_preview_shows_exactly_what_up_builds(stack: str) -> None:
    assert names(previewed(stack)) == names(recorded(stack)), "a preview would hide resources"


@pytest.mark.parametrize("stack", STACKS)
def test_a_run_without_computed_values_does_not_raise(stack: str) -> None:
    assert {key for key in names(record(stack, computed=Computed(empty=True)))} == names(recorded(stack))


def test_a_first_preview_knows_no_computed_value() -> None:
    bucket = previewed("dev").exports["bucket"]
    assert bucket == Unknown(), "the preview twin is answered with made-up values and proves nothing"


def test_two_runs_record_the_same() -> None:
    assert record("dev") == recorded("dev")


def test_urns_are_those_of_the_engine(dev: Recording) -> None:
    bucket = dev.one(BUCKET)
    assert bucket.urn == (
        "urn:pulumi:dev::ai-platform::aiplatform:index:DataLake$aws:s3/bucket:Bucket::data-lake-bucket"
    )
    assert bucket.parent == "urn:pulumi:dev::ai-platform::aiplatform:index:DataLake::data-lake"
    block = dev.one("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock")
    assert bucket.urn in block.dependencies
    assert block.property_dependencies["bucket"] == frozenset({bucket.urn})


def test_one_explicit_provider_serves_every_resource(platform: Recording) -> None:
    provider = platform.one("pulumi:providers:aws")
    assert '"CostCenter"' in provider.inputs["defaultTags"], "cost could not be split"
    for resource in platform.resources:
        if resource.type.startswith("aws:"):
            assert resource.provider.startswith(f"{provider.urn}::"), (
                f"{resource.name} ignores region and accounts"
            )


def test_prod_can_only_be_deployed_to_its_own_account(prod: Recording) -> None:
    assert prod.one("pulumi:providers:aws").inputs["allowedAccountIds"] == '["111122223333"]'


def test_exports_are_what_an_operator_types(prod: Recording) -> None:
    assert set(prod.exports) >= {
        "bucket", "cluster", "file_system", "rag_url", "orchestrator_function", "orchestrator_url",
    }  # fmt: skip
    exports = prod.exports
    functions, queues = (
        {item.outputs["name"]: item.name for item in prod.of_type(kind)} for kind in (FUNCTION, QUEUE)
    )
    assert functions[exports["ingestion_function"]] == "ingestion-index-function"
    assert functions[exports["vector_index_function"]] == "vector-store-index-function"
    assert queues[exports["ingestion_queue"].rsplit("/", 1)[-1]] == "ingestion-events"
    assert queues[exports["ingestion_dead_letters"].rsplit("/", 1)[-1]] == "ingestion-dead-letters"
    assert exports["vector_alias"] == "documents", (
        "documents would be indexed anew behind a name that nobody reads"
    )
    assert prod.exports["cluster"] == "ai-cluster"
    assert recorded("dev").exports["cluster"] == "ai-cluster-dev"


@pytest.mark.parametrize("key", WORKLOADS)
def test_a_stack_may_leave_a_workload_out(key: str) -> None:
    stack = "prod" if key == "budgetEmail" else "staging"
    without = names(record(stack, changes=WORKLOADS[key]))
    assert without < names(recorded(stack)), (
        f"without {key} the rest must stay as it is, and something must go"
    )


def test_a_stack_may_be_for_training_only() -> None:
    training_only = record("prod", changes=WITHOUT_VECTOR_STORE)
    assert not training_only.of_type(COLLECTION)
    assert not training_only.of_type("aws:ecs/service:Service")
    assert training_only.of_type("aws:batch/jobQueue:JobQueue")


def test_a_stack_may_be_for_answers_only() -> None:
    answers_only = record("prod", changes={"gpuFleets": [], "training": False, "budgetEmail": ""})
    assert not answers_only.of_type("aws:ec2/launchTemplate:LaunchTemplate")
    assert answers_only.of_type("aws:ecs/service:Service")


def test_a_stack_may_hold_nothing_but_its_data() -> None:
    bare = record(
        "prod", changes={**WITHOUT_VECTOR_STORE, "gpuFleets": [], "training": False, "budgetEmail": ""}
    )
    assert bare.of_type(BUCKET)
    assert bare.of_type(FILE_SYSTEM)
    assert not bare.of_type("aws:lambda/function:Function")


@pytest.mark.parametrize("stack", STACKS)
def test_a_sleeping_stack_pays_for_no_hours_and_keeps_its_data(stack: str) -> None:
    awake, asleep = recorded(stack), record(stack, changes={"asleep": True})
    hourly = [resource.name for resource in asleep.resources if resource.type in HOURLY]
    interfaces = [
        endpoint.name
        for endpoint in asleep.of_type("aws:ec2/vpcEndpoint:VpcEndpoint")
        if endpoint.inputs.get("vpcEndpointType") == "Interface"
    ]
    assert not hourly + interfaces, "these bill by the hour while the stack sleeps"
    for kept in _data(awake):
        twin = next((other for other in asleep.resources if other.urn == kept.urn), None)
        assert twin is not None and twin.inputs == kept.inputs, f"{kept.name} would lose its data"


@pytest.mark.parametrize("stack", STACKS)
def test_going_to_sleep_deletes_nothing_that_is_protected(stack: str) -> None:
    there = {resource.urn for resource in record(stack, changes={"asleep": True}).resources}
    stuck = [item.name for item in recorded(stack).resources if item.protect and item.urn not in there]
    assert not stuck, "the engine would refuse to take these down, half-way through"


def test_containers_of_the_cluster_cannot_borrow_the_lake_from_their_node(prod: Recording) -> None:
    granted = " ".join(item.name for item in prod.of_type("aws:iam/rolePolicy:RolePolicy"))
    assert "data-lake-read-gpu-research-node" in granted, "interactive nodes need the lake"
    assert "data-lake-read-gpu-inference-node" not in granted, "any container could take the node's role"
    assert "mount-gpu-inference-node" not in granted


def _data(recording: Recording) -> Iterator[Any]:
    return (resource for resource in recording.resources if resource.type in DATA)


def test_security_groups_and_rules_say_what_they_are_for_in_letters_that_aws_takes(
    platform: Recording,
) -> None:
    # https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpRange.html
    allowed = re.compile(r"[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}")
    rules = [item for item in platform.resources if item.type.endswith(("gressRule", ":SecurityGroup"))]
    assert rules
    for item in rules:
        assert allowed.fullmatch(item.inputs["description"]), (
            f"AWS would refuse the description of {item.name}"
        )


def test_data_is_protected_and_kept_where_the_stack_says_so(prod: Recording, dev: Recording) -> None:
    for resource in _data(prod):
        assert resource.protect, f"destroy would take {resource.name}"
        assert resource.retain_on_delete, f"removing {resource.name} from the program would delete it"
    assert not any(resource.protect for resource in _data(dev)), "a dev stack could not be destroyed"


CHINA = {
    "region": "cn-north-1", "availabilityZones": ["cn-north-1a", "cn-north-1b"], "answerModel": "amazon.nova-lite-v1:0",
    "gpuFleets": [], "training": False, "certificateArn": "", "bearerTokenSecretArn": "", "openaiApiKeySecretArn": "",
    "exposure": "internal",
}  # fmt: skip
US_GOV = {
    **CHINA, "region": "us-gov-west-1", "availabilityZones": ["us-gov-west-1a", "us-gov-west-1b"],
}  # fmt: skip


@pytest.mark.parametrize(("changes", "partition"), [(CHINA, "aws-cn"), (US_GOV, "aws-us-gov")])
def test_nothing_is_tied_to_one_partition_or_region(changes: dict[str, Any], partition: str) -> None:
    moved = record("prod", changes=changes)
    for resource in moved.resources:
        for text in texts(dict(resource.inputs)):
            assert "arn:aws:" not in text, (
                f"{resource.name} names the partition aws in {partition}: {text[:200]}"
            )
            assert "eu-central-1" not in text, f"{resource.name} names another region: {text[:200]}"


def test_only_the_documented_lookups_reach_aws_during_a_preview(platform: Recording) -> None:
    tokens = {call.token for call in platform.invokes}
    assert tokens <= {
        "aws:index/getCallerIdentity:getCallerIdentity",
        "aws:ssm/getParameter:getParameter",
    }, "docs/lookups.md lists every call to AWS in a preview"


def test_an_image_that_is_not_pinned_is_told(dev: Recording) -> None:
    assert any("python -m ops images" in text for text in dev.warnings), (
        "nobody would learn that images can change"
    )


def test_pinned_images_need_no_lookup_and_no_warning() -> None:
    pinned = record("dev", changes={"machineImages": {"dlami": "ami-0123456789abcdef0"}})
    assert not pinned.warnings
    assert [call.token for call in pinned.invokes] == ["aws:index/getCallerIdentity:getCallerIdentity"]


LONG_PROJECT, LONG_STACK = "ai-platform-research", "feature-vector-search-eu-central-1"
LIMITS = {
    "aws:lb/loadBalancer:LoadBalancer": 32,
    "aws:lb/targetGroup:TargetGroup": 32,
    COLLECTION: 32,
    "aws:opensearch/serverlessSecurityPolicy:ServerlessSecurityPolicy": 32,
    "aws:opensearch/serverlessAccessPolicy:ServerlessAccessPolicy": 32,
    "aws:opensearch/serverlessCollectionGroup:ServerlessCollectionGroup": 32,
    "aws:lambda/function:Function": 64,
    "aws:iam/role:Role": 64,
    BUCKET: 63,
}
# Pulumi's auto-naming appends a hyphen and seven hexadecimal digits.
AUTO_NAME_SUFFIX = 8


def test_names_stay_within_their_limits_however_long_project_and_stack_are() -> None:
    long = record_as(LONG_STACK, project=LONG_PROJECT)
    for resource in long.resources:
        limit = LIMITS.get(resource.type)
        if limit is None:
            continue
        physical = resource.inputs.get("name") or resource.inputs.get("bucket")
        length = len(physical) if physical else len(resource.name) + AUTO_NAME_SUFFIX
        assert 3 <= length <= limit, f"AWS would refuse the name of {resource.name}"
        assert not (physical or resource.name).startswith("internal-"), (
            f"{resource.name} starts with internal-"
        )
        assert not (physical or "").endswith("-"), f"{resource.name} ends in a hyphen"
