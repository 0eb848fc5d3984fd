"""How many tasks the RAG API runs: as many as its CPU and its requests call for."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.config_sections import RagServiceConfig
from components.load_balancer import LoadBalancer

SCALE_IN_SECONDS = 300
SCALE_OUT_SECONDS = 60


@dataclass(frozen=True, kw_only=True)
class ServiceScalingArgs:
    config: RagServiceConfig
    cluster_name: pulumi.Input[str]
    service_name: pulumi.Input[str]
    balancer: LoadBalancer


class ServiceScaling(pulumi.ComponentResource):
    """Two target-tracking policies on one service; the one that asks for more tasks wins, AWS's rule."""

    resource_id: pulumi.Output[str]

    def __init__(
        self, name: str, args: ServiceScalingArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("aiplatform:index:ServiceScaling", name, None, opts)
        config, balancer = args.config, args.balancer
        self._target = aws.appautoscaling.Target(
            f"{name}-target",
            service_namespace="ecs",
            scalable_dimension="ecs:service:DesiredCount",
            resource_id=pulumi.Output.format("service/{0}/{1}", args.cluster_name, args.service_name),
            min_capacity=config.minimum_tasks,
            max_capacity=config.maximum_tasks,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self._policy("cpu", config.cpu_target_percent, "ECSServiceAverageCPUUtilization")
        # AWS refuses the label of a target group to which no listener forwards yet.
        self._policy(
            "requests",
            config.requests_per_target,
            "ALBRequestCountPerTarget",
            balancer.request_label,
            [balancer.listener],
        )
        self.resource_id = self._target.resource_id
        self.register_outputs({"resource_id": self.resource_id})

    def _policy(
        self,
        role: str,
        target_value: float,
        metric: str,
        resource_label: pulumi.Input[str] | None = None,
        depends_on: Sequence[pulumi.Resource] = (),
    ) -> None:
        target = self._target
        aws.appautoscaling.Policy(
            f"{self.pulumi_resource_name}-{role}",
            policy_type="TargetTrackingScaling",
            service_namespace=target.service_namespace,
            scalable_dimension=target.scalable_dimension,
            resource_id=target.resource_id,
            target_tracking_scaling_policy_configuration={
                "predefined_metric_specification": {
                    "predefined_metric_type": metric,
                    "resource_label": resource_label,
                },
                "target_value": target_value,
                "scale_in_cooldown": SCALE_IN_SECONDS,
                "scale_out_cooldown": SCALE_OUT_SECONDS,
            },
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(depends_on)),
        )
