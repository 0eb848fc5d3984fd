"""What AWS refuses and a program can get wrong: a physical name taken twice, and a deletion out of order."""

from collections.abc import Iterator
from typing import Any

from tests.engine.stub.account import Account, Existing
from tests.engine.stub.naming import BUCKET
from tests.engine.stub.wire import Values

CAPACITY_PROVIDER = "aws:ecs/capacityProvider:CapacityProvider"
CLUSTER = "aws:ecs/cluster:Cluster"
CLUSTER_CAPACITY = "aws:ecs/clusterCapacityProviders:ClusterCapacityProviders"
INSTANCE_PROFILE = "aws:iam/instanceProfile:InstanceProfile"
MOUNT_TARGET = "aws:efs/mountTarget:MountTarget"
ROLE = "aws:iam/role:Role"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
ROLE_POLICY_ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
SERVICE = "aws:ecs/service:Service"
SUBNET = "aws:ec2/subnet:Subnet"

# The properties that must differ between two resources of a type in one account and region.
UNIQUE: dict[str, tuple[str, ...]] = {
    "aws:autoscaling/group:Group": ("name",),
    "aws:batch/computeEnvironment:ComputeEnvironment": ("name",),
    "aws:batch/jobQueue:JobQueue": ("name",),
    "aws:budgets/budget:Budget": ("name",),
    "aws:cloudwatch/logGroup:LogGroup": ("name",),
    "aws:cloudwatch/metricAlarm:MetricAlarm": ("name",),
    "aws:ec2/launchTemplate:LaunchTemplate": ("name",),
    "aws:ec2/placementGroup:PlacementGroup": ("name",),
    "aws:ec2/securityGroup:SecurityGroup": ("vpcId", "name"),
    "aws:ecr/repository:Repository": ("name",),
    CAPACITY_PROVIDER: ("name",),
    CLUSTER: ("name",),
    SERVICE: ("cluster", "name"),
    # One mount target in each zone; the stub has one subnet a zone, so the subnet stands for it.
    MOUNT_TARGET: ("fileSystemId", "subnetId"),
    INSTANCE_PROFILE: ("name",),
    ROLE: ("name",),
    "aws:lambda/function:Function": ("name",),
    "aws:lb/loadBalancer:LoadBalancer": ("name",),
    "aws:lb/targetGroup:TargetGroup": ("name",),
    "aws:opensearch/serverlessAccessPolicy:ServerlessAccessPolicy": ("type", "name"),
    "aws:opensearch/serverlessCollection:ServerlessCollection": ("name",),
    "aws:opensearch/serverlessCollectionGroup:ServerlessCollectionGroup": ("name",),
    "aws:opensearch/serverlessSecurityPolicy:ServerlessSecurityPolicy": ("type", "name"),
    "aws:opensearch/serverlessVpcEndpoint:ServerlessVpcEndpoint": ("name",),
    BUCKET: ("bucket",),
    "aws:sfn/stateMachine:StateMachine": ("name",),
    "aws:sns/topic:Topic": ("name",),
    "aws:sqs/queue:Queue": ("name",),
}

# What must be gone before a resource of a type can be: (type that holds it, property by which it does).
HELD_BY: dict[str, tuple[tuple[str, str], ...]] = {
    SUBNET: ((MOUNT_TARGET, "subnetId"),),
    ROLE: ((ROLE_POLICY, "role"), (ROLE_POLICY_ATTACHMENT, "role"), (INSTANCE_PROFILE, "role")),
    CLUSTER: ((SERVICE, "cluster"), (CLUSTER_CAPACITY, "clusterName")),
    # Its providers cannot be taken from a cluster whose services use them.
    CLUSTER_CAPACITY: ((SERVICE, "cluster"),),
    CAPACITY_PROVIDER: ((CLUSTER_CAPACITY, "capacityProviders"),),
}


class RefusedError(Exception):
    """AWS refuses the call; the message says what stands in the way."""


def refuse_taken_name(account: Account, type_token: str, inputs: Values) -> None:
    """Raises RefusedError when another resource of the type has the physical name already."""
    keys = UNIQUE.get(type_token, ())
    wanted = [inputs.get(key) for key in keys]
    for other in account.of_type(type_token) if any(wanted) else ():
        if [other.outputs.get(key) for key in keys] == wanted:
            raise RefusedError(f"AlreadyExists: {type_token} {wanted[-1]} is there already, as {other.name}")


def refuse_deletion_out_of_order(account: Account, resource: Existing) -> None:
    """Raises RefusedError while something else holds the resource, or objects are in a bucket."""
    if resource.objects and not resource.inputs.get("forceDestroy"):
        raise RefusedError(f"BucketNotEmpty: {resource.name} holds {len(resource.objects)} objects")
    for holder in _holders(account, resource):
        raise RefusedError(f"DependencyViolation: {resource.name} is in use by {holder.type} {holder.name}")


def _holders(account: Account, resource: Existing) -> Iterator[Existing]:
    own = {
        _last(value) for value in (resource.id, *map(resource.outputs.get, ("arn", "name", "clusterName")))
    }
    for holding_type, key in HELD_BY.get(resource.type, ()):
        for holder in account.of_type(holding_type):
            if own & {_last(value) for value in _as_list(holder.outputs.get(key))}:
                yield holder


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _last(value: Any) -> str:
    """The name at the end of an ARN; a name is its own end. Nothing is equal to nothing."""
    return str(value).rpartition("/")[2] if value else str(id(value))
