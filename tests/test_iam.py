"""Policies as they reach AWS: one form, made of outputs, named from both ends."""

import json
from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_aws as aws

from components.gpu_node import encoded
from components.iam import allow, document, grant, trust_policy
from ops.capture.recording import Recording

ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"


def test_a_trust_policy_names_one_service_and_nobody_else() -> None:
    policy = json.loads(trust_policy("lambda.amazonaws.com"))
    assert policy["Statement"] == [
        {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ], "somebody else could take the role"


def test_a_statement_without_a_condition_has_no_empty_one() -> None:
    assert "Condition" not in allow(["s3:GetObject"], ["arn"])
    assert allow(["s3:GetObject"], ["arn"], {"Bool": {}})["Condition"] == {"Bool": {}}


@pulumi.runtime.test
def test_a_document_made_of_outputs_is_plain_json() -> pulumi.Output[None]:
    statements = [allow(["s3:GetObject"], [pulumi.Output.concat("arn:aws:s3:::", "lake-abc")])]

    def check(text: str) -> None:
        assert json.loads(text)["Statement"][0]["Resource"] == ["arn:aws:s3:::lake-abc"], (
            "the role reaches nothing"
        )

    return pulumi.Output.json_dumps(document(statements)).apply(check)


def test_a_grant_is_named_from_both_ends_and_hangs_under_what_is_granted(
    register: Callable[..., Recording],
) -> None:
    def build() -> Any:
        lake = pulumi.ComponentResource("aiplatform:index:Lake", "lake")
        role = aws.iam.Role("reader", assume_role_policy=trust_policy("lambda.amazonaws.com"))
        grant(lake, "read", role, [allow(["s3:GetObject"], ["arn:aws:s3:::lake-abc/*"])])

    policy = register(build).one(ROLE_POLICY)
    assert policy.name == "lake-read-reader", "nobody could tell from the state who may do what"
    assert policy.parent and policy.parent.endswith("::lake")
    assert json.loads(policy.inputs["policy"])["Statement"][0]["Action"] == ["s3:GetObject"]


def test_user_data_is_encoded_once() -> None:
    assert encoded("#!/bin/bash\n") == "IyEvYmluL2Jhc2gK", "the node would read base64 instead of its script"
