"""A model server as an ECS service on a GPU fleet, behind an internal load balancer, scaled by requests and by its queue."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.alarm_topic import AlarmTopic
from components.aws_account import AwsAccount
from components.cluster import Cluster
from components.config_gpu_sections import InferenceConfig
from components.gpu_fleet import GpuFleet
from components.inference_containers import METRIC_NAMESPACE, SERVER
from components.inference_server import (
    HEALTH_PATH,
    IDLE_TIMEOUT_SECONDS,
    PORT,
    deployment_percentages,
    lake_folder,
    served_name,
)
from components.inference_task import FAMILY, InferenceTask, InferenceTaskArgs
from components.load_balancer import LoadBalancer, LoadBalancerArgs
from components.naming import typed_name
from components.network import Network
from components.service_scaling import OpeningHours, PublishedMetric, ServiceScaling, ServiceScalingArgs
from components.shared_files import SharedFiles

# Where Docker finds free ports of a node: the kernel's range from 32768, or 49153 to 65535 where it tells none.
# https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html
NODE_PORTS = (32768, 65535)
# A node that the spot market takes back has this long.
SPOT_NOTICE_SECONDS = 120
UNANSWERED_PERIOD_SECONDS = 300


@dataclass(frozen=True, kw_only=True)
class InferenceServiceArgs:
    config: InferenceConfig
    fleet: GpuFleet
    account: AwsAccount
    network: Network
    cluster: Cluster
    capacity: aws.ecs.ClusterCapacityProviders
    shared_files: SharedFiles
    bucket_name: pulumi.Input[str]
    name_suffix: str
    log_retention_days: int
    alarm_topic: AlarmTopic | None


class InferenceService(pulumi.ComponentResource):
    """An OpenAI-compatible API at `url`, for the network's own addresses; callers ask for `served_name`, or for `default`.

    `role` must be granted the shared files, and reading below `lake_folder` where that is not empty. A deployment whose
    servers do not become healthy is rolled back. With opening hours the service has no server outside of them, and the
    fleet no node beyond its minimum.
    """

    role: aws.iam.Role
    url: pulumi.Output[str]
    security_group_id: pulumi.Output[str]
    service_name: pulumi.Output[str]
    served_name: str
    lake_folder: str

    def __init__(
        self, name: str, args: InferenceServiceArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("aiplatform:index:InferenceService", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        balancer = LoadBalancer(f"{name}-balancer", balancer_args(args), child)
        balancer.connect(args.fleet.security_group_id)
        task_args = InferenceTaskArgs(
            config=args.config,
            fleet=args.fleet.config,
            account=args.account,
            shared_files=args.shared_files,
            bucket_name=args.bucket_name,
            name_suffix=args.name_suffix,
            log_retention_days=args.log_retention_days,
        )
        task = InferenceTask(f"{name}-task", task_args, child)
        service = self._service(args, task, balancer)
        ServiceScaling(f"{name}-scaling", scaling_args(args, service, balancer), child)
        self._add_alarm(args.alarm_topic, balancer)
        self.role = task.role
        self.url = balancer.url
        self.security_group_id = balancer.security_group_id
        self.service_name = service.name
        self.served_name = served_name(args.config.model)
        self.lake_folder = lake_folder(args.config.model)
        self.register_outputs(
            {"url": self.url, "service_name": self.service_name, "served_name": self.served_name}
        )

    def _add_alarm(self, topic: AlarmTopic | None, balancer: LoadBalancer) -> None:
        """Told when callers find no server, for whatever reason: no capacity, a model that does not load, closed."""
        aws.cloudwatch.MetricAlarm(
            f"{self.pulumi_resource_name}-unanswered",
            alarm_description="Callers of the model server found none that serves: `aws ecs describe-services` shows why.",
            namespace="AWS/ApplicationELB",
            # What the balancer answers by itself where a target group has no healthy target.
            # https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-troubleshooting.html
            metric_name="HTTPCode_ELB_503_Count",
            dimensions={"LoadBalancer": balancer.arn_suffix},
            statistic="Sum",
            period=UNANSWERED_PERIOD_SECONDS,
            evaluation_periods=1,
            comparison_operator="GreaterThanOrEqualToThreshold",
            threshold=1,
            treat_missing_data="notBreaching",
            alarm_actions=[topic.topic_arn] if topic else [],
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _service(
        self, args: InferenceServiceArgs, task: InferenceTask, balancer: LoadBalancer
    ) -> aws.ecs.Service:
        least_percent, most_percent = deployment_percentages(args.config, args.fleet.config)
        neuron = args.fleet.config.node_image == "ecs-neuron"
        return aws.ecs.Service(
            f"{self.pulumi_resource_name}-service",
            cluster=args.cluster.cluster_arn,
            task_definition=task.definition_arn,
            desired_count=args.config.minimum_tasks,
            capacity_provider_strategies=[
                {"capacity_provider": args.fleet.capacity_provider_name or "", "base": 0, "weight": 1}
            ],
            # The provider updates a capacity strategy in place only with this (its documentation of the strategy).
            force_new_deployment=True,
            deployment_minimum_healthy_percent=least_percent,
            deployment_maximum_percent=most_percent,
            deployment_circuit_breaker={"enable": True, "rollback": True},
            health_check_grace_period_seconds=args.config.start_minutes * 60,
            # A server starts once the market has a node and the model is loaded, which no deployment should wait for.
            wait_for_steady_state=False,
            # Moving a server for the sake of even zones costs the time in which a model loads.
            availability_zone_rebalancing="DISABLED",
            placement_constraints=[{"type": "distinctInstance"}] if neuron else None,
            load_balancers=[
                {
                    "target_group_arn": balancer.target_group.arn,
                    "container_name": SERVER,
                    "container_port": PORT,
                }
            ],
            propagate_tags="SERVICE",
            enable_ecs_managed_tags=True,
            opts=pulumi.ResourceOptions(
                parent=self,
                # Scaling and the opening hours change it between two deployments.
                ignore_changes=["desiredCount"],
                # ECS refuses a target group without listener and a strategy whose providers the cluster lacks; the
                # first task needs the execution policy and mounts the cache. No output carries any of these.
                depends_on=[
                    balancer.listener,
                    args.capacity,
                    task.execution_policy,
                    *args.shared_files.mount_targets,
                ],
            ),
        )


def balancer_args(args: InferenceServiceArgs) -> LoadBalancerArgs:
    """An internal balancer without a certificate; a request goes to the server with the fewest at work."""
    return LoadBalancerArgs(
        description="Load balancer of the model server",
        network=args.network,
        public=False,
        certificate_arn="",
        idle_timeout_seconds=IDLE_TIMEOUT_SECONDS,
        target_type="instance",
        port=PORT,
        target_ports=NODE_PORTS,
        health_path=HEALTH_PATH,
        deregistration_delay_seconds=SPOT_NOTICE_SECONDS,
        # Answers differ in length a hundredfold, so taking turns would pile long ones up.
        algorithm="least_outstanding_requests",
    )


def scaling_args(
    args: InferenceServiceArgs, service: aws.ecs.Service, balancer: LoadBalancer
) -> ServiceScalingArgs:
    config = args.config
    metric = PublishedMetric(
        role="waiting",
        namespace=METRIC_NAMESPACE,
        name="WaitingRequests",
        dimension=("Service", typed_name(FAMILY, args.name_suffix)),
        target=config.waiting_requests,
    )
    hours = OpeningHours(
        start_schedule=config.start_schedule,
        stop_schedule=config.stop_schedule,
        time_zone=config.schedule_time_zone,
    )
    return ServiceScalingArgs(
        cluster_name=args.cluster.cluster_name,
        service_name=service.name,
        balancer=balancer,
        minimum_tasks=config.minimum_tasks,
        maximum_tasks=config.maximum_tasks,
        requests_per_target=config.requests_per_target,
        published_metric=metric,
        opening_hours=hours if config.start_schedule else None,
        # The same queue would call for one server after another while the first of them loads its model.
        scale_out_seconds=config.start_minutes * 60,
    )
