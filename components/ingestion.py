"""Ingestion: changes below `raw/` of the data lake, through a queue, to the function that keeps the index in step."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.aws_account import AwsAccount
from components.config_sections import AnswersConfig, IngestionConfig
from components.data_lake import DataLake
from components.function import PackagedFunction, PackagedFunctionArgs
from components.iam import allow, grant
from components.lake_layout import RAW
from components.network import Network
from components.pacing import share_of_a_run
from components.pipeline_environment import pipeline_environment
from components.queues import attach_queue_policy, private_queue
from components.vector_store import VectorStore

# A document that a lifecycle rule expired is gone as well, and S3 tells it apart from one that somebody removed.
# https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-how-to-event-types-and-destinations.html
EVENTS = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:LifecycleExpiration:*")
RECEIVE_ACTIONS = ("sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage")
# The parts of a large document come back through the same queue, and a document that no try can mend goes to the dead
# letters at once. A part sends nothing, so no message starts an endless round.
SEND_ACTIONS = ("sqs:SendMessage",)
# AWS's advice, so that a batch in work is never handed out again.
# https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
VISIBILITY_TIMEOUTS = 6
# One document an invocation: a document that takes too long must not take others with it to the dead letters.
BATCH_SIZE = 1


@dataclass(frozen=True, kw_only=True)
class IngestionArgs:
    config: IngestionConfig
    answers: AnswersConfig
    account: AwsAccount
    data_lake: DataLake
    vector_store: VectorStore
    vector_generation: str
    network: Network
    paused: bool
    log_retention_days: int


class Ingestion(pulumi.ComponentResource):
    """Keeps the index in step with the documents; `role` is granted lake, models and collection from outside.

    This is the only notification of the bucket, since S3 keeps one configuration for all of them. Paused, events
    wait in the queue, at most 14 days. What failed again and again lies in the dead-letter queue as long.
    """

    role: aws.iam.Role
    queue_url: pulumi.Output[str]
    dead_letter_queue_url: pulumi.Output[str]
    function_name: pulumi.Output[str]

    def __init__(self, name: str, args: IngestionArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:Ingestion", name, None, opts)
        dead_letters = private_queue(self, "dead-letters")
        attach_queue_policy(self, dead_letters)
        queue = self._queue(args.config, dead_letters)
        self._notify(args, queue)
        function = self._function(args, queue, dead_letters)
        self._consume(args, queue, dead_letters, function)
        self.role = function.role
        self.queue_url = queue.url
        self.dead_letter_queue_url = dead_letters.url
        self.function_name = function.function_name
        self.register_outputs({"queue_url": self.queue_url, "function_name": self.function_name})

    def _queue(self, config: IngestionConfig, dead_letters: aws.sqs.Queue) -> aws.sqs.Queue:
        queue = private_queue(
            self,
            "events",
            visibility_timeout_seconds=VISIBILITY_TIMEOUTS * config.timeout_seconds,
            redrive_policy=pulumi.Output.json_dumps(
                {"deadLetterTargetArn": dead_letters.arn, "maxReceiveCount": config.maximum_receives}
            ),
        )
        aws.sqs.RedriveAllowPolicy(
            f"{self.pulumi_resource_name}-redrive",
            queue_url=dead_letters.id,
            redrive_allow_policy=pulumi.Output.json_dumps(
                {"redrivePermission": "byQueue", "sourceQueueArns": [queue.arn]}
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )
        return queue

    def _notify(self, args: IngestionArgs, queue: aws.sqs.Queue) -> None:
        sender = bucket_may_send(queue.arn, args.data_lake.bucket_arn, args.account.account_id)
        policy = attach_queue_policy(self, queue, [sender])
        aws.s3.BucketNotification(
            f"{self.pulumi_resource_name}-notification",
            bucket=args.data_lake.bucket_name,
            queues=[{"queue_arn": queue.arn, "events": list(EVENTS), "filter_prefix": RAW}],
            # S3 sends a test message at once and refuses a queue that does not take it.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
        )

    def _function(
        self, args: IngestionArgs, queue: aws.sqs.Queue, dead_letters: aws.sqs.Queue
    ) -> PackagedFunction:
        return PackagedFunction(
            f"{self.pulumi_resource_name}-index",
            PackagedFunctionArgs(
                package="ingestion",
                environment={
                    **pipeline_environment(args.answers, args.vector_store),
                    "DATA_LAKE_BUCKET": args.data_lake.bucket_name,
                    "COLLECTION_GENERATION": args.vector_generation,
                    "CHUNK_TOKENS": str(args.config.chunk_tokens),
                    "CHUNK_OVERLAP_TOKENS": str(args.config.chunk_overlap_tokens),
                    "EMBEDDING_TOKENS_PER_MINUTE": str(share_of_a_run(args.config)),
                    "QUEUE_URL": queue.url,
                    "DEAD_LETTER_QUEUE_URL": dead_letters.url,
                    "MAXIMUM_RECEIVES": str(args.config.maximum_receives),
                },
                timeout_seconds=args.config.timeout_seconds,
                memory_mib=args.config.memory_mib,
                log_retention_days=args.log_retention_days,
                partition=args.account.partition,
                network=args.network if args.vector_store.needs_network else None,
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _consume(
        self,
        args: IngestionArgs,
        queue: aws.sqs.Queue,
        dead_letters: aws.sqs.Queue,
        function: PackagedFunction,
    ) -> None:
        receive = grant(self, "receive", function.role, [allow(RECEIVE_ACTIONS, [queue.arn])])
        send = grant(self, "send", function.role, [allow(SEND_ACTIONS, [queue.arn, dead_letters.arn])])
        aws.lambda_.EventSourceMapping(
            f"{self.pulumi_resource_name}-source",
            event_source_arn=queue.arn,
            function_name=function.function_arn,
            batch_size=BATCH_SIZE,
            function_response_types=["ReportBatchItemFailures"],
            scaling_config={"maximum_concurrency": args.config.maximum_concurrency},
            enabled=not args.paused,
            # Lambda refuses a queue that the function's role may not read, and a first document may need to be parted.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[receive, send]),
        )


def bucket_may_send(
    queue_arn: pulumi.Input[str], bucket_arn: pulumi.Input[str], account_id: pulumi.Input[str]
) -> dict[str, Any]:
    """Lets S3 send to the queue, for this bucket of this account alone: bucket names can be taken over."""
    return {
        "Effect": "Allow",
        "Principal": {"Service": "s3.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": queue_arn,
        "Condition": {
            "ArnEquals": {"aws:SourceArn": bucket_arn},
            "StringEquals": {"aws:SourceAccount": account_id},
        },
    }
