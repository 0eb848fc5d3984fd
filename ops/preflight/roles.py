"""Whether the roles exist through which AWS services act for an account: most make their own on first use."""

from collections.abc import Iterator
from dataclasses import dataclass

from ops.aws_calls import error_code
from ops.preflight.account import Account
from ops.preflight.checks import Check
from ops.preflight.findings import Finding, Status, judged
from ops.preflight.nodes import COMPUTE_ENVIRONMENT, GROUP, all_nodes
from ops.preflight.stack import Stack


@dataclass(frozen=True, kw_only=True)
class LinkedRole:
    """A service-linked role, and the resource types that need it."""

    name: str
    service: str
    types: tuple[str, ...]


# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_aws-services-that-work-with-iam.html leads to the page of
# each service: name, principal, and that the service makes the role by itself for a caller who may
# iam:CreateServiceLinkedRole.
MADE_BY_SERVICE = (
    LinkedRole(name="AWSServiceRoleForAutoScaling", service="autoscaling.amazonaws.com", types=(GROUP,)),
    LinkedRole(name="AWSServiceRoleForBatch", service="batch.amazonaws.com", types=(COMPUTE_ENVIRONMENT,)),
    LinkedRole(name="AWSServiceRoleForECS", service="ecs.amazonaws.com", types=("aws:ecs/cluster:Cluster",)),
    LinkedRole(
        name="AWSServiceRoleForApplicationAutoScaling_ECSService",
        service="ecs.application-autoscaling.amazonaws.com",
        types=("aws:appautoscaling/target:Target",),
    ),
    LinkedRole(
        name="AWSServiceRoleForElasticLoadBalancing",
        service="elasticloadbalancing.amazonaws.com",
        types=("aws:lb/loadBalancer:LoadBalancer",),
    ),
    LinkedRole(
        name="AWSServiceRoleForAmazonElasticFileSystem",
        service="elasticfilesystem.amazonaws.com",
        types=("aws:efs/mountTarget:MountTarget",),
    ),
    LinkedRole(
        name="AWSServiceRoleForAmazonOpenSearchServerless",
        service="observability.aoss.amazonaws.com",
        types=("aws:opensearch/serverlessCollection:ServerlessCollection",),
    ),
)
# "You must first ensure that this role exists" where spot is asked for by a call rather than in the console.
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html
SPOT = LinkedRole(name="AWSServiceRoleForEC2Spot", service="spot.amazonaws.com", types=())


def checks(stack: Stack) -> list[Check]:
    """One check for each role; spot's only where nodes may run on spot."""
    types = {resource.type for resource in stack.recording.resources}
    needed = [role for role in MADE_BY_SERVICE if types.intersection(role.types)]
    on_spot = any(demand.spot for nodes in all_nodes(stack) for demand in nodes.demands())
    return [_check(stack, role) for role in [*([SPOT] if on_spot else []), *needed]]


def _check(stack: Stack, role: LinkedRole) -> Check:
    what = f"service-linked role {role.name}"

    def ask(account: Account) -> Iterator[Finding]:
        exists = _exists(account, role.name)
        detail = f"{role.service} makes it by itself where the caller may iam:CreateServiceLinkedRole."
        if role is SPOT:
            detail = "It must be there before nodes ask for spot capacity."
        yield judged(
            exists,
            what,
            needed="the role",
            found="there" if exists else "none",
            detail="" if exists else detail,
            fix=account.command(f"iam create-service-linked-role --aws-service-name {role.service}"),
            otherwise=Status.FAILED if role is SPOT else Status.WARNING,
        )

    arn = f"arn:{stack.partition}:iam::*:role/aws-service-role/*"
    return Check(what=what, ask=ask, actions=("iam:GetRole",), resources=(arn,))


def _exists(account: Account, name: str) -> bool:
    from botocore.exceptions import ClientError

    try:
        account.client("iam").get_role(RoleName=name)
    except ClientError as error:
        if error_code(error).startswith("NoSuchEntity"):
            return False
        raise
    return True
