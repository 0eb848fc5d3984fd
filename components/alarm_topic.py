"""The SNS topic that the alarms of a stack are sent to, and the person who hears of them."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.aws_account import AwsAccount
from components.iam import document

ALARMS = "cloudwatch.amazonaws.com"
# As SNS documents it for alarms.
# https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html#compatibility-with-aws-services
PUBLISHER_KEY_ACTIONS = ("kms:Decrypt", "kms:GenerateDataKey*")
# The shortest that KMS takes: of messages nothing is kept.
DELETION_WINDOW_DAYS = 7


@dataclass(frozen=True, kw_only=True)
class AlarmTopicArgs:
    """Without an `email` the topic has no subscriber yet."""

    account: AwsAccount
    email: str


class AlarmTopic(pulumi.ComponentResource):
    """Takes messages from this account's alarms and from nobody else, over TLS, and encrypts them.

    The key is the topic's own and costs a dollar a month: the policy of AWS's own key for SNS (alias/aws/sns) does not
    let alarms use it, and cannot be changed. The owner of the address must confirm before anything is sent.
    https://repost.aws/knowledge-center/cloudwatch-receive-sns-for-alarm-trigger
    """

    topic_arn: pulumi.Output[str]

    def __init__(self, name: str, args: AlarmTopicArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:AlarmTopic", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        key = aws.kms.Key(
            f"{name}-key",
            description=f"Messages of {name}",
            enable_key_rotation=True,
            deletion_window_in_days=DELETION_WINDOW_DAYS,
            policy=pulumi.Output.json_dumps(document(_key_statements(args.account))),
            opts=child,
        )
        topic = aws.sns.Topic(f"{name}-topic", kms_master_key_id=key.arn, opts=child)
        aws.sns.TopicPolicy(
            f"{name}-policy",
            arn=topic.arn,
            policy=pulumi.Output.json_dumps(document(_topic_statements(args.account, topic.arn))),
            opts=child,
        )
        if args.email:
            aws.sns.TopicSubscription(
                f"{name}-email", topic=topic.arn, protocol="email", endpoint=args.email, opts=child
            )
        self.topic_arn = topic.arn
        self.register_outputs({"topic_arn": self.topic_arn})


def _key_statements(account: AwsAccount) -> list[dict[str, Any]]:
    """In a key's policy the resource "*" is the key itself. Without its account nobody could ever change the key.

    https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-overview.html
    """
    root = pulumi.Output.format("arn:{0}:iam::{1}:root", account.partition, account.account_id)
    administrators = {
        "Effect": "Allow",
        "Principal": {"AWS": root},
        "Action": "kms:*",
        "Resource": "*",
    }
    return [administrators, _by_own_alarms(account, PUBLISHER_KEY_ACTIONS, "*")]


def _topic_statements(account: AwsAccount, topic_arn: pulumi.Input[str]) -> list[dict[str, Any]]:
    refusal = {
        "Effect": "Deny",
        "Principal": "*",
        # SNS refuses sns:* in a topic's policy, which may hold what is done to a topic only.
        "Action": "sns:Publish",
        "Resource": topic_arn,
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return [refusal, _by_own_alarms(account, ("sns:Publish",), topic_arn)]


def _by_own_alarms(
    account: AwsAccount, actions: tuple[str, ...], resource: pulumi.Input[str]
) -> dict[str, Any]:
    """CloudWatch acts for any account's alarms, so it is asked for whose.

    https://docs.aws.amazon.com/sns/latest/dg/sns-access-policy-use-cases.html
    """
    return {
        "Effect": "Allow",
        "Principal": {"Service": ALARMS},
        "Action": list(actions),
        "Resource": resource,
        "Condition": {
            "StringEquals": {"aws:SourceAccount": account.account_id},
            "ArnLike": {"aws:SourceArn": account.arn("cloudwatch", "alarm:*")},
        },
    }
