"""How many tasks a service runs: as many as its CPU, its requests or its queue call for, at hours of its own if wanted."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.load_balancer import LoadBalancer

SCALE_IN_SECONDS = 300
SCALE_OUT_SECONDS = 60

TargetTracking = aws.appautoscaling.PolicyTargetTrackingScalingPolicyConfigurationArgsDict


@dataclass(frozen=True, kw_only=True)
class PublishedMetric:
    """A metric that the tasks publish themselves: scaling keeps its average over the tasks near `target`."""

    role: str
    namespace: str
    name: str
    dimension: tuple[str, str]
    target: float


@dataclass(frozen=True, kw_only=True)
class OpeningHours:
    """When a service opens, and when it closes and its last task ends: two schedules of Application Auto Scaling."""

    start_schedule: str
    stop_schedule: str
    time_zone: str


@dataclass(frozen=True, kw_only=True)
class ServiceScalingArgs:
    """`scale_out_seconds` is the time that a new task needs before it helps; without `opening_hours` it is always open."""

    cluster_name: pulumi.Input[str]
    service_name: pulumi.Input[str]
    balancer: LoadBalancer
    minimum_tasks: int
    maximum_tasks: int
    requests_per_target: int
    cpu_target_percent: int | None = None
    published_metric: PublishedMetric | None = None
    opening_hours: OpeningHours | None = None
    scale_out_seconds: int = SCALE_OUT_SECONDS


class ServiceScaling(pulumi.ComponentResource):
    """Target-tracking policies on one service; the one that asks for more tasks wins, AWS's rule.

    Opening hours set the least and the most tasks, both to nothing when they end. Other numbers of tasks then hold
    from the next opening on.
    """

    resource_id: pulumi.Output[str]

    def __init__(
        self, name: str, args: ServiceScalingArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("aiplatform:index:ServiceScaling", name, None, opts)
        self._scale_out_seconds = args.scale_out_seconds
        self._target = aws.appautoscaling.Target(
            f"{name}-target",
            service_namespace="ecs",
            scalable_dimension="ecs:service:DesiredCount",
            resource_id=pulumi.Output.format("service/{0}/{1}", args.cluster_name, args.service_name),
            min_capacity=args.minimum_tasks,
            max_capacity=args.maximum_tasks,
            opts=pulumi.ResourceOptions(
                parent=self,
                # A deployment at night would open the service.
                ignore_changes=["minCapacity", "maxCapacity"] if args.opening_hours else None,
            ),
        )
        if args.cpu_target_percent is not None:
            self._predefined("cpu", args.cpu_target_percent, "ECSServiceAverageCPUUtilization")
        # AWS refuses the label of a target group to which no listener forwards yet.
        self._predefined(
            "requests",
            args.requests_per_target,
            "ALBRequestCountPerTarget",
            args.balancer.request_label,
            [args.balancer.listener],
        )
        if args.published_metric:
            self._published(args.published_metric)
        if args.opening_hours:
            self._opening_hours(args.opening_hours, args.minimum_tasks, args.maximum_tasks)
        self.resource_id = self._target.resource_id
        self.register_outputs({"resource_id": self.resource_id})

    def _predefined(
        self,
        role: str,
        target_value: float,
        metric: str,
        resource_label: pulumi.Input[str] | None = None,
        depends_on: Sequence[pulumi.Resource] = (),
    ) -> None:
        tracking: TargetTracking = {
            "predefined_metric_specification": {
                "predefined_metric_type": metric,
                "resource_label": resource_label,
            },
            "target_value": target_value,
        }
        self._policy(role, tracking, depends_on)

    def _published(self, metric: PublishedMetric) -> None:
        name, value = metric.dimension
        tracking: TargetTracking = {
            "customized_metric_specification": {
                "namespace": metric.namespace,
                "metric_name": metric.name,
                "dimensions": [{"name": name, "value": value}],
                "statistic": "Average",
            },
            "target_value": metric.target,
        }
        self._policy(metric.role, tracking)

    def _policy(
        self, role: str, tracking: TargetTracking, depends_on: Sequence[pulumi.Resource] = ()
    ) -> None:
        target = self._target
        aws.appautoscaling.Policy(
            f"{self.pulumi_resource_name}-{role}",
            policy_type="TargetTrackingScaling",
            service_namespace=target.service_namespace,
            scalable_dimension=target.scalable_dimension,
            resource_id=target.resource_id,
            target_tracking_scaling_policy_configuration={
                **tracking,
                "scale_in_cooldown": SCALE_IN_SECONDS,
                "scale_out_cooldown": self._scale_out_seconds,
            },
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(depends_on)),
        )

    def _opening_hours(self, hours: OpeningHours, minimum: int, maximum: int) -> None:
        target = self._target
        for role, schedule, least, most in (
            ("open", hours.start_schedule, minimum, maximum),
            ("close", hours.stop_schedule, 0, 0),
        ):
            aws.appautoscaling.ScheduledAction(
                f"{self.pulumi_resource_name}-{role}",
                service_namespace=target.service_namespace,
                scalable_dimension=target.scalable_dimension,
                resource_id=target.resource_id,
                schedule=schedule,
                timezone=hours.time_zone,
                scalable_target_action={"min_capacity": least, "max_capacity": most},
                opts=pulumi.ResourceOptions(parent=self),
            )
