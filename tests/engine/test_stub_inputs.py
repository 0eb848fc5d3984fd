"""What the stub takes as inputs, and the names that it makes up."""

import pytest

from tests.engine.stub.wire import UNKNOWN, Values, from_struct
from tests.engine.stub_calls import Calls, RefusedCall

BUCKET = "aws:s3/bucket:Bucket"
GROUP = "aws:autoscaling/group:Group"
QUEUE = "aws:sqs/queue:Queue"
SERVICE = "aws:ecs/service:Service"
VERSIONING = "aws:s3/bucketVersioning:BucketVersioning"


def _faults(kind: str, inputs: Values) -> dict[str, str]:
    return {fault.property: fault.reason for fault in Calls().check(kind, "it", inputs).failures}


@pytest.mark.parametrize(
    ("kind", "inputs", "path"),
    [
        (QUEUE, {"visibilityTimeout": 30}, "visibilityTimeout"),
        (SERVICE, {"deploymentCircuitBreaker": {"enable": True, "rolback": True}}, "deploymentCircuitBreaker.rolback"),
        (SERVICE, {"loadBalancers": [{"containerName": "a", "containerPort": 1, "targetGroup": "x"}]},
         "loadBalancers[0].targetGroup"),
        (SERVICE, {"deploymentCircuitBreaker": {"enable": True}}, "deploymentCircuitBreaker.rollback"),
        (VERSIONING, {"bucket": "b"}, "versioningConfiguration"),
        (QUEUE, {"tags": {"Owner": {"name": "x"}}}, "tags.Owner"),
        (QUEUE, {"delaySeconds": "90"}, "delaySeconds"),
        (QUEUE, {"delaySeconds": True}, "delaySeconds"),
        (QUEUE, {"fifoQueue": 1}, "fifoQueue"),
        (QUEUE, {"policy": ["a"]}, "policy"),
    ],
)  # fmt: skip
def test_what_the_sdk_types_do_not_allow_is_refused_with_its_path(
    kind: str, inputs: Values, path: str
) -> None:
    assert path in _faults(kind, inputs), "the real provider would refuse it, and only in the account"


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        (SERVICE, {"deploymentCircuitBreaker": {"enable": True, "rollback": True}, "desiredCount": 2}),
        (VERSIONING, {"bucket": UNKNOWN, "versioningConfiguration": {"status": "Enabled"}}),
        (
            GROUP,
            {"maxSize": 1, "minSize": 0, "tags": [{"key": "a", "value": "b", "propagateAtLaunch": True}]},
        ),
        (QUEUE, {"tags": {"Owner": "x"}, "delaySeconds": 90, "fifoQueue": False, "policy": None}),
    ],
)
def test_what_the_sdk_types_allow_is_taken(kind: str, inputs: Values) -> None:
    assert not _faults(kind, inputs)


def test_a_name_is_made_up_once_and_kept() -> None:
    first = from_struct(Calls().check(QUEUE, "jobs", {}, seed=b"1").inputs)
    second = from_struct(Calls().check(QUEUE, "jobs", {"delaySeconds": 5}, old=first, seed=b"2").inputs)
    assert first["name"].startswith("jobs-") and len(first["name"]) == len("jobs-") + 7
    assert second["name"] == first["name"], "every update would replace the resource"


def test_a_replacement_gets_another_name() -> None:
    names = {from_struct(Calls().check(QUEUE, "jobs", {}, seed=seed).inputs)["name"] for seed in (b"1", b"2")}
    assert len(names) == 2, "it could not stand beside what it replaces"


def test_a_given_name_and_a_given_prefix_are_left_alone() -> None:
    assert from_struct(Calls().check(QUEUE, "jobs", {"name": "mine"}).inputs)["name"] == "mine"
    assert "name" not in from_struct(Calls().check(QUEUE, "jobs", {"namePrefix": "mine-"}).inputs)


def test_a_name_that_would_be_too_long_is_refused() -> None:
    with pytest.raises(RefusedCall, match="exceed the 32 characters of aws:lb/targetGroup"):
        Calls().check("aws:lb/targetGroup:TargetGroup", "a-target-group-with-a-long-name", {})


def test_a_bucket_is_named_in_lower_case() -> None:
    assert from_struct(Calls().check(BUCKET, "Lake", {}).inputs)["bucket"].startswith("lake-")


def test_a_type_that_the_sdk_does_not_have_is_refused() -> None:
    with pytest.raises(RefusedCall, match="the SDK has no resource aws:s3/buckets:Buckets"):
        Calls().check("aws:s3/buckets:Buckets", "it", {})


def test_a_function_without_an_answer_is_refused_by_name() -> None:
    with pytest.raises(RefusedCall, match="aws:ec2/getAmi:getAmi"):
        Calls().invoke("aws:ec2/getAmi:getAmi", {})
    assert Calls().invoke("aws:ssm/getParameter:getParameter", {"name": "/x"})["value"].startswith("ami-")
