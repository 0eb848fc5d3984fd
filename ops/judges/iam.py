"""Judges every access document of a recording by AWS's own list: actions exist, resources and conditions fit them. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ops.capture.recording import Recording
from ops.judges.findings import Finding, of_resource
from ops.judges.iam_data import Action, actions_matching, fits, key_is_known
from ops.permissions import Permission, permissions

JUDGE = "iam"
ANY = "*"
# What a data policy may grant, besides `aoss:*`, and on what.
# https://docs.aws.amazon.com/opensearch-service/latest/developerguide/serverless-data-access.html.
DATA_ACTIONS = {
    "collection/": ("CreateCollectionItems", "DeleteCollectionItems", "DescribeCollectionItems", "UpdateCollectionItems"),
    "index/": ("CreateIndex", "DeleteIndex", "DescribeIndex", "ReadDocument", "UpdateIndex", "WriteDocument"),
    "model/": ("CreateMLResource", "DeleteMLResource", "DescribeMLResource", "ExecuteMLResource", "UpdateMLResource"),
}  # fmt: skip
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
OPERATOR = re.compile(
    r"((ForAllValues|ForAnyValue):)?"
    r"(String(Not)?(Equals|EqualsIgnoreCase|Like)|(Numeric|Date)(Not)?Equals|(Numeric|Date)(Less|Greater)Than(Equals)?"
    r"|Bool|BinaryEquals|(Not)?IpAddress|Arn(Not)?(Equals|Like)|Null)(IfExists)?"
)
# The characters of all inline policies of a role together, white space left out.
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
INLINE_LIMIT = 10_240
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"


@dataclass(frozen=True)
class _Fault:
    rule: str
    message: str


def iam_findings(recording: Recording) -> list[Finding]:
    """Everything that AWS would refuse, ignore or could narrow in the access documents."""
    by_urn = {resource.urn: resource for resource in recording.resources}
    found = [
        of_resource(JUDGE, fault.rule, by_urn[permission.urn], fault.message)
        for permission in permissions(recording)
        for fault in _faults(permission)
    ]
    return [*found, *_too_long(recording)]


def _faults(permission: Permission) -> Iterator[_Fault]:
    if permission.managed_policy:
        return
    if permission.kind == "data":
        yield from _data_faults(permission)
        return
    for key in permission.negated if permission.effect == "Allow" else ():
        yield _Fault("negated", f"{key} allows all that it does not list. Fix: list what is needed.")
    known: list[Action] = []
    for name in permission.actions:
        matching = () if name == ANY else actions_matching(name)
        if not matching and name != ANY:
            yield _Fault("unknown-action", f"AWS knows no action {name}, so this grants nothing.")
        known += matching
    if permission.kind != "trust" and "NotResource" not in permission.negated:
        yield from _resource_faults(permission, known)
    yield from _condition_faults(permission, known)


def _resource_faults(permission: Permission, known: Sequence[Action]) -> Iterator[_Fault]:
    if ANY in permission.resources:
        # In the policy of a thing, such as a key, `*` is the thing itself.
        yield from _avoidable(known) if permission.kind == "identity" and permission.effect == "Allow" else ()
        return
    # A wildcard names actions that the resource has nothing to do with.
    named = [action for action in known if f":{ANY}" not in "".join(permission.actions)]
    for action in named:
        yield from _action_faults(action, permission.resources)
    for arn in permission.resources:
        if known and not any(_fits(arn, action) for action in known):
            yield _Fault("useless-resource", f"none of {', '.join(permission.actions)} works on {arn}.")


def _avoidable(known: Sequence[Action]) -> Iterator[_Fault]:
    """Each in a rule of its own: whoever accepts one accepts no other beside it."""
    for action in known:
        if action.patterns:
            kinds = ", ".join(action.patterns)
            yield _Fault(
                f"avoidable-wildcard {action.name}",
                f"{action.name} may be done to any {kinds}, and could be kept to named ones.",
            )


def _action_faults(action: Action, resources: Sequence[str]) -> Iterator[_Fault]:
    if not action.patterns:
        yield _Fault("needs-any", f"{action.name} supports no resource, so it must be granted on *.")
        return
    if not any(_fits(arn, action) for arn in resources):
        kinds = ", ".join(action.patterns)
        yield _Fault("wrong-resource", f"{action.name} works on {kinds}, of which none is listed.")


def _condition_faults(permission: Permission, known: Sequence[Action]) -> Iterator[_Fault]:
    for condition in permission.conditions:
        if not OPERATOR.fullmatch(condition.operator):
            yield _Fault("unknown-operator", f"AWS knows no condition {condition.operator}.")
        blind = sorted(action.name for action in known if not key_is_known(condition.key, action))
        if blind and len(blind) == len(known):
            yield _Fault(
                "unknown-condition-key",
                f"no request for {', '.join(permission.actions)} carries {condition.key}.",
            )


def _data_faults(permission: Permission) -> Iterator[_Fault]:
    for arn in permission.resources:
        kind = arn.partition("/")[0] + "/"
        allowed = {f"aoss:{name}" for name in DATA_ACTIONS.get(kind, ())} | {"aoss:*"}
        for action in permission.actions:
            if action not in allowed:
                yield _Fault("unknown-data-permission", f"a data policy knows no {action} on {arn}.")


def _fits(arn: str, action: Action) -> bool:
    return any(fits(arn, pattern) for pattern in action.patterns.values())


def _too_long(recording: Recording) -> Iterator[Finding]:
    """IAM counts what all inline policies of a role take together."""
    lengths: dict[str, int] = {}
    for policy in recording.of_type(ROLE_POLICY):
        role = str(policy.inputs.get("role"))
        lengths[role] = lengths.get(role, 0) + len("".join(str(policy.inputs.get("policy")).split()))
    for role, length in sorted(lengths.items()):
        if length > INLINE_LIMIT:
            message = f"its inline policies take {length} characters together; IAM allows {INLINE_LIMIT}."
            yield Finding(judge=JUDGE, rule="too-long", subject=role, message=message, stack=recording.stack)
