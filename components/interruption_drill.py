"""A rehearsal of an interruption: an experiment that takes one training node back, as the spot market would."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.aws_account import AwsAccount
from components.iam import allow, document, grant

# The operator's command puts this tag on the one node that is to go; a node without it is never taken.
MARK = "InterruptionDrill"
# Of the tags of a training node those that no stack's own tags change while its nodes run.
NODE_TAGS = ("Project", "Stack", "Name")
# The notice comes at once and the end two minutes later, as in an interruption by EC2. Two minutes are the least.
# https://docs.aws.amazon.com/fis/latest/userguide/fis-actions-reference.html#ec2-actions-reference
ACTION = "aws:ec2:send-spot-instance-interruptions"
NOTICE = "PT2M"
TARGET = "marked-node"


@dataclass(frozen=True, kw_only=True)
class InterruptionDrillArgs:
    """`node_tags` are those of the stack's training nodes; `project` and `stack` together name the stack."""

    account: AwsAccount
    project: str
    stack: str
    node_tags: Mapping[str, str]


class InterruptionDrill(pulumi.ComponentResource):
    """Costs nothing until an experiment runs, and then 0.10 USD for each of its few minutes (AWS FIS pricing page).

    It takes one running spot node, and only one that carries the mark and is a training node of this stack.
    """

    experiment_template_id: pulumi.Output[str]
    addresses: dict[str, Any]

    def __init__(
        self, name: str, args: InterruptionDrillArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("aiplatform:index:InterruptionDrill", name, None, opts)
        mark = f"{args.project}/{args.stack}"
        node_tags = {key: args.node_tags[key] for key in NODE_TAGS}
        role = aws.iam.Role(
            f"{name}-role",
            assume_role_policy=pulumi.Output.json_dumps(document([_trust(args.account)])),
            opts=pulumi.ResourceOptions(parent=self),
        )
        permission = grant(self, "interrupt", role, _statements(args.account, {**node_tags, MARK: mark}))
        options = pulumi.ResourceOptions(parent=self, depends_on=[permission])
        self.experiment_template_id = _experiment_template(f"{name}-experiment", role.arn, mark, options).id
        self.addresses = {
            "experiment_template_id": self.experiment_template_id,
            "mark": {MARK: mark},
            "node_tags": node_tags,
        }
        self.register_outputs({"experiment_template_id": self.experiment_template_id})


def _trust(account: AwsAccount) -> dict[str, Any]:
    """Experiments of this account and Region alone may take the role.

    https://docs.aws.amazon.com/fis/latest/userguide/getting-started-iam-service-role.html
    """
    return {
        "Effect": "Allow",
        "Principal": {"Service": "fis.amazonaws.com"},
        "Action": "sts:AssumeRole",
        "Condition": {
            "StringEquals": {"aws:SourceAccount": account.account_id},
            "ArnLike": {"aws:SourceArn": account.arn("fis", "experiment/*")},
        },
    }


def _statements(account: AwsAccount, tags: Mapping[str, str]) -> list[dict[str, Any]]:
    """Finding an instance by its tags knows no resource.

    https://docs.aws.amazon.com/fis/latest/userguide/fis-actions-reference.html#ec2-actions-reference
    https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
    """
    condition = {"StringEquals": {f"aws:ResourceTag/{key}": value for key, value in tags.items()}}
    return [
        allow(["ec2:SendSpotInstanceInterruptions"], [account.arn("ec2", "instance/*")], condition),
        allow(["ec2:DescribeInstances"], ["*"]),
    ]


def _experiment_template(
    name: str, role_arn: pulumi.Input[str], mark: str, opts: pulumi.ResourceOptions
) -> aws.fis.ExperimentTemplate:
    """One tag alone finds the node: what several tags would mean together is left to nobody's reading."""
    return aws.fis.ExperimentTemplate(
        name,
        description="Interrupts the training node that python -m ops drill has marked",
        role_arn=role_arn,
        actions=[
            {
                "name": "interrupt",
                "action_id": ACTION,
                "parameters": [{"key": "durationBeforeInterruption", "value": NOTICE}],
                "target": {"key": "SpotInstances", "value": TARGET},
            }
        ],
        targets=[
            {
                "name": TARGET,
                "resource_type": "aws:ec2:spot-instance",
                "resource_tags": [{"key": MARK, "value": mark}],
                # Without it a node that has just ended would be taken too.
                "filters": [{"path": "State.Name", "values": ["running"]}],
                "selection_mode": "COUNT(1)",
            }
        ],
        experiment_options={
            "account_targeting": "single-account",
            "empty_target_resolution_mode": "fail",
        },
        # A notice that is sent cannot be called back.
        stop_conditions=[{"source": "none"}],
        opts=opts,
    )
