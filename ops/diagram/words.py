"""The words of the pictures: services by their usual names, and actions as verbs. Pure."""

from collections.abc import Iterable

# By the module of a type, as in `aws:efs/fileSystem:FileSystem`. What is left out is plumbing of the others.
SERVICES = {
    "autoscaling": "Auto Scaling",
    "batch": "Batch",
    "budgets": "Budgets",
    "ecr": "ECR",
    "ecs": "ECS",
    "efs": "EFS",
    "fis": "Fault Injection Service",
    "kms": "KMS",
    "lambda": "Lambda",
    "lb": "Load Balancing",
    "opensearch": "OpenSearch Serverless",
    "s3": "S3",
    "scheduler": "EventBridge Scheduler",
    "sfn": "Step Functions",
    "sns": "SNS",
    "sqs": "SQS",
}
PLUMBING = frozenset({"appautoscaling", "cloudwatch", "ec2", "iam", "vpc"})
# Services that are used and not built here, by the third part of an ARN.
OUTSIDE = {"bedrock": "Bedrock", "secretsmanager": "Secrets Manager"}
# What an action does, by how its name begins; the first that fits.
VERBS = (
    (
        ("DeregisterContainer", "RegisterContainer", "SubmitAttachment", "SubmitContainer", "SubmitTask"),
        "joins",
    ),
    (
        (
            "DeleteMessage",
            "Get",
            "List",
            "Describe",
            "BatchGet",
            "BatchCheck",
            "Read",
            "Filter",
            "Receive",
            "Query",
        ),
        "reads",
    ),
    (("Put", "Create", "Delete", "Update", "Write", "Abort"), "writes"),
    (("ClientMount", "ClientWrite"), "mounts"),
    (("Invoke",), "calls"),
    (("Send", "Publish"), "sends"),
    (("Submit", "Terminate", "Tag"), "runs"),
)
# An action that opens the door and does nothing by itself.
DOORS = frozenset({"aoss:APIAccessAll", "secretsmanager:DescribeSecret"})


def service_of(type_token: str) -> str:
    """The usual name of a type's service; an empty text for plumbing."""
    module = type_token.split(":")[1].split("/")[0]
    return "" if module in PLUMBING else SERVICES.get(module, module)


def verbs(actions: Iterable[str]) -> tuple[str, ...]:
    """What the actions do, each verb once, in the order of the table; an unknown action speaks for itself."""
    told = [_verb(action) for action in actions if action not in DOORS]
    known = [verb for _, verb in VERBS if verb in told]
    return (*known, *sorted({verb for verb in told if verb not in known}))


def _verb(action: str) -> str:
    name = action.rpartition(":")[2]
    if name == "*":
        return "does anything"
    return next((verb for beginnings, verb in VERBS if name.startswith(beginnings)), name)


def shortened(actions: Iterable[str]) -> str:
    """Actions with each service named once, such as `s3:GetObject, PutObject`."""
    told: list[str] = []
    service = ""
    for action in sorted(actions):
        prefix, _, verb = action.rpartition(":")
        told.append(verb if prefix == service else action)
        service = prefix
    return ", ".join(told)
