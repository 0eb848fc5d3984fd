"""The compute environments of training jobs, which start nodes while jobs wait and none otherwise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.aws_account import AwsAccount
from components.config_gpu_sections import MachineImages, TrainingConfig
from components.container_image import PULL_ACTIONS
from components.efa import efa_network_interfaces
from components.gpu_node import (
    NetworkInterface,
    NodeTemplateArgs,
    agent_statements,
    latest_version,
    node_launch_template,
    node_role,
    node_security_group,
    primary_interface,
)
from components.iam import LOG_ACTIONS, allow, grant
from components.image_reference import repository_arn_of
from components.machine_images import ROOT_DEVICES, image_changes_ignored, image_id
from components.network import Network
from components.node_agent import node_log_group_name
from components.training_job import unfit_job_actions
from components.user_data import render_multipart

NODE_IMAGE = "ecs-gpu"
# Batch's word for that image. https://docs.aws.amazon.com/batch/latest/APIReference/API_Ec2Configuration.html
BATCH_IMAGE_TYPE = "ECS_AL2023_NVIDIA"
IMAGE_PATH = "computeResources.ec2Configurations[0].imageIdOverride"
# Neither is Batch's default, BEST_FIT, which waits for one type and cannot be updated in place.
# https://docs.aws.amazon.com/batch/latest/userguide/allocation-strategies.html
ALLOCATION_STRATEGIES = {"SPOT": "SPOT_PRICE_CAPACITY_OPTIMIZED", "EC2": "BEST_FIT_PROGRESSIVE"}
# Batch takes up to 7,200, the Terraform provider behind pulumi-aws up to 360.
# https://github.com/hashicorp/terraform-provider-aws/issues/48709
LONGEST_UPDATE_MINUTES = 360


@dataclass(frozen=True, kw_only=True)
class TrainingCapacityArgs:
    config: TrainingConfig
    account: AwsAccount
    network: Network
    machine_images: MachineImages
    tags: Mapping[str, str]
    asleep: bool
    log_group_arn: pulumi.Input[str]
    node_metrics: bool
    log_retention_days: int


class TrainingCapacity(pulumi.ComponentResource):
    """Scales from zero by the jobs that wait. Nobody can connect to a node; nodes of one job reach each other.

    Batch uses its own service-linked role, which it makes on first use, and needs no fleet role for spot, since the
    allocation strategy is not BEST_FIT (API_ComputeResource, spotIamFleetRole).
    """

    security_group_id: pulumi.Output[str]
    spot_queue_arn: pulumi.Output[str]
    on_demand_queue_arn: pulumi.Output[str]
    multi_node_queue_arn: pulumi.Output[str] | None
    node_tags: dict[str, str]

    def __init__(
        self, name: str, args: TrainingCapacityArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("aiplatform:index:TrainingCapacity", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        self._args = args
        self.node_tags = {**args.tags, "Name": name}
        # Asleep there is no NAT, and a node that cannot reach ECS would bill and never take a job.
        self._state = "DISABLED" if args.asleep else "ENABLED"
        self._role = node_role(f"{name}-node", args.account, self)
        self._profile = aws.iam.InstanceProfile(f"{name}-profile", role=self._role.name, opts=child)
        self.security_group_id = node_security_group(
            f"{name}-nodes", "Nodes of training jobs", args.network.vpc_id, self
        ).id
        self._image_id = image_id(NODE_IMAGE, args.machine_images, self)
        self._user_data = self._render_user_data()

        interface = primary_interface(self.security_group_id, public=not args.network.places_privately)
        template = self._launch_template("template", [interface])
        types, subnets = list(args.config.instance_types), args.network.workload_subnet_ids
        environments = {
            "spot": self._environment("spot", "SPOT", template, types, subnets),
            "on-demand": self._environment("on-demand", "EC2", template, types, subnets),
        }
        if args.config.nodes > 1:
            environments["multi-node"] = self._multi_node_environment()
        self._add_queues(environments)
        self.register_outputs(
            {"spot_queue_arn": self.spot_queue_arn, "on_demand_queue_arn": self.on_demand_queue_arn}
        )

    def _launch_template(self, role: str, interfaces: Sequence[NetworkInterface]) -> aws.ec2.LaunchTemplate:
        """Batch sets types, profile and image itself, and adds parts of its own to the user data."""
        name = self.pulumi_resource_name
        template = NodeTemplateArgs(
            root_device=ROOT_DEVICES[NODE_IMAGE],
            volume_size_gib=self._args.config.volume_size_gib,
            user_data=self._user_data,
            network_interfaces=interfaces,
            tags=self.node_tags,
        )
        return node_launch_template(f"{name}-{role}", template, pulumi.ResourceOptions(parent=self))

    def _render_user_data(self) -> pulumi.Output[str]:
        """Nodes report under the name of their log group, which no other stack of the account has."""
        log_group_name = node_log_group_name(
            f"{self.pulumi_resource_name}-node-logs", self._role,
            wanted=self._args.node_metrics, retention_days=self._args.log_retention_days, parent=self,
        )  # fmt: skip
        values = pulumi.Output.all(FLEET=log_group_name, NODE_LOG_GROUP=log_group_name)
        return values.apply(lambda known: render_multipart("batch", known))

    def _environment(
        self,
        role: str,
        kind: str,
        template: aws.ec2.LaunchTemplate,
        instance_types: list[str],
        subnet_ids: pulumi.Input[Sequence[str]],
        placement_group: pulumi.Input[str] | None = None,
    ) -> aws.batch.ComputeEnvironment:
        args = self._args
        return aws.batch.ComputeEnvironment(
            f"{self.pulumi_resource_name}-{role}",
            type="MANAGED",
            state=self._state,
            compute_resources={
                "type": kind,
                "allocation_strategy": ALLOCATION_STRATEGIES[kind],
                "min_vcpus": 0,
                "max_vcpus": args.config.maximum_vcpus,
                "instance_types": instance_types,
                "instance_role": self._profile.arn,
                "subnets": subnet_ids,
                # Batch gives these, and not the template's, to the network interface of a multi-node container.
                "security_group_ids": [self.security_group_id],
                "placement_group": placement_group,
                "ec2_configurations": [{"image_type": BATCH_IMAGE_TYPE, "image_id_override": self._image_id}],
                "launch_template": {
                    "launch_template_id": template.id,
                    "version": latest_version(template),
                },
            },
            update_policy={
                "terminate_jobs_on_update": False,
                # Batch's default ends running jobs 30 minutes after a change of the environment.
                "job_execution_timeout_minutes": min(args.config.timeout_hours * 60, LONGEST_UPDATE_MINUTES),
            },
            opts=pulumi.ResourceOptions(
                parent=self,
                # Batch sets the vCPUs that it wants by the jobs that wait.
                ignore_changes=[
                    "computeResources.desiredVcpus",
                    *image_changes_ignored(NODE_IMAGE, args.machine_images, IMAGE_PATH),
                ],
            ),
        )

    def _multi_node_environment(self) -> aws.batch.ComputeEnvironment:
        """Batch refuses jobs over several nodes on spot.

        https://docs.aws.amazon.com/batch/latest/userguide/mnp-ce.html
        """
        self._let_nodes_reach_each_other()
        name, instance_type = self.pulumi_resource_name, self._args.config.instance_types[0]
        placement_group = aws.ec2.PlacementGroup(
            f"{name}-multi-node", strategy="cluster", opts=pulumi.ResourceOptions(parent=self)
        )
        interfaces = efa_network_interfaces(instance_type, self.security_group_id)
        return self._environment(
            "multi-node",
            "EC2",
            self._launch_template("multi-node-template", interfaces),
            [instance_type],
            # A cluster placement group lies in one zone, and EFA does not leave it.
            self._args.network.workload_subnet_ids.apply(first_of, run_with_unknowns=True),
            placement_group.name,
        )

    def _let_nodes_reach_each_other(self) -> None:
        """EFA wants rules in both directions that name the group itself; one for all addresses does not do.

        https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html
        """
        name, child = self.pulumi_resource_name, pulumi.ResourceOptions(parent=self)
        aws.vpc.SecurityGroupIngressRule(
            f"{name}-from-nodes",
            security_group_id=self.security_group_id,
            description="Between the nodes of a job, for EFA",
            referenced_security_group_id=self.security_group_id,
            ip_protocol="-1",
            opts=child,
        )
        aws.vpc.SecurityGroupEgressRule(
            f"{name}-to-nodes",
            security_group_id=self.security_group_id,
            description="Between the nodes of a job, for EFA",
            referenced_security_group_id=self.security_group_id,
            ip_protocol="-1",
            opts=child,
        )

    def _add_queues(self, environments: Mapping[str, aws.batch.ComputeEnvironment]) -> None:
        permission = grant(self, "serve-jobs", self._role, self._node_statements(environments))
        queues = {
            role: aws.batch.JobQueue(
                f"{self.pulumi_resource_name}-{role}",
                state=self._state,
                priority=1,
                compute_environment_orders=[{"order": 1, "compute_environment": environment.arn}],
                job_state_time_limit_actions=unfit_job_actions(),
                # A node that starts before it may register waits for nothing.
                opts=pulumi.ResourceOptions(parent=self, depends_on=[permission]),
            )
            for role, environment in environments.items()
        }
        self.spot_queue_arn = queues["spot"].arn
        self.on_demand_queue_arn = queues["on-demand"].arn
        multi_node = queues.get("multi-node")
        self.multi_node_queue_arn = multi_node.arn if multi_node else None

    def _node_statements(
        self, environments: Mapping[str, aws.batch.ComputeEnvironment]
    ) -> list[dict[str, Any]]:
        """What a node needs for the clusters that Batch made, for the job's log, and for an image in a private ECR."""
        args = self._args
        clusters = [environment.ecs_cluster_arn for environment in environments.values()]
        statements = [
            *agent_statements(clusters),
            # Docker writes a job's log with the node's role.
            allow(LOG_ACTIONS, [pulumi.Output.format("{0}:*", args.log_group_arn)]),
        ]
        repository_arn = repository_arn_of(args.config.image, args.account.partition)
        if repository_arn:
            statements += [allow(PULL_ACTIONS, [repository_arn]), allow(["ecr:GetAuthorizationToken"], ["*"])]
        return statements


def first_of(ids: Any) -> Any:
    """The first of a list of ids, known while others are not; what is wholly unknown stays so."""
    return ids[:1] if isinstance(ids, list) else ids
