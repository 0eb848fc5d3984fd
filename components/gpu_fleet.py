"""One fleet of GPU nodes: an Auto Scaling group over several instance types, with spot in its distribution only."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws_account import AwsAccount
from components.config_gpu_rules import BOOT_SCRIPTS
from components.config_gpu_sections import GpuFleetConfig, MachineImages
from components.gpu_group import (
    LIFECYCLE_HOOK_NAME,
    instance_refresh,
    launch_hook,
    mixed_instances,
    node_tags,
)
from components.gpu_node import (
    NodeTemplateArgs,
    agent_statements,
    latest_version,
    node_launch_template,
    node_role,
    node_security_group,
    primary_interface,
)
from components.iam import allow, grant
from components.machine_images import ROOT_DEVICES, image_changes_ignored, image_id
from components.network import Network
from components.node_agent import node_log_group_name
from components.shared_files import SharedFiles
from components.user_data import render_user_data

COMPLETE_LAUNCH_ACTIONS = ("autoscaling:CompleteLifecycleAction",)
END_NODE_ACTIONS = ("autoscaling:TerminateInstanceInAutoScalingGroup",)

HEALTH_CHECK_GRACE_SECONDS = 300
# ECS would scale the group out and never in again without this tag, and adds it by itself only to later instances.
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/asg-capacity-providers.html
ECS_MANAGED_TAG = {"AmazonECSManaged": "true"}


@dataclass(frozen=True, kw_only=True)
class GpuFleetArgs:
    config: GpuFleetConfig
    account: AwsAccount
    network: Network
    shared_files: SharedFiles
    cluster_name: str
    machine_images: MachineImages
    tags: Mapping[str, str]
    node_metrics: bool
    log_retention_days: int


class GpuFleet(pulumi.ComponentResource):
    """Nodes that nobody can connect to from outside, with encrypted disks; `role` is what they may do.

    How many run is decided outside: by ECS for the ECS images, whose fleet is a capacity provider, else by a person.
    A `dlami` node goes into service only after its boot script has mounted the shared files, which `role` must be
    granted. Nodes that run are replaced by an instance refresh only.
    """

    config: GpuFleetConfig
    role: aws.iam.Role
    security_group_id: pulumi.Output[str]
    group_name: pulumi.Output[str]
    capacity_provider_name: pulumi.Output[str] | None

    def __init__(self, name: str, args: GpuFleetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:GpuFleet", name, None, opts)
        self._args = args
        self.config = args.config
        # People set the size of a fleet by this name, and the boot script must know it before the group exists.
        self._typed_name = f"{args.cluster_name}-{args.config.name}"
        self._tags = node_tags(args.config, args.tags, self._typed_name)

        self.role = node_role(f"{name}-node", args.account, self)
        self.security_group_id = node_security_group(
            f"{name}-nodes", f"Nodes of the GPU fleet {args.config.name}", args.network.vpc_id, self
        ).id
        self._log_group_name = node_log_group_name(
            f"{name}-node-logs",
            self.role,
            wanted=args.node_metrics,
            retention_days=args.log_retention_days,
            parent=self,
        )
        group = self._group(self._launch_template())
        self.group_name = group.name
        self.capacity_provider_name = (
            self._capacity_provider(group).name if args.config.joins_cluster else None
        )
        self.register_outputs(
            {"group_name": self.group_name, "capacity_provider_name": self.capacity_provider_name}
        )

    def _launch_template(self) -> aws.ec2.LaunchTemplate:
        args, config, name = self._args, self._args.config, self.pulumi_resource_name
        profile = aws.iam.InstanceProfile(
            f"{name}-profile", role=self.role.name, opts=pulumi.ResourceOptions(parent=self)
        )
        block = config.capacity_block_reservation_id
        template = NodeTemplateArgs(
            root_device=ROOT_DEVICES[config.node_image],
            volume_size_gib=config.volume_size_gib,
            user_data=self._user_data(),
            network_interfaces=[
                primary_interface(self.security_group_id, public=not args.network.places_privately)
            ],
            tags=self._tags,
            image_id=image_id(config.node_image, args.machine_images, self),
            instance_profile_arn=profile.arn,
            instance_type=config.instance_types[0] if block else None,
            capacity_block_reservation_id=block,
        )
        ignored = image_changes_ignored(config.node_image, args.machine_images, "imageId")
        return node_launch_template(
            f"{name}-template", template, pulumi.ResourceOptions(parent=self, ignore_changes=ignored)
        )

    def _user_data(self) -> pulumi.Input[str]:
        config = self._args.config
        script = BOOT_SCRIPTS[config.node_image]
        values = self._ecs_values() if config.joins_cluster else self._interactive_values()
        return pulumi.Output.all(**values, FLEET=self._typed_name, NODE_LOG_GROUP=self._log_group_name).apply(
            lambda known: render_user_data(script, known, config.extra_boot_script)
        )

    def _ecs_values(self) -> dict[str, pulumi.Input[str]]:
        # Neuron devices are files that a task maps: their driver is all that the image has for them.
        gpu = "true" if self._args.config.node_image == "ecs-gpu" else "false"
        return {"ECS_CLUSTER": self._args.cluster_name, "ECS_ENABLE_GPU_SUPPORT": gpu}

    def _interactive_values(self) -> dict[str, pulumi.Input[str]]:
        args, config = self._args, self._args.config
        points = args.shared_files.access_points
        return dict(
            AWS_REGION=args.account.region,
            FILE_SYSTEM_ID=args.shared_files.file_system_id,
            DATASETS_ACCESS_POINT_ID=points["datasets"].id,
            CHECKPOINTS_ACCESS_POINT_ID=points["checkpoints"].id,
            CACHE_ACCESS_POINT_ID=points["cache"].id,
            CHECKPOINT_FOLDER=config.checkpoint_path,
            AUTO_SCALING_GROUP_NAME=self._typed_name,
            LIFECYCLE_HOOK_NAME=LIFECYCLE_HOOK_NAME,
            IDLE_MINUTES=str(config.idle_minutes),
            MAXIMUM_LIFE_HOURS=str(config.maximum_life_hours),
        )

    def _group(self, template: aws.ec2.LaunchTemplate) -> aws.autoscaling.Group:
        args, config = self._args, self._args.config
        version = latest_version(template)
        block = config.capacity_block_reservation_id
        tags = {**self._tags, **(ECS_MANAGED_TAG if config.joins_cluster else {})}
        return aws.autoscaling.Group(
            f"{self.pulumi_resource_name}-group",
            name=self._typed_name,
            min_size=config.minimum,
            max_size=config.maximum,
            vpc_zone_identifiers=args.network.workload_subnet_ids,
            # A Capacity Block knows neither spot nor a choice of types, and AWS refuses a mixed group for it.
            launch_template={"id": template.id, "version": version} if block else None,
            mixed_instances_policy=None if block else mixed_instances(config, template.id, version),
            capacity_rebalance=config.capacity_rebalancing,
            instance_refresh=instance_refresh(config) if config.instance_refresh else None,
            health_check_type="EC2",
            health_check_grace_period=HEALTH_CHECK_GRACE_SECONDS,
            # Spot capacity may take hours to come, which is no reason to fail a deployment.
            wait_for_capacity_timeout="0",
            protect_from_scale_in=config.joins_cluster,
            # Evening out the zones would end a node in the middle of its work.
            suspended_processes=["AZRebalance"],
            # Declared with the group, so that the hook holds the very first nodes too.
            initial_lifecycle_hooks=None if config.joins_cluster else [launch_hook()],
            tags=[{"key": key, "value": value, "propagate_at_launch": True} for key, value in tags.items()],
            opts=pulumi.ResourceOptions(
                parent=self, ignore_changes=["desiredCapacity"], depends_on=self._needed_at_boot()
            ),
        )

    def _needed_at_boot(self) -> list[pulumi.Resource]:
        """What the first node needs and no output of the group carries; the permission is made here."""
        account, name = self._args.account, self._args.cluster_name
        if self._args.config.joins_cluster:
            statements = agent_statements([account.arn("ecs", f"cluster/{name}")])
            return [grant(self, "join-cluster", self.role, statements)]
        # AWS puts an id that nobody can know before into the ARN of a group.
        group_arn = account.arn("autoscaling", f"autoScalingGroup:*:autoScalingGroupName/{self._typed_name}")
        permissions = [grant(self, "finish-boot", self.role, [allow(COMPLETE_LAUNCH_ACTIONS, [group_arn])])]
        if self._args.config.ends_itself:
            # AWS narrows it to a group and no further, so that a node could end its neighbours too.
            permissions.append(grant(self, "end-nodes", self.role, [allow(END_NODE_ACTIONS, [group_arn])]))
        return [*permissions, *self._args.shared_files.mount_targets]

    def _capacity_provider(self, group: aws.autoscaling.Group) -> aws.ecs.CapacityProvider:
        """Lets ECS scale the group to what its tasks need, and end no node that runs one."""
        return aws.ecs.CapacityProvider(
            f"{self.pulumi_resource_name}-provider",
            auto_scaling_group_provider={
                "auto_scaling_group_arn": group.arn,
                "managed_scaling": {"status": "ENABLED", "target_capacity": 100},
                "managed_termination_protection": "ENABLED",
                "managed_draining": "ENABLED",
            },
            opts=pulumi.ResourceOptions(parent=self),
        )
