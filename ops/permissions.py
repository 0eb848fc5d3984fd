"""Who may do what: every statement of every access document in a recording, in one shape. Pure."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ops.capture.recording import RecordedResource, Recording, Secret, Unknown

ROLE = "aws:iam/role:Role"
ATTACHMENTS = (
    "aws:iam/groupPolicyAttachment:GroupPolicyAttachment",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    "aws:iam/userPolicyAttachment:UserPolicyAttachment",
)
LAMBDA_PERMISSION = "aws:lambda/permission:Permission"
DATA_POLICY = "aws:opensearch/serverlessAccessPolicy:ServerlessAccessPolicy"
# Where a type keeps its policy; that of some can stand in the resource or beside it.
POLICIES = {
    "aws:ec2/vpcEndpoint:VpcEndpoint": "policy",
    "aws:ecr/repositoryPolicy:RepositoryPolicy": "policy",
    "aws:efs/fileSystemPolicy:FileSystemPolicy": "policy",
    "aws:iam/groupPolicy:GroupPolicy": "policy",
    "aws:iam/policy:Policy": "policy",
    ROLE: "assumeRolePolicy",
    "aws:iam/rolePolicy:RolePolicy": "policy",
    "aws:iam/userPolicy:UserPolicy": "policy",
    "aws:kms/key:Key": "policy",
    "aws:kms/keyPolicy:KeyPolicy": "policy",
    "aws:s3/bucket:Bucket": "policy",
    "aws:s3/bucketPolicy:BucketPolicy": "policy",
    "aws:secretsmanager/secretPolicy:SecretPolicy": "policy",
    "aws:sns/topic:Topic": "policy",
    "aws:sns/topicPolicy:TopicPolicy": "policy",
    "aws:sqs/queue:Queue": "policy",
    "aws:sqs/queuePolicy:QueuePolicy": "policy",
}
IDENTITY_POLICIES = (
    "aws:iam/groupPolicy:GroupPolicy",
    "aws:iam/policy:Policy",
    "aws:iam/rolePolicy:RolePolicy",
    "aws:iam/userPolicy:UserPolicy",
)

Kind = Literal["identity", "trust", "resource", "data"]


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One line of a statement's `Condition`, such as `StringLike`, `s3:prefix`, `("raw/*",)`."""

    operator: str
    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Permission:
    """One statement of one document; names and ARNs are AWS's, `ops.preview_access.Names` gives the program's.

    `kind` is `identity` for what a role (a user, a group) holds, `trust` for who may take a role, `resource` for the policy of a thing,
    `data` for a data policy of OpenSearch Serverless. `principals` are the role's name, or what the statement says.
    `negated` names what the statement turns round (`NotAction` and its like): its values then are what it leaves out.
    A policy that cannot be read here has these words as its one action and no principal. `managed_policy` is a policy of AWS, whose actions
    are not in the recording; then there are none here.
    """

    kind: Kind
    principals: tuple[str, ...]
    effect: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()
    negated: tuple[str, ...] = ()
    managed_policy: str = ""
    urn: str

    @property
    def principal(self) -> str:
        """All principals in one text."""
        return ", ".join(self.principals)


def permissions(recording: Recording) -> list[Permission]:
    """Every permission of a recording, in its order."""
    return [item for resource in recording.resources for item in permissions_of(resource)]


def permissions_of(resource: RecordedResource) -> list[Permission]:
    """What the documents of one resource say, a statement each; nothing for a resource without one."""
    return [*_documents(resource), *_attached(resource), *_invoked(resource)]


def listed(value: Any) -> tuple[str, ...]:
    """IAM writes one value bare and several as a list."""
    if value is None:
        return ()
    return tuple(str(item) for item in value) if isinstance(value, list | tuple) else (str(value),)


def _documents(resource: RecordedResource) -> Iterator[Permission]:
    is_data = resource.type == DATA_POLICY
    policy = resource.inputs.get("policy" if is_data else POLICIES.get(resource.type, ""))
    kind = _kind(resource.type)
    holder = _holder(resource)
    yield from _policy(policy, kind, holder, resource.urn)
    if resource.type == ROLE:
        for item in resource.inputs.get("inlinePolicies") or ():
            yield from _policy(item.get("policy"), "identity", _name_of(resource), resource.urn)


