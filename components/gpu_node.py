"""What every GPU node has, in a fleet and in training: a role, a security group and a launch template."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.aws_account import AwsAccount
from components.iam import allow, trust_policy

# There is no key pair and no open port: people reach a node through Session Manager.
# https://docs.aws.amazon.com/systems-manager/latest/userguide/setup-instance-permissions.html
SESSION_MANAGER_POLICY = "AmazonSSMManagedInstanceCore"

# What the ECS agent calls, less narrow only where AWS allows nothing narrower: AWS CDK narrows the managed policy
# AmazonEC2ContainerServiceforEC2Role in the same way (aws-cdk, aws-ecs/lib/cluster.ts).
# https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelasticcontainerservice.html
AGENT_CLUSTER_ACTIONS = (
    "ecs:DeregisterContainerInstance",
    "ecs:RegisterContainerInstance",
    "ecs:SubmitAttachmentStateChanges",
    "ecs:SubmitContainerStateChange",
    "ecs:SubmitTaskStateChange",
)
AGENT_INSTANCE_ACTIONS = ("ecs:Poll", "ecs:StartTelemetrySession", "ecs:UpdateContainerInstancesState")
AGENT_GLOBAL_ACTIONS = ("ecs:DiscoverPollEndpoint",)

# Containers in a bridge network are one hop further from the metadata service.
METADATA_HOP_LIMIT = 2
NetworkInterface = aws.ec2.LaunchTemplateNetworkInterfaceArgsDict
TAGGED_RESOURCES = ("instance", "volume", "network-interface")


@dataclass(frozen=True, kw_only=True)
class NodeTemplateArgs:
    """`user_data` is plain text. AWS Batch sets image and profile itself, so that both are optional."""

    root_device: str
    volume_size_gib: int
    user_data: pulumi.Input[str]
    network_interfaces: Sequence[NetworkInterface]
    tags: Mapping[str, str]
    image_id: pulumi.Input[str] | None = None
    instance_profile_arn: pulumi.Input[str] | None = None
    instance_type: str | None = None
    capacity_block_reservation_id: str = ""


def node_role(name: str, account: AwsAccount, parent: pulumi.Resource) -> aws.iam.Role:
    """A role for EC2 instances that can be reached through Session Manager."""
    child = pulumi.ResourceOptions(parent=parent)
    role = aws.iam.Role(name, assume_role_policy=trust_policy("ec2.amazonaws.com"), opts=child)
    aws.iam.RolePolicyAttachment(
        f"{name}-session-manager",
        role=role.name,
        policy_arn=f"arn:{account.partition}:iam::aws:policy/{SESSION_MANAGER_POLICY}",
        opts=child,
    )
    return role


def agent_statements(cluster_arns: Sequence[pulumi.Input[str]]) -> list[dict[str, Any]]:
    """What a node needs to serve these ECS clusters and no other."""
    return [
        allow(AGENT_CLUSTER_ACTIONS, cluster_arns),
        # The ARN of a container instance is unknown before the node registers.
        allow(AGENT_INSTANCE_ACTIONS, ["*"], {"ArnEquals": {"ecs:cluster": list(cluster_arns)}}),
        allow(AGENT_GLOBAL_ACTIONS, ["*"]),
    ]


def node_security_group(
    name: str, description: str, vpc_id: pulumi.Input[str], parent: pulumi.Resource
) -> aws.ec2.SecurityGroup:
    """A security group that nobody can connect to, and from which nodes reach everything."""
    child = pulumi.ResourceOptions(parent=parent)
    group = aws.ec2.SecurityGroup(name, description=description, vpc_id=vpc_id, opts=child)
    aws.vpc.SecurityGroupEgressRule(
        f"{name}-out",
        security_group_id=group.id,
        description="Package archives, container registries, model hubs and AWS have no fixed addresses",
        ip_protocol="-1",
        cidr_ipv4="0.0.0.0/0",
        opts=child,
    )
    return group


def primary_interface(security_group_id: pulumi.Input[str], *, public: bool) -> NetworkInterface:
    """The only network interface of a node, with a public address where there is no other way out."""
    return {
        "device_index": 0,
        "associate_public_ip_address": "true" if public else "false",
        "security_groups": [security_group_id],
        "delete_on_termination": "true",
    }


def node_launch_template(
    name: str, args: NodeTemplateArgs, opts: pulumi.ResourceOptions
) -> aws.ec2.LaunchTemplate:
    """Metadata by session token only, an encrypted root disk, no key pair; a spot market never stands in it."""
    disk: aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgsDict = {
        "volume_type": "gp3",
        "volume_size": args.volume_size_gib,
        "encrypted": "true",
        "delete_on_termination": "true",
    }
    block, profile = args.capacity_block_reservation_id, args.instance_profile_arn
    return aws.ec2.LaunchTemplate(
        name,
        image_id=args.image_id,
        instance_type=args.instance_type,
        iam_instance_profile={"arn": profile} if profile else None,
        user_data=pulumi.Output.from_input(args.user_data).apply(encoded),
        block_device_mappings=[{"device_name": args.root_device, "ebs": disk}],
        network_interfaces=list(args.network_interfaces),
        metadata_options={
            "http_endpoint": "enabled",
            "http_tokens": "required",
            "http_put_response_hop_limit": METADATA_HOP_LIMIT,
        },
        # A node whose boot script fails shuts itself down; a stopped one would keep its disks, and their price.
        instance_initiated_shutdown_behavior="terminate",
        instance_market_options={"market_type": "capacity-block"} if block else None,
        capacity_reservation_specification={"capacity_reservation_target": {"capacity_reservation_id": block}}
        if block
        else None,
        # The provider's default tags stay on the template: what is launched from it takes these.
        tag_specifications=[
            {"resource_type": resource_type, "tags": args.tags} for resource_type in TAGGED_RESOURCES
        ],
        opts=opts,
    )


def latest_version(template: aws.ec2.LaunchTemplate) -> pulumi.Output[str]:
    """The version as text: a group that names it by number changes whenever the template does."""
    return template.latest_version.apply(str)


def encoded(user_data: str) -> str:
    """User data as the EC2 API takes it."""
    return base64.b64encode(user_data.encode()).decode()
