"""IAM documents as plain dictionaries, and the one way in which a component grants something to a role."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

Statement = Mapping[str, Any]

# What it takes to write to a log group that is there.
LOG_ACTIONS = ("logs:CreateLogStream", "logs:PutLogEvents")


def trust_policy(service: str) -> str:
    """Who may take a role: one AWS service, such as `lambda.amazonaws.com`. The names are the same in all partitions."""
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def allow(
    actions: Sequence[str], resources: Sequence[pulumi.Input[str]], condition: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """One statement that allows `actions` on `resources`."""
    statement: dict[str, Any] = {"Effect": "Allow", "Action": list(actions), "Resource": list(resources)}
    return {**statement, "Condition": dict(condition)} if condition else statement


def document(statements: Sequence[Statement]) -> dict[str, Any]:
    """A policy document."""
    return {"Version": "2012-10-17", "Statement": list(statements)}


def grant(
    owner: pulumi.Resource, verb: str, role: aws.iam.Role, statements: Sequence[Statement]
) -> aws.iam.RolePolicy:
    """Lets `role` do `verb` to `owner`; the policy hangs under `owner` and is named from both ends."""
    return aws.iam.RolePolicy(
        f"{owner.pulumi_resource_name}-{verb}-{role.pulumi_resource_name}",
        role=role.name,
        policy=pulumi.Output.json_dumps(document(statements)),
        opts=pulumi.ResourceOptions(parent=owner),
    )
