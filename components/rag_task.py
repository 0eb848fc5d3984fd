"""What runs when the RAG API runs: the task definition, the container's environment, and the task's two roles."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.aws_account import AwsAccount
from components.config_sections import AnswersConfig, RagServiceConfig
from components.iam import document, trust_policy
from components.inference_server import ALIAS
from components.inference_service import InferenceService
from components.naming import typed_name
from components.pipeline_environment import pipeline_environment
from components.task_execution import TASKS_SERVICE, execution_statements, log_configuration
from components.vector_store import VectorStore

FAMILY = "rag-api"
CONTAINER = "rag-service"
PORT = 8000
HEALTH_PATH = "/healthz"
# Longer than the 25 seconds that the server gives running requests after SIGTERM (rag_api/Dockerfile).
STOP_TIMEOUT_SECONDS = 30
KEEP_ALIVE_MARGIN_SECONDS = 10
# ECS ignores the image's own health check. A quarter of a vCPU needs seconds to start Python, hence the times.
# https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_HealthCheck.html
HEALTH_CHECK = {
    "command": [
        "CMD",
        "python",
        "-c",
        f"import urllib.request; urllib.request.urlopen('http://127.0.0.1:{PORT}{HEALTH_PATH}', timeout=8)",
    ],
    "interval": 30,
    "timeout": 10,
    "retries": 3,
    "startPeriod": 60,
}


@dataclass(frozen=True, kw_only=True)
class RagTaskArgs:
    """`repository_arn` is None for an image that comes from no private ECR repository.

    `inference` is the stack's own model server, which there must be where answers come from it.
    """

    config: RagServiceConfig
    answers: AnswersConfig
    account: AwsAccount
    vector_store: VectorStore
    image: pulumi.Input[str]
    repository_arn: pulumi.Input[str] | None
    inference: InferenceService | None
    name_suffix: str
    log_retention_days: int


class RagTask(pulumi.ComponentResource):
    """The task definition `rag-api`.

    ECS itself uses the execution role, which may pull the image, write the log and read the injected secrets; the
    application uses `role`, which starts with nothing. Secrets encrypted with a key of one's own need a grant on it.
    """

    role: aws.iam.Role
    execution_policy: aws.iam.RolePolicy
    definition_arn: pulumi.Output[str]

    def __init__(self, name: str, args: RagTaskArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:RagTask", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        log_group = aws.cloudwatch.LogGroup(
            f"{name}-logs",
            name=f"/ecs/{typed_name(FAMILY, args.name_suffix)}",
            retention_in_days=args.log_retention_days,
            opts=child,
        )
        trust = trust_policy(TASKS_SERVICE)
        self.role = aws.iam.Role(f"{name}-role", assume_role_policy=trust, opts=child)
        execution_role = aws.iam.Role(f"{name}-execution", assume_role_policy=trust, opts=child)
        self.execution_policy = aws.iam.RolePolicy(
            f"{name}-execution-policy",
            role=execution_role.name,
            policy=pulumi.Output.json_dumps(execution_policy(args, log_group.arn)),
            opts=child,
        )
        definition = aws.ecs.TaskDefinition(
            f"{name}-definition",
            family=typed_name(FAMILY, args.name_suffix),
            requires_compatibilities=["FARGATE"],
            network_mode="awsvpc",
            cpu=str(args.config.cpu_units),
            memory=str(args.config.memory_mib),
            runtime_platform={"operating_system_family": "LINUX", "cpu_architecture": "ARM64"},
            task_role_arn=self.role.arn,
            execution_role_arn=execution_role.arn,
            container_definitions=pulumi.Output.json_dumps([container(args, log_group.name)]),
            opts=child,
        )
        self.definition_arn = definition.arn
        self.register_outputs({"definition_arn": self.definition_arn})


def container(args: RagTaskArgs, log_group_name: pulumi.Input[str]) -> dict[str, Any]:
    """The container as ECS's RegisterTaskDefinition takes it."""
    variables = environment(args)
    return {
        "name": CONTAINER,
        "image": args.image,
        "essential": True,
        "portMappings": [{"containerPort": PORT, "hostPort": PORT, "protocol": "tcp"}],
        "environment": [{"name": key, "value": variables[key]} for key in sorted(variables)],
        "secrets": [{"name": key, "valueFrom": arn} for key, arn in secrets(args.config).items()],
        "readonlyRootFilesystem": True,
        "stopTimeout": STOP_TIMEOUT_SECONDS,
        "healthCheck": HEALTH_CHECK,
        "logConfiguration": log_configuration(log_group_name, args.account.region),
    }


def environment(args: RagTaskArgs) -> dict[str, pulumi.Input[str]]:
    """What `rag_api/settings.py` reads; secrets are not among it."""
    config = args.config
    variables = pipeline_environment(args.answers, args.vector_store) | {
        "AWS_REGION": args.account.region,
        "REQUEST_TIMEOUT_SECONDS": str(config.request_timeout_seconds),
        "MAXIMUM_CONCURRENCY": str(config.maximum_concurrency),
        # Read by uvicorn itself. The balancer must be the one that closes an idle connection, or it answers 502.
        # https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-load-balancer-attributes.html
        "UVICORN_TIMEOUT_KEEP_ALIVE": str(config.alb_idle_timeout_seconds + KEEP_ALIVE_MARGIN_SECONDS),
    }
    return variables | answer_variables(config, args.inference)


def answer_variables(
    config: RagServiceConfig, inference: InferenceService | None
) -> dict[str, pulumi.Input[str]]:
    """Who answers: the stack's own model server speaks the OpenAI API at another address, and wants no key."""
    if config.answer_provider == "inference":
        if inference is None:
            raise ValueError("answers are to come from the stack's own model server, and no server is given")
        base_url = pulumi.Output.concat(inference.url, "/v1")
        return {
            "ANSWER_PROVIDER": "openai",
            "OPENAI_BASE_URL": base_url,
            "OPENAI_MODEL": ALIAS,
        }
    if config.answer_provider == "openai":
        return {
            "ANSWER_PROVIDER": "openai",
            "OPENAI_BASE_URL": config.openai_base_url,
            "OPENAI_MODEL": config.openai_model,
        }
    return {"ANSWER_PROVIDER": config.answer_provider}


def secrets(config: RagServiceConfig) -> dict[str, str]:
    """Environment variables that ECS fills from Secrets Manager, by the secret's ARN; only what is configured.

    The stack's own model server must never see OpenAI's key, which would travel to it in clear.
    """
    own_server = config.answer_provider == "inference"
    arns = {
        "BEARER_TOKEN": config.bearer_token_secret_arn,
        "OPENAI_API_KEY": "" if own_server else config.openai_api_key_secret_arn,
    }
    return {key: arn for key, arn in arns.items() if arn}


def execution_policy(args: RagTaskArgs, log_group_arn: pulumi.Output[str]) -> dict[str, Any]:
    """What ECS may do to start the task."""
    arns = list(secrets(args.config).values())
    return document(execution_statements(log_group_arn, args.repository_arn, arns))
