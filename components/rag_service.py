"""The RAG API as an ECS service on Fargate, behind a load balancer, scaled by CPU and by requests."""

from dataclasses import dataclass
from math import gcd
from urllib.parse import urlsplit

import pulumi
import pulumi_aws as aws

from components.aws_account import AwsAccount
from components.cluster import Cluster
from components.config_sections import AnswersConfig, RagServiceConfig
from components.container_image import ContainerImage
from components.image_reference import repository_arn_of
from components.inference_service import InferenceService
from components.load_balancer import ANYWHERE, HTTP_PORT, HTTPS_PORT, LoadBalancer, LoadBalancerArgs
from components.network import Network
from components.rag_task import CONTAINER, HEALTH_PATH, PORT, RagTask, RagTaskArgs
from components.service_scaling import ServiceScaling, ServiceScalingArgs
from components.vector_store import VectorStore

HEALTH_CHECK_GRACE_SECONDS = 90


@dataclass(frozen=True, kw_only=True)
class RagServiceArgs:
    config: RagServiceConfig
    answers: AnswersConfig
    account: AwsAccount
    network: Network
    cluster: Cluster
    capacity: aws.ecs.ClusterCapacityProviders
    vector_store: VectorStore
    name_suffix: str
    log_retention_days: int
    built_image: ContainerImage | None
    inference: InferenceService | None = None


