"""Training jobs on AWS Batch: a queue for spot, one for on-demand, and one for jobs over several nodes."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.alarm_topic import AlarmTopic
from components.aws_account import AwsAccount
from components.config_gpu_sections import MachineImages, TrainingConfig
from components.iam import trust_policy
from components.network import Network
from components.shared_files import SharedFiles
from components.training_alarms import TrainingAlarms, TrainingAlarmsArgs
from components.training_capacity import TrainingCapacity, TrainingCapacityArgs
from components.training_job import container_properties, node_properties, retry_strategy
from components.training_machine import TrainingMachine, TrainingMachineArgs
from components.training_progress import TrainingProgress, TrainingProgressArgs


@dataclass(frozen=True, kw_only=True)
class TrainingArgs:
    config: TrainingConfig
    account: AwsAccount
    network: Network
    shared_files: SharedFiles
    machine_images: MachineImages
    tags: Mapping[str, str]
    asleep: bool
    log_retention_days: int
    node_metrics: bool
    alarm_topic: AlarmTopic | None


class Training(pulumi.ComponentResource):
    """No node runs while no job waits. `job_role` is what a job may do, and must be granted the shared files.

    A job whose host is lost, or that exits with 75, is tried again; any other failure is final. With one node per
    job there is no multi-node queue, and both of its attributes are None. The multi-node queue is on-demand only,
    in one subnet, on the first of the instance types.
    """

    job_role: aws.iam.Role
    security_group_id: pulumi.Output[str]
    spot_queue_arn: pulumi.Output[str]
    on_demand_queue_arn: pulumi.Output[str]
    job_definition_arn: pulumi.Output[str]
    multi_node_queue_arn: pulumi.Output[str] | None
    multi_node_job_definition_arn: pulumi.Output[str] | None
    state_machine_arn: pulumi.Output[str]
    node_tags: dict[str, str]

    def __init__(self, name: str, args: TrainingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:Training", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        self._args = args
        self.job_role = aws.iam.Role(
            f"{name}-job", assume_role_policy=trust_policy("ecs-tasks.amazonaws.com"), opts=child
        )
        self._log_group = aws.cloudwatch.LogGroup(
            f"{name}-jobs", retention_in_days=args.log_retention_days, opts=child
        )
        capacity = TrainingCapacity(f"{name}-capacity", self._capacity_args(), child)
        self.security_group_id = capacity.security_group_id
        self.spot_queue_arn = capacity.spot_queue_arn
        self.on_demand_queue_arn = capacity.on_demand_queue_arn
        self.multi_node_queue_arn = capacity.multi_node_queue_arn
        self.node_tags = capacity.node_tags
        definitions = self._add_job_definitions()
        machine = TrainingMachine(f"{name}-machine", self._machine_args(definitions), child)
        self.state_machine_arn = machine.state_machine_arn
        TrainingAlarms(f"{name}-alarms", self._alarms_args(), child)
        self.register_outputs(self.addresses)

    @property
    def addresses(self) -> dict[str, pulumi.Output[str] | int | list[str] | None]:
        """What a command that starts and follows runs needs to know."""
        return {
            "spot_queue_arn": self.spot_queue_arn,
            "on_demand_queue_arn": self.on_demand_queue_arn,
            "job_definition_arn": self.job_definition_arn,
            "multi_node_queue_arn": self.multi_node_queue_arn,
            "multi_node_job_definition_arn": self.multi_node_job_definition_arn,
            "state_machine_arn": self.state_machine_arn,
            "stale_minutes": self._args.config.stale_minutes,
            "instance_types": list(self._args.config.instance_types),
        }

    def _capacity_args(self) -> TrainingCapacityArgs:
        args = self._args
        return TrainingCapacityArgs(
            config=args.config,
            account=args.account,
            network=args.network,
            machine_images=args.machine_images,
            tags=args.tags,
            asleep=args.asleep,
            log_group_arn=self._log_group.arn,
            node_metrics=args.node_metrics,
            log_retention_days=args.log_retention_days,
        )

    def _machine_args(self, definitions: Mapping[str, aws.batch.JobDefinition]) -> TrainingMachineArgs:
        args = self._args
        queues = {"spot": self.spot_queue_arn, "on-demand": self.on_demand_queue_arn}
        if self.multi_node_queue_arn:
            queues["multi-node"] = self.multi_node_queue_arn
        return TrainingMachineArgs(
            config=args.config,
            account=args.account,
            queue_arns=queues,
            job_definition_prefixes={kind: found.arn_prefix for kind, found in definitions.items()},
            tags=args.tags,
            progress_function_arn=self._add_progress_function(),
            log_retention_days=args.log_retention_days,
        )

    def _add_progress_function(self) -> pulumi.Output[str] | None:
        args = self._args
        if not args.config.stale_minutes:
            return None
        progress = TrainingProgressArgs(
            log_group=self._log_group,
            stale_minutes=args.config.stale_minutes,
            log_retention_days=args.log_retention_days,
            partition=args.account.partition,
        )
        child = pulumi.ResourceOptions(parent=self)
        return TrainingProgress(f"{self.pulumi_resource_name}-progress", progress, child).function_arn

    def _alarms_args(self) -> TrainingAlarmsArgs:
        topic = self._args.alarm_topic
        return TrainingAlarmsArgs(
            config=self._args.config,
            state_machine_arn=self.state_machine_arn,
            log_group_name=self._log_group.name,
            topic_arn=topic.topic_arn if topic else None,
        )

    def _add_job_definitions(self) -> dict[str, aws.batch.JobDefinition]:
        args, name = self._args, self.pulumi_resource_name
        points = args.shared_files.access_points
        container = container_properties(
            config=args.config,
            region=args.account.region,
            job_role_arn=self.job_role.arn,
            log_group_name=self._log_group.name,
            file_system_id=args.shared_files.file_system_id,
            access_point_ids={folder: point.id for folder, point in points.items()},
        )
        properties = pulumi.Output.json_dumps(container)
        definitions = {
            "container": self._job_definition(f"{name}-job", "container", container_properties=properties)
        }
        if args.config.nodes > 1:
            nodes = node_properties(container, args.config.instance_types[0], args.config.nodes)
            properties = pulumi.Output.json_dumps(nodes)
            definitions["multinode"] = self._job_definition(
                f"{name}-multi-node-job", "multinode", node_properties=properties
            )
        self.job_definition_arn = definitions["container"].arn
        multi_node = definitions.get("multinode")
        self.multi_node_job_definition_arn = multi_node.arn if multi_node else None
        return definitions

    def _job_definition(
        self,
        name: str,
        kind: str,
        container_properties: pulumi.Output[str] | None = None,
        node_properties: pulumi.Output[str] | None = None,
    ) -> aws.batch.JobDefinition:
        config = self._args.config
        return aws.batch.JobDefinition(
            name,
            type=kind,
            platform_capabilities=["EC2"],
            container_properties=container_properties,
            node_properties=node_properties,
            retry_strategy=retry_strategy(config.attempts),
            timeout={"attempt_duration_seconds": config.timeout_hours * 3600},
            propagate_tags=True,
            opts=pulumi.ResourceOptions(parent=self),
        )
