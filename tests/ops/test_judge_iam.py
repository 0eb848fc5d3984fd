"""The judge of access documents: the stacks pass, and every kind of planted fault is seen."""

import json
from dataclasses import replace
from typing import Any

import pytest

from ops.capture.recording import Recording
from ops.judges.findings import accepted, split
from ops.judges.iam import iam_findings
from ops.judges.iam_data import actions_matching, fits
from recordings import recorded

ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
DATA_POLICY = "aws:opensearch/serverlessAccessPolicy:ServerlessAccessPolicy"
READS = "data-lake-read-ingestion-index-role"
BUCKET = "arn:aws:s3:::lake-abc"
QUEUE = "arn:aws:sqs:eu-central-1:111122223333:events"


def planted(type_: str, name: str, policy: Any) -> set[str]:
    """The rules that fire on the dev stack with one policy replaced, and not without."""
    recording = recorded("dev")
    resources = tuple(
        replace(item, inputs={**item.inputs, "policy": json.dumps(policy)})
        if (item.type, item.name) == (type_, name)
        else item
        for item in recording.resources
    )
    assert resources != recording.resources, f"{name} is gone, so nothing was planted"
    return _rules(replace(recording, resources=resources)) - _rules(recording)


def _rules(recording: Recording) -> set[str]:
    return {item.rule for item in iam_findings(recording)}


def statement(**parts: Any) -> set[str]:
    document = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **parts}]}
    return planted(ROLE_POLICY, READS, document)


def test_the_stacks_pass(platform: Recording) -> None:
    own = [item for item in accepted() if item.judge == "iam"]
    assert split(iam_findings(platform), own)[0] == []


def test_an_action_that_aws_does_not_know_is_seen() -> None:
    assert statement(Action="s3:GetObjekt", Resource=f"{BUCKET}/raw/*") == {"unknown-action"}
    assert statement(Action="s33:GetObject", Resource=f"{BUCKET}/raw/*") == {"unknown-action"}


def test_a_bucket_is_not_taken_for_its_objects() -> None:
    assert statement(Action="s3:GetObject", Resource=BUCKET) == {"wrong-resource", "useless-resource"}


def test_objects_are_not_taken_for_their_bucket() -> None:
    assert "wrong-resource" in statement(Action="s3:ListBucket", Resource=f"{BUCKET}/raw/*")


def test_a_resource_that_no_action_works_on_is_seen() -> None:
    assert statement(Action="s3:GetObject", Resource=[f"{BUCKET}/*", QUEUE]) == {"useless-resource"}


def test_a_wildcard_is_seen_where_a_name_would_do() -> None:
    assert statement(Action="sqs:SendMessage", Resource="*") == {"avoidable-wildcard sqs:SendMessage"}


def test_an_action_without_resources_wants_a_wildcard() -> None:
    assert statement(Action="s3:ListAllMyBuckets", Resource="*") == set()
    assert "needs-any" in statement(Action="s3:ListAllMyBuckets", Resource=BUCKET)


def test_a_condition_on_a_key_that_is_never_there_is_seen() -> None:
    condition = {"StringEquals": {"s3:prefxi": "raw/"}}
    assert statement(Action="s3:ListBucket", Resource=BUCKET, Condition=condition) == {
        "unknown-condition-key"
    }


@pytest.mark.parametrize("key", ["s3:prefix", "aws:SourceAccount", "aws:PrincipalTag/team"])
def test_a_condition_on_a_key_of_the_action_or_of_every_request_passes(key: str) -> None:
    condition = {"ForAnyValue:StringLikeIfExists": {key: "x"}}
    assert statement(Action="s3:ListBucket", Resource=BUCKET, Condition=condition) == set()


def test_a_condition_on_tags_of_a_resource_that_an_action_never_looks_at_is_seen() -> None:
    condition = {"StringEquals": {"aws:ResourceTag/Stack": "dev"}}
    role = "arn:aws:ec2:eu-central-1:111122223333:instance/*"
    assert statement(Action="ec2:TerminateInstances", Resource=role, Condition=condition) == set()
    assert "unknown-condition-key" in statement(
        Action="ecr:GetAuthorizationToken", Resource="*", Condition=condition
    )


def test_a_condition_that_aws_does_not_know_is_seen() -> None:
    condition = {"StringEqual": {"s3:prefix": "raw/"}}
    assert statement(Action="s3:ListBucket", Resource=BUCKET, Condition=condition) == {"unknown-operator"}


def test_allowing_all_but_a_list_is_seen() -> None:
    assert "negated" in statement(NotAction="s3:*", Resource=BUCKET)


def test_policies_that_are_too_long_together_are_seen() -> None:
    resources = [f"{BUCKET}/raw/{number:08}" for number in range(400)]
    assert statement(Action="s3:GetObject", Resource=resources) == {"too-long"}


@pytest.mark.parametrize(
    ("permission", "resource"), [("aoss:ReadDocuments", "index/a/*"), ("aoss:ReadDocument", "collection/a")]
)
def test_a_data_policy_with_what_the_collection_does_not_know_is_seen(permission: str, resource: str) -> None:
    rule = {"ResourceType": "index", "Resource": [resource], "Permission": [permission]}
    rules = planted(DATA_POLICY, "vector-store-query-rag-task-role", [{"Rules": [rule], "Principal": ["x"]}])
    assert rules == {"unknown-data-permission"}


def test_a_wildcard_in_an_action_stands_for_what_it_matches() -> None:
    names = {item.name for item in actions_matching("kms:GenerateDataKey*")}
    assert {"kms:GenerateDataKey", "kms:GenerateDataKeyPair"} <= names
    assert actions_matching("kms:Nothing*") == ()


@pytest.mark.parametrize(
    ("arn", "pattern", "expected"),
    [
        ("arn:aws:s3:::a/raw/*", "arn:${Partition}:s3:::${BucketName}/${ObjectName}", True),
        ("arn:aws:s3:::a/raw/*", "arn:${Partition}:s3:::${BucketName}", False),
        ("arn:aws:s3:::a*", "arn:${Partition}:s3:::${BucketName}/${ObjectName}", True),
        (
            "arn:aws:logs:r:1:log-group:a:*",
            "arn:${Partition}:logs:${Region}:${Account}:log-group:${G}:log-stream:${S}",
            True,
        ),
        (
            "arn:aws:logs:r:1:log-group:a",
            "arn:${Partition}:logs:${Region}:${Account}:log-group:${G}:log-stream:${S}",
            False,
        ),
        (
            "arn:aws:x:r:1:group:*:name/a",
            "arn:${Partition}:x:${Region}:${Account}:group:${Id}:name/${Name}",
            True,
        ),
    ],
)
def test_an_arn_with_a_wildcard_fits_what_it_can_stand_for(arn: str, pattern: str, expected: bool) -> None:
    assert fits(arn, pattern) is expected
