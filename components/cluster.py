"""The ECS cluster `ai-cluster`, where the RAG service and the GPU fleets' tasks run."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.config_sections import ClusterConfig
from components.naming import typed_name

CLUSTER_NAME = "ai-cluster"
FARGATE_PROVIDERS = ("FARGATE", "FARGATE_SPOT")


@dataclass(frozen=True, kw_only=True)
class ClusterArgs:
    config: ClusterConfig
    name_suffix: str


class Cluster(pulumi.ComponentResource):
    """A cluster that costs nothing by itself; its tasks run on Fargate unless they ask for something else."""

    cluster_name: str
    cluster_arn: pulumi.Output[str]

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:Cluster", name, None, opts)
        self.cluster_name = typed_name(CLUSTER_NAME, args.name_suffix)
        # An account's own default may differ, hence a value in both cases.
        insights = "enabled" if args.config.container_insights else "disabled"
        self._cluster = aws.ecs.Cluster(
            f"{name}-ecs",
            name=self.cluster_name,
            settings=[{"name": "containerInsights", "value": insights}],
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.cluster_arn = self._cluster.arn
        self.register_outputs({"cluster_name": self.cluster_name, "cluster_arn": self.cluster_arn})

    def use_capacity(self, fleet_providers: Sequence[pulumi.Input[str]]) -> aws.ecs.ClusterCapacityProviders:
        """Lets the cluster use Fargate and the fleets' capacity providers; to be called once, since AWS keeps one list."""
        return aws.ecs.ClusterCapacityProviders(
            f"{self.pulumi_resource_name}-capacity",
            cluster_name=self._cluster.name,
            capacity_providers=[*FARGATE_PROVIDERS, *fleet_providers],
            default_capacity_provider_strategies=[{"capacity_provider": "FARGATE", "weight": 1}],
            opts=pulumi.ResourceOptions(parent=self),
        )