def _policy(policy: Any, kind: Kind, holder: tuple[str, ...], urn: str) -> Iterator[Permission]:
    if policy is None or policy == "":
        return
    if isinstance(policy, Unknown | Secret):
        yield Permission(
            kind=kind, principals=(), effect="Allow", actions=(str(policy),), resources=(), urn=urn
        )
        return
    document = json.loads(policy) if isinstance(policy, str) else policy
    if kind == "data":
        yield from _data(document, urn)
        return
    statements = document.get("Statement", ())
    for statement in [statements] if isinstance(statements, Mapping) else statements:
        yield _statement(statement, kind, holder, urn)


def _statement(statement: Mapping[str, Any], kind: Kind, holder: tuple[str, ...], urn: str) -> Permission:
    negated = tuple(key for key in ("NotPrincipal", "NotAction", "NotResource") if key in statement)
    return Permission(
        kind=kind,
        principals=holder or _principals(statement),
        effect=statement["Effect"],
        actions=listed(statement.get("Action", statement.get("NotAction"))),
        resources=listed(statement.get("Resource", statement.get("NotResource"))),
        conditions=tuple(
            Condition(operator=operator, key=key, values=listed(values))
            for operator, tests in (statement.get("Condition") or {}).items()
            for key, values in tests.items()
        ),
        negated=negated,
        urn=urn,
    )


def _principals(statement: Mapping[str, Any]) -> tuple[str, ...]:
    principal = statement.get("Principal", statement.get("NotPrincipal"))
    values = list(principal.values()) if isinstance(principal, Mapping) else [principal]
    return tuple(name for value in values for name in listed(value))


def _data(policy: Any, urn: str) -> Iterator[Permission]:
    """A data policy of OpenSearch Serverless is a list of rules with principals."""
    for item in policy:
        for rule in item.get("Rules", ()):
            yield Permission(
                kind="data",
                principals=listed(item.get("Principal")),
                effect="Allow",
                actions=listed(rule.get("Permission")),
                resources=listed(rule.get("Resource")),
                urn=urn,
            )


def _attached(resource: RecordedResource) -> Iterator[Permission]:
    """Managed policies, which a role has by attachment or lists itself."""
    if resource.type in ATTACHMENTS:
        arns, holder = listed(resource.inputs.get("policyArn")), _holder(resource)
    elif resource.type == ROLE:
        arns, holder = listed(resource.inputs.get("managedPolicyArns")), _name_of(resource)
    else:
        return
    for arn in arns:
        yield Permission(
            kind="identity", principals=holder, effect="Allow", actions=(), resources=(), managed_policy=arn,
            urn=resource.urn,
        )  # fmt: skip


def _invoked(resource: RecordedResource) -> Iterator[Permission]:
    """Who may call a function, which AWS writes into the function's policy."""
    if resource.type != LAMBDA_PERMISSION:
        return
    source = listed(resource.inputs.get("sourceArn"))
    yield Permission(
        kind="resource",
        principals=listed(resource.inputs.get("principal")),
        effect="Allow",
        actions=listed(resource.inputs.get("action")),
        resources=listed(resource.inputs.get("function")),
        conditions=(Condition(operator="ArnLike", key="AWS:SourceArn", values=source),) if source else (),
        urn=resource.urn,
    )


def _holder(resource: RecordedResource) -> tuple[str, ...]:
    """The role that a policy is given to; where people still use them, the user or the group."""
    return next(
        (listed(resource.inputs[key]) for key in ("role", "user", "group") if key in resource.inputs), ()
    )


def _kind(type_token: str) -> Kind:
    if type_token == DATA_POLICY:
        return "data"
    if type_token == ROLE:
        return "trust"
    return "identity" if type_token in IDENTITY_POLICIES else "resource"


def _name_of(role: RecordedResource) -> tuple[str, ...]:
    return listed(role.outputs.get("name") or role.name)
