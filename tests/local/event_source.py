"""`python -m tests.local.event_source`: hands a queue's messages to the ingestion handler, as Lambda's poller does."""

import json
import os
import signal
import threading
import traceback
from collections.abc import Callable
from typing import Any

import boto3

from tests.local.context import LambdaContext
from tests.local.lifeline import end_with_parent

BATCH_SIZE = 10
WAIT_SECONDS = 1
TIMEOUT_SECONDS = 300
Handler = Callable[[Any, Any], dict[str, Any]]


def event_of(messages: list[dict[str, Any]], queue_arn: str, region: str) -> dict[str, Any]:
    """https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html#example-standard-queue-message-event"""
    return {"Records": [_record(message, queue_arn, region) for message in messages]}


def _record(message: dict[str, Any], queue_arn: str, region: str) -> dict[str, Any]:
    attributes = {
        name: {"stringValue": value.get("StringValue"), "dataType": value["DataType"]}
        for name, value in message.get("MessageAttributes", {}).items()
    }
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message.get("Attributes", {}),
        "messageAttributes": attributes,
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": region,
    }


def failed_ids(handler: Handler, event: dict[str, Any]) -> set[str]:
    """The messages to be tried again: all of them when the handler raises or answers something else.

    https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
    """
    every = {record["messageId"] for record in event["Records"]}
    try:
        reply = handler(event, LambdaContext(TIMEOUT_SECONDS))
        failures = [item["itemIdentifier"] for item in json.loads(json.dumps(reply))["batchItemFailures"]]
    except Exception:
        traceback.print_exc()
        return every
    return set(failures) if set(failures) <= every else every


def poll(sqs: Any, queue_url: str, handler: Handler) -> int:
    """One batch; returns how many messages came. What failed is seen again after the queue's visibility time-out."""
    received = sqs.receive_message(
        QueueUrl=queue_url, MaxNumberOfMessages=BATCH_SIZE, WaitTimeSeconds=WAIT_SECONDS,
        AttributeNames=["All"], MessageAttributeNames=["All"],
    ).get("Messages", [])  # fmt: skip
    if not received:
        return 0
    arn = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    failed = failed_ids(handler, event_of(received, arn, sqs.meta.region_name))
    for message in received:
        if message["MessageId"] not in failed:
            sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"])
    return len(received)


def main() -> None:
    from ingestion.handler import lambda_handler

    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    end_with_parent()
    sqs = boto3.client("sqs")
    while not ended.is_set():
        try:
            poll(sqs, os.environ["QUEUE_URL"], lambda_handler)
        except Exception:
            if not ended.is_set():  # the queue goes first when all end together
                traceback.print_exc()
                ended.wait(1)


if __name__ == "__main__":
    main()
