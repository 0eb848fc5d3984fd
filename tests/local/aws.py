"""S3 and SQS on this machine: a bucket that tells a queue what happens below `raw/`, and a queue for dead letters."""

import json
import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3

REGION = "eu-central-1"
BUCKET = "local-data-lake"
QUEUE = "local-ingestion"
DEAD_LETTERS = "local-ingestion-dead-letters"
MAXIMUM_RECEIVES = 5
# Short, so that a message which has to be tried again is not waited for.
VISIBILITY_TIMEOUT_SECONDS = 3


@dataclass(frozen=True)
class LocalAws:
    url: str
    queue_url: str
    dead_letter_queue_url: str


@contextmanager
def serving_aws() -> Generator[str]:
    """The address of S3 and SQS. The server keeps everything in memory."""
    from moto.server import ThreadedMotoServer  # takes two seconds to import

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def make_resources(url: str) -> LocalAws:
    """Makes bucket and queues. The environment must lead boto3 to `url` and hold keys."""
    s3, sqs = boto3.client("s3"), boto3.client("sqs")
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    dead_letters = sqs.create_queue(QueueName=DEAD_LETTERS)["QueueUrl"]
    redrive = {"deadLetterTargetArn": _arn(sqs, dead_letters), "maxReceiveCount": MAXIMUM_RECEIVES}
    attributes = {"VisibilityTimeout": str(VISIBILITY_TIMEOUT_SECONDS), "RedrivePolicy": json.dumps(redrive)}
    queue = sqs.create_queue(QueueName=QUEUE, Attributes=attributes)["QueueUrl"]
    rule = {
        "QueueArn": _arn(sqs, queue),
        "Events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"],
        "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": "raw/"}]}},
    }
    s3.put_bucket_notification_configuration(
        Bucket=BUCKET, NotificationConfiguration={"QueueConfigurations": [rule]}
    )
    return LocalAws(url, queue, dead_letters)


def _arn(sqs: Any, queue_url: str) -> str:
    return sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
