"""Who may do what, told from the policies of a recording in one line per statement. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ops.capture.recording import RecordedResource, Recording, Secret, Unknown

# Where a type keeps its policy.
POLICIES = {
    "aws:ecr/repositoryPolicy:RepositoryPolicy": "policy",
    "aws:efs/fileSystemPolicy:FileSystemPolicy": "policy",
    "aws:iam/policy:Policy": "policy",
    "aws:iam/role:Role": "assumeRolePolicy",
    "aws:iam/rolePolicy:RolePolicy": "policy",
    "aws:kms/key:Key": "policy",
    "aws:s3/bucketPolicy:BucketPolicy": "policy",
    "aws:sns/topicPolicy:TopicPolicy": "policy",
    "aws:sqs/queuePolicy:QueuePolicy": "policy",
    "aws:ec2/vpcEndpoint:VpcEndpoint": "policy",
}
DATA_POLICY = "aws:opensearch/serverlessAccessPolicy:ServerlessAccessPolicy"
ROLE = "aws:iam/role:Role"
SHOWN_ACTIONS = 4
SHOWN_RESOURCES = 2


class Names:
    """What the program calls things that policies know by names and ARNs of AWS."""

    def __init__(self, recording: Recording) -> None:
        found = {
            (value, resource.name)
            for resource in recording.resources
            for value in (
                resource.outputs.get("arn"),
                resource.outputs.get("name") if resource.type == ROLE else None,
            )
            if isinstance(value, str)
        }
        self._names = dict(sorted(found))

    def of(self, text: str) -> str:
        """`text` with the longest known ARN at its start replaced; other ARNs without partition, region and account."""
        end = len(text)
        while end > 0:
            if text[:end] in self._names:
                return self._names[text[:end]] + text[end:]
            end = max(text.rfind(mark, 0, end) for mark in "/:")
        parts = text.split(":", 5)
        return f"{parts[2]}:{parts[5]}" if len(parts) == 6 and parts[0] == "arn" else text


def access_lines(resource: RecordedResource, names: Names) -> list[str]:
    """One line per statement of the resource's policy; nothing for a resource without one."""
    policy = _parsed(
        resource.inputs.get("policy" if resource.type == DATA_POLICY else POLICIES.get(resource.type, ""))
    )
    if policy is None or isinstance(policy, str):
        return [policy] if policy else []
    if resource.type == DATA_POLICY:
        return list(_data_lines(policy, names))
    holder = resource.inputs.get("role")
    return [_statement_line(item, _who(item, holder, names), names) for item in policy.get("Statement", ())]


def _parsed(policy: Any) -> Any:
    """A policy as a document, or the words for one that cannot be read here."""
    if isinstance(policy, Unknown | Secret):
        return str(policy)
    return json.loads(policy) if isinstance(policy, str) else policy


def _who(statement: Mapping[str, Any], holder: Any, names: Names) -> str:
    if holder is not None:
        return names.of(str(holder))
    principal = statement.get("Principal", "")
    values = list(principal.values()) if isinstance(principal, Mapping) else [principal]
    found = [names.of(name) for value in values for name in _listed(value)]
    return ", ".join("anybody" if name == "*" else name for name in found)


def _statement_line(statement: Mapping[str, Any], who: str, names: Names) -> str:
    verb = "may" if statement["Effect"] == "Allow" else "must not"
    line = f"{who} {verb} {_actions(_listed(statement.get('Action')))}"
    resources = [names.of(arn) for arn in _listed(statement.get("Resource"))]
    if resources:
        line += f" on {_first(resources, SHOWN_RESOURCES)}"
    conditions = [
        f"{key}={_first([names.of(text) for text in _listed(value)], 1)}"
        for test in statement.get("Condition", {}).values()
        for key, value in test.items()
    ]
    return f"{line} if {', '.join(conditions)}" if conditions else line


def _data_lines(policy: Any, names: Names) -> Iterator[str]:
    """An OpenSearch Serverless data policy is a list of rules with principals."""
    for item in policy:
        who = ", ".join(names.of(str(arn)) for arn in item.get("Principal", ()))
        for rule in item.get("Rules", ()):
            resources = _first(_listed(rule.get("Resource")), SHOWN_RESOURCES)
            yield f"{who} may {_actions(_listed(rule.get('Permission')))} on {resources}"


def _actions(actions: list[str]) -> str:
    """Actions, each service named once."""
    shown: list[str] = []
    service = ""
    for action in actions:
        prefix, _, verb = action.rpartition(":")
        shown.append(verb if prefix == service else action)
        service = prefix
    return _first(shown, SHOWN_ACTIONS)


def _listed(value: Any) -> list[str]:
    """IAM writes one value bare and several as a list."""
    if value is None:
        return []
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def _first(items: list[str], count: int) -> str:
    rest = len(items) - count
    return ", ".join(items[:count]) + (f" and {rest} more" if rest > 0 else "")