class RagService(pulumi.ComponentResource):
    """The API at `url`; `role` is what the application may do, and is granted to from outside; answers are Bedrock's
    where it `asks_bedrock`, embeddings always.

    A deployment whose tasks do not become healthy is rolled back. An image given by digest must be built for
    linux/arm64. With a certificate, `url` shows the balancer's own name: point the
    certificate's domain to it.
    """

    role: aws.iam.Role
    url: pulumi.Output[str]
    service_name: pulumi.Output[str]
    asks_bedrock: bool

    def __init__(self, name: str, args: RagServiceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:RagService", name, None, opts)
        balancer = self._balancer(args)
        task = self._task(args)
        service = self._service(args, task, balancer)
        ServiceScaling(
            f"{name}-scaling",
            ServiceScalingArgs(
                cluster_name=args.cluster.cluster_name,
                service_name=service.name,
                balancer=balancer,
                minimum_tasks=args.config.minimum_tasks,
                maximum_tasks=args.config.maximum_tasks,
                requests_per_target=args.config.requests_per_target,
                cpu_target_percent=args.config.cpu_target_percent,
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.asks_bedrock = args.config.answer_provider == "bedrock"
        self.role = task.role
        self.url = balancer.url
        self.service_name = service.name
        self.register_outputs({"url": self.url, "service_name": self.service_name})

    def _balancer(self, args: RagServiceArgs) -> LoadBalancer:
        config = args.config
        balancer_args = LoadBalancerArgs(
            description="Load balancer of the RAG API",
            network=args.network,
            public=config.exposure == "public",
            certificate_arn=config.certificate_arn,
            idle_timeout_seconds=config.alb_idle_timeout_seconds,
            target_type="ip",
            port=PORT,
            target_ports=(PORT, PORT),
            health_path=HEALTH_PATH,
            deregistration_delay_seconds=config.request_timeout_seconds,
        )
        child = pulumi.ResourceOptions(parent=self)
        return LoadBalancer(f"{self.pulumi_resource_name}-balancer", balancer_args, opts=child)

    def _task(self, args: RagServiceArgs) -> RagTask:
        """The task, with the image that was built or else the configured one."""
        name, child = self.pulumi_resource_name, pulumi.ResourceOptions(parent=self)
        image: pulumi.Input[str] = args.config.image
        repository_arn: pulumi.Input[str] | None = repository_arn_of(
            args.config.image, args.account.partition
        )
        if args.built_image:
            image, repository_arn = args.built_image.image_uri, args.built_image.repository_arn
        task_args = RagTaskArgs(
            config=args.config,
            answers=args.answers,
            account=args.account,
            vector_store=args.vector_store,
            image=image,
            repository_arn=repository_arn,
            inference=args.inference,
            name_suffix=args.name_suffix,
            log_retention_days=args.log_retention_days,
        )
        return RagTask(f"{name}-task", task_args, opts=child)

    def _service(self, args: RagServiceArgs, task: RagTask, balancer: LoadBalancer) -> aws.ecs.Service:
        return aws.ecs.Service(
            f"{self.pulumi_resource_name}-service",
            cluster=args.cluster.cluster_arn,
            task_definition=task.definition_arn,
            desired_count=args.config.desired_tasks,
            capacity_provider_strategies=[
                {"capacity_provider": provider, "base": base, "weight": weight}
                for provider, base, weight in capacity_strategy(args.config.fargate_spot_percent)
            ],
            # The provider updates a capacity strategy in place only with this (its documentation of the strategy).
            force_new_deployment=True,
            deployment_circuit_breaker={"enable": True, "rollback": True},
            health_check_grace_period_seconds=HEALTH_CHECK_GRACE_SECONDS,
            wait_for_steady_state=True,
            network_configuration={
                "subnets": args.network.workload_subnet_ids,
                "security_groups": [self._security_group(args, balancer)],
                "assign_public_ip": not args.network.places_privately,
            },
            load_balancers=[
                {
                    "target_group_arn": balancer.target_group.arn,
                    "container_name": CONTAINER,
                    "container_port": PORT,
                }
            ],
            propagate_tags="SERVICE",
            enable_ecs_managed_tags=True,
            opts=pulumi.ResourceOptions(
                parent=self,
                # Scaling changes it between two deployments.
                ignore_changes=["desiredCount"],
                # ECS refuses a target group without listener and a strategy whose providers the cluster lacks; the
                # first task needs the execution policy. No output carries any of these.
                depends_on=[balancer.listener, args.capacity, task.execution_policy],
            ),
        )

    def _security_group(self, args: RagServiceArgs, balancer: LoadBalancer) -> pulumi.Output[str]:
        """The tasks' group: in from their balancer, out to AWS and the answer service."""
        name, child = self.pulumi_resource_name, pulumi.ResourceOptions(parent=self)
        group = aws.ec2.SecurityGroup(
            f"{name}-tasks", description="Tasks of the RAG API", vpc_id=args.network.vpc_id, opts=child
        )
        balancer.connect(group.id)
        for port in outgoing_ports(args.config):
            aws.vpc.SecurityGroupEgressRule(
                f"{name}-tasks-out-{port}",
                security_group_id=group.id,
                description="AWS and answer services, whose addresses are many and change",
                cidr_ipv4=ANYWHERE,
                ip_protocol="tcp",
                from_port=port,
                to_port=port,
                opts=child,
            )
        if args.inference and args.config.answer_provider == "inference":
            aws.vpc.SecurityGroupEgressRule(
                f"{name}-tasks-out-to-inference",
                security_group_id=group.id,
                description="To the model server of the stack",
                referenced_security_group_id=args.inference.security_group_id,
                ip_protocol="tcp",
                from_port=HTTP_PORT,
                to_port=HTTP_PORT,
                opts=child,
            )
        return group.id


def capacity_strategy(spot_percent: int) -> tuple[tuple[str, int, int], ...]:
    """Provider, base and weight. With a share of Spot below 100 percent, the first task is on demand."""
    if spot_percent == 100:
        return (("FARGATE_SPOT", 0, 1),)
    if spot_percent == 0:
        return (("FARGATE", 0, 1),)
    unit = gcd(spot_percent, 100)
    return ("FARGATE", 1, (100 - spot_percent) // unit), ("FARGATE_SPOT", 0, spot_percent // unit)


def outgoing_ports(config: RagServiceConfig) -> tuple[int, ...]:
    """HTTPS, and the answer service's port where that is another one."""
    if config.answer_provider != "openai":
        return (HTTPS_PORT,)
    url = urlsplit(config.openai_base_url)
    answer_port = url.port or (HTTPS_PORT if url.scheme == "https" else HTTP_PORT)
    return tuple(sorted({HTTPS_PORT, answer_port}))
