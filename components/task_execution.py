"""What ECS itself needs to start the tasks of a service: the log they write and the permissions to pull, log and inject. Pure."""

from collections.abc import Sequence
from typing import Any

import pulumi

from components.container_image import PULL_ACTIONS
from components.iam import LOG_ACTIONS, allow

TASKS_SERVICE = "ecs-tasks.amazonaws.com"
STREAM_PREFIX = "ecs"


def log_configuration(log_group_name: pulumi.Input[str], region: str) -> dict[str, Any]:
    """Answers matter more than log lines: a slow log must not hold up requests. The default changed once.

    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using_awslogs.html
    """
    return {
        "logDriver": "awslogs",
        "options": {
            "awslogs-group": log_group_name,
            "awslogs-region": region,
            "awslogs-stream-prefix": STREAM_PREFIX,
            "mode": "non-blocking",
            "max-buffer-size": "25m",
        },
    }


def execution_statements(
    log_group_arn: pulumi.Output[str],
    repository_arn: pulumi.Input[str] | None,
    secret_arns: Sequence[str],
) -> list[dict[str, Any]]:
    """What ECS may do to start a task; `repository_arn` is None for an image that comes from no private ECR repository."""
    # Streams are named after tasks, which do not exist yet.
    statements = [allow(LOG_ACTIONS, [pulumi.Output.format("{0}:log-stream:*", log_group_arn)])]
    if repository_arn is not None:
        # This action knows no resource.
        # https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelasticcontainerregistry.html
        statements.append(allow(["ecr:GetAuthorizationToken"], ["*"]))
        statements.append(allow(PULL_ACTIONS, [repository_arn]))
    if secret_arns:
        statements.append(allow(["secretsmanager:GetSecretValue"], secret_arns))
    return statements
