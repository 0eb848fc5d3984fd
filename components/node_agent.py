"""Where GPU nodes send their boot logs and metrics: the log group, and what a node may write. gpu_node/agent sends."""

import pulumi
import pulumi_aws as aws

from components.iam import LOG_ACTIONS, allow, grant

# gpu_node/agent/agent.json names the same.
METRIC_NAMESPACE = "AiPlatform/Nodes"
METRIC_ACTIONS = ("cloudwatch:PutMetricData",)


def node_log_group_name(
    name: str, role: aws.iam.Role, *, wanted: bool, retention_days: int, parent: pulumi.Resource
) -> pulumi.Input[str]:
    """The log group of nodes that act with `role`, which may write to it and to one namespace of metrics.

    Empty when it is not wanted: then nodes set up no agent, and may send nothing. The agent makes its streams,
    `<instance id>/boot` and `<instance id>/watcher`, and never a group. CloudWatch knows no resource for metrics, and
    narrows them by their namespace alone.
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/iam-cw-condition-keys-namespace.html
    """
    if not wanted:
        return ""
    group = aws.cloudwatch.LogGroup(
        name, retention_in_days=retention_days, opts=pulumi.ResourceOptions(parent=parent)
    )
    statements = [
        allow(LOG_ACTIONS, [pulumi.Output.format("{0}:*", group.arn)]),
        allow(METRIC_ACTIONS, ["*"], {"StringEquals": {"cloudwatch:namespace": METRIC_NAMESPACE}}),
    ]
    grant(parent, "send-metrics", role, statements)
    # The id of a log group is its name.
    return group.id
