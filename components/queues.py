"""SQS queues as the platform uses them: encrypted by SQS, kept for the longest time, spoken to over TLS only."""

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from components.iam import Statement, document

# The longest that SQS keeps a message.
# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
RETENTION_SECONDS = 14 * 24 * 3600
# The most that SQS takes (same page). The provider's own default is a quarter of that, and a message that failed
# carries the reason beside what it was.
MAXIMUM_MESSAGE_BYTES = 1024 * 1024


def private_queue(
    owner: pulumi.Resource,
    purpose: str,
    visibility_timeout_seconds: int | None = None,
    redrive_policy: pulumi.Input[str] | None = None,
) -> aws.sqs.Queue:
    """A queue under `owner`; it needs a policy made of `queue_policy` beside it."""
    return aws.sqs.Queue(
        f"{owner.pulumi_resource_name}-{purpose}",
        sqs_managed_sse_enabled=True,
        message_retention_seconds=RETENTION_SECONDS,
        max_message_size=MAXIMUM_MESSAGE_BYTES,
        visibility_timeout_seconds=visibility_timeout_seconds,
        redrive_policy=redrive_policy,
        opts=pulumi.ResourceOptions(parent=owner),
    )


def attach_queue_policy(
    owner: pulumi.Resource, queue: aws.sqs.Queue, statements: Sequence[Statement] = ()
) -> aws.sqs.QueuePolicy:
    """Gives `queue` its policy: `statements`, and TLS for everybody."""
    return aws.sqs.QueuePolicy(
        f"{queue.pulumi_resource_name}-policy",
        queue_url=queue.id,
        policy=pulumi.Output.json_dumps(queue_policy(queue.arn, statements)),
        opts=pulumi.ResourceOptions(parent=owner),
    )


def queue_policy(queue_arn: pulumi.Input[str], statements: Sequence[Statement] = ()) -> dict[str, Any]:
    """A queue's policy that refuses whatever does not come over TLS."""
    refusal = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "sqs:*",
        "Resource": queue_arn,
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return document([refusal, *statements])
