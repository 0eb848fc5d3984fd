"""Every statement of every access document is read, in one shape."""

import json
from collections import Counter
from typing import Any

import pytest

from ops.capture.recording import RecordedResource, Recording, Unknown
from ops.permissions import (
    ATTACHMENTS,
    DATA_POLICY,
    LAMBDA_PERMISSION,
    ROLE,
    Condition,
    Permission,
    permissions,
    permissions_of,
)
from walk import statements

ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
KEY = "aws:kms/key:Key"


def resource(type_: str, **inputs: Any) -> RecordedResource:
    urn = f"urn:pulumi:test::shop::{type_}::thing"
    return RecordedResource(urn=urn, type=type_, name="thing", parent=None, inputs=inputs, outputs=inputs)


def one(type_: str, **inputs: Any) -> Permission:
    found = permissions_of(resource(type_, **inputs))
    assert len(found) == 1
    return found[0]


def policy(**statement: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement}]})


def test_no_statement_of_a_stack_is_passed_over(platform: Recording) -> None:
    told = Counter(
        item.urn for item in permissions(platform) if item.kind != "data" and not item.managed_policy
    )
    assert told == Counter(carrier.urn for carrier, _ in statements(platform)), "a judge would never see some"


def test_every_data_policy_and_attachment_of_a_stack_is_told(platform: Recording) -> None:
    told = {item.urn for item in permissions(platform)}
    for type_ in (DATA_POLICY, *ATTACHMENTS):
        assert {item.urn for item in platform.of_type(type_)} <= told


def test_what_a_role_holds_is_the_roles() -> None:
    found = one(ROLE_POLICY, role="reader", policy=policy(Action="s3:GetObject", Resource=["a", "b"]))
    assert (found.kind, found.principals, found.effect) == ("identity", ("reader",), "Allow")
    assert (found.actions, found.resources) == (("s3:GetObject",), ("a", "b"))


def test_conditions_keep_operator_key_and_every_value() -> None:
    condition = {"StringLike": {"s3:prefix": ["raw/*", "models/*"]}}
    found = one(
        ROLE_POLICY, role="reader", policy=policy(Action="s3:ListBucket", Resource="a", Condition=condition)
    )
    assert found.conditions == (
        Condition(operator="StringLike", key="s3:prefix", values=("raw/*", "models/*")),
    )


@pytest.mark.parametrize(("key", "value"), [("NotAction", "s3:*"), ("NotResource", "arn")])
def test_a_statement_that_is_turned_round_says_so(key: str, value: str) -> None:
    found = one(ROLE_POLICY, role="reader", policy=policy(**{"Action": "a", "Resource": "b", key: value}))
    assert found.negated == (key,), "all that is not listed would look like nothing"


def test_who_may_take_a_role_is_no_permission_of_the_role() -> None:
    found = one(
        ROLE, assumeRolePolicy=policy(Principal={"Service": "lambda.amazonaws.com"}, Action="sts:AssumeRole")
    )
    assert (found.kind, found.principal) == ("trust", "lambda.amazonaws.com")


def test_anybody_is_told_in_both_spellings() -> None:
    for principal in ("*", {"AWS": "*"}):
        assert one(KEY, policy=policy(Principal=principal, Action="kms:*")).principals == ("*",)


def test_a_single_statement_needs_no_list() -> None:
    document = {"Statement": {"Effect": "Deny", "Principal": "*", "Action": "kms:*"}}
    assert one(KEY, policy=json.dumps(document)).effect == "Deny"


def test_a_role_may_carry_its_policies_itself() -> None:
    inline = {"policy": policy(Action="s3:*", Resource="*")}
    found = permissions_of(
        resource(ROLE, name="boss", inlinePolicies=[inline], managedPolicyArns=["arn:admin"])
    )
    assert [(item.principals, item.actions, item.managed_policy) for item in found] == [
        (("boss",), ("s3:*",), ""),
        (("boss",), (), "arn:admin"),
    ]


def test_an_attached_policy_of_aws_is_told_by_its_name() -> None:
    found = one(ATTACHMENTS[1], role="boss", policyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    assert (found.principals, found.managed_policy) == (
        ("boss",),
        "arn:aws:iam::aws:policy/AdministratorAccess",
    )


def test_who_may_call_a_function_is_told() -> None:
    found = one(
        LAMBDA_PERMISSION, principal="*", action="lambda:InvokeFunction", function="answer", sourceArn="arn:x"
    )
    assert (found.kind, found.principals, found.resources) == ("resource", ("*",), ("answer",))
    assert found.conditions[0].values == ("arn:x",)


def test_a_policy_that_only_aws_knows_is_not_taken_for_none() -> None:
    found = one(ROLE_POLICY, role="reader", policy=Unknown())
    assert (found.actions, found.principals) == (("(known after up)",), ())


def test_a_data_policy_gives_each_rule_to_its_principals() -> None:
    rules = [{"ResourceType": "index", "Resource": ["index/a/*"], "Permission": ["aoss:ReadDocument"]}]
    found = one(DATA_POLICY, policy=json.dumps([{"Principal": ["arn:reader"], "Rules": rules}]))
    assert (found.kind, found.principals, found.actions) == ("data", ("arn:reader",), ("aoss:ReadDocument",))


def test_what_a_user_or_a_group_holds_is_theirs() -> None:
    document = policy(Action="s3:GetObject", Resource="a")
    for key, kind in (
        ("user", "aws:iam/userPolicy:UserPolicy"),
        ("group", "aws:iam/groupPolicy:GroupPolicy"),
    ):
        found = one(kind, policy=document, **{key: "somebody"})
        assert (found.kind, found.principals) == ("identity", ("somebody",))
