"""Handles a batch of SQS messages with S3 notifications; only messages that failed come back to the queue."""

import os
from collections.abc import Callable
from functools import cache
from typing import Any

import boto3
from botocore.config import Config

from ingestion.core import TEXT_SUFFIXES, Ingestion
from ingestion.events import EventError, ObjectChange, object_changes
from ingestion.settings import IngestionSettings
from ingestion.store import DocumentStore
from rag.deadline import CONNECT_TIMEOUT_SECONDS, Deadline
from rag.log import failure_fields, log_event
from rag.pipeline import Services

S3_READ_TIMEOUT_SECONDS = 20
S3_MAX_ATTEMPTS = 3

# An `Ingestion` for one invocation, bound to the time that the invocation has.
IngestionFactory = Callable[[Deadline], Ingestion]


@cache
def ingestion_factory() -> IngestionFactory:
    """Made at the first batch and kept while the environment lives; nothing is made at import."""
    settings = IngestionSettings.from_environment(os.environ)
    services = Services.from_settings(settings.pipeline)
    config = Config(
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=S3_READ_TIMEOUT_SECONDS,
        retries={"mode": "standard", "total_max_attempts": S3_MAX_ATTEMPTS},
    )
    store = DocumentStore(boto3.client("s3", config=config), settings.data_lake_bucket)
    return lambda deadline: Ingestion(
        store=store,
        index=services.search,
        index_alias=settings.pipeline.index_alias,
        embed=lambda text: services.embed(text, deadline),
        model_id=settings.pipeline.embedding_model_id,
        collection_generation=settings.collection_generation,
    )


def lambda_handler(event: Any, context: Any) -> dict[str, Any]:
    """The entry point of the function. The event source must have ReportBatchItemFailures switched on."""
    return handle(event, context, ingestion_factory())


def handle(event: Any, context: Any, factory: IngestionFactory) -> dict[str, Any]:
    """`{"batchItemFailures": [...]}` with the messages to be tried again.

    https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
    """
    if not isinstance(event, dict) or not isinstance(event.get("Records"), list):
        raise EventError("The event is no batch of SQS messages.")
    ingestion = factory(Deadline.of_lambda(context))
    failed = [record["messageId"] for record in event["Records"] if not _succeeded(record, ingestion)]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _succeeded(record: dict[str, Any], ingestion: Ingestion) -> bool:
    message_id = record["messageId"]
    key = ""
    try:
        for change in object_changes(record["body"]):
            key = change.key
            _log_outcome(message_id, change, ingestion.handle(change))
    except Exception as error:
        log_event("failed", level="ERROR", message_id=message_id, document_key=key, **failure_fields(error))
        return False
    return True


def _log_outcome(message_id: str, change: ObjectChange, outcome: str) -> None:
    fields: dict[str, Any] = {"message_id": message_id, "document_key": change.key}
    if outcome == "skipped":
        log_event("skipped", level="WARNING", formats_read=TEXT_SUFFIXES, **fields)
    else:
        log_event(outcome, **fields)
