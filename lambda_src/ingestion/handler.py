"""Handles a batch of SQS messages; only messages that a further try may help come back to the queue.

A direct call with `reindex` copies a document into another index (`python -m ops reindex`).
"""

import os
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import boto3
from botocore.config import Config

from ingestion.bucket import Bucket
from ingestion.claims import BusyError, Claims
from ingestion.core import Ingestion, Outcome
from ingestion.embedder import Embedder
from ingestion.errors import DocumentError
from ingestion.events import EventError, Task, tasks
from ingestion.extraction import SUFFIXES
from ingestion.manifest import ManifestError
from ingestion.messages import Queue
from ingestion.pacing import Pacer
from ingestion.reindex import reindex
from ingestion.settings import IngestionSettings
from ingestion.store import DocumentStore
from ingestion.tools import Tools
from rag import embedding
from rag.deadline import CONNECT_TIMEOUT_SECONDS, Deadline
from rag.errors import code_and_reason
from rag.log import failure_fields, log_event
from rag.metrics import emit
from rag.services import Services

READ_TIMEOUT_SECONDS = 20
MAX_ATTEMPTS = 3
# The dimension of the metrics.
SERVICE = "ingestion"
PERMANENT = (DocumentError, EventError, ManifestError)

# The tools for one run, bound to the time that the run has.
ToolsFactory = Callable[[Deadline], Tools]


@cache
def tools_factory() -> ToolsFactory:
    """Made at the first call and kept while the environment lives; nothing is made at import."""
    settings = IngestionSettings.from_environment(os.environ)
    services = Services.from_settings(settings.pipeline)
    config = Config(
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=READ_TIMEOUT_SECONDS,
        retries={"mode": "standard", "total_max_attempts": MAX_ATTEMPTS},
    )
    store = DocumentStore(Bucket(boto3.client("s3", config=config), settings.data_lake_bucket))
    queue = Queue(boto3.client("sqs", config=config), settings.queue_url, settings.dead_letter_queue_url)
    # One environment handles one event at a time, so this is the pace of one run after the other.
    pacer = Pacer(settings.embedding_tokens_per_minute)

    def make(deadline: Deadline) -> Tools:
        return Tools(
            settings=settings,
            store=store,
            index=services.search,
            queue=queue,
            claims=Claims(
                store=store,
                generation=settings.collection_generation,
                clock=time.time,
                remaining_seconds=deadline.remaining_seconds,
            ),
            embedder=Embedder(
                embed_texts=lambda texts, until: services.embed_texts(texts, "document", until),
                texts_per_call=embedding.texts_per_call(settings.pipeline),
                pacer=pacer,
                deadline=deadline,
            ),
        )

    return make


def lambda_handler(event: Any, context: Any) -> dict[str, Any]:
    """The entry point of the function. The event source must have ReportBatchItemFailures switched on."""
    return handle(event, context, tools_factory())


def handle(event: Any, context: Any, factory: ToolsFactory) -> dict[str, Any]:
    """`{"batchItemFailures": [...]}` with the messages to be tried again.

    https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
    """
    deadline = Deadline.of_lambda(context)
    if isinstance(event, dict) and "reindex" in event:
        return reindex(factory(deadline), event["reindex"])
    if not isinstance(event, dict) or not isinstance(event.get("Records"), list):
        raise EventError("The event is no batch of SQS messages and asks for nothing else that is known.")
    failed = [record["messageId"] for record in event["Records"] if not _is_done(record, factory(deadline))]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _is_done(record: dict[str, Any], tools: Tools) -> bool:
    """Whether SQS may forget the message: it was dealt with, or lies among the dead letters now."""
    key, failures = "", []
    try:
        for task in tasks(record["body"]):
            try:
                _deal_with(task, record["messageId"], tools)
            except Exception as error:
                key = task.key
                failures.append(error)
                _log_failure(record["messageId"], key, error)
    except EventError as error:
        failures.append(error)
        _log_failure(record["messageId"], "", error)
    # A message with several tasks goes away only when none of them could be helped by another try.
    passing = [error for error in failures if not isinstance(error, PERMANENT)]
    if not failures:
        return True
    if passing and _receives(record) < tools.settings.maximum_receives:
        return False
    return _buried(record, tools, (passing or failures)[0], key)


def _deal_with(task: Task, message_id: str, tools: Tools) -> None:
    started, before = time.monotonic(), tools.embedder.tokens
    outcome = Ingestion(tools).handle(task)
    numbers: dict[str, Any] = {
        "chunks": outcome.chunks,
        "parts": outcome.parts,
        "embedding_tokens": tools.embedder.tokens - before,
        "seconds": round(time.monotonic() - started, 3),
    }
    fields = {"level": "WARNING", "formats_read": SUFFIXES} if outcome.name == "skipped" else numbers
    log_event(outcome.name, message_id=message_id, document_key=task.key, **fields)
    _emit_outcome(outcome, numbers, tools)


def _emit_outcome(outcome: Outcome, numbers: dict[str, Any], tools: Tools) -> None:
    """The metrics of a task that changed something."""
    if outcome.name in ("skipped", "unchanged", "stale"):
        return
    metrics = {
        "Seconds": numbers["seconds"],
        "EmbeddingTokens": numbers["embedding_tokens"],
        "DocumentsIndexed": int(outcome.name == "indexed"),
        "ChunksIndexed": outcome.chunks if outcome.name == "indexed" else 0,
        "DocumentsRemoved": int(outcome.name == "removed"),
        "Errors": 0,
    }
    emit(SERVICE, metrics, embedding_model_id=tools.settings.pipeline.embedding_model_id)


def _buried(record: dict[str, Any], tools: Tools, error: Exception, key: str) -> bool:
    """Send the message to the dead letters with the reason. If that fails, SQS does so itself, without one."""
    _, reason = code_and_reason(error)
    try:
        tools.queue.bury(record, reason, key)
    except Exception as failure:
        _log_failure(record["messageId"], key, failure)
        return False
    log_event("dead_letter", level="ERROR", message_id=record["messageId"], document_key=key, reason=reason)
    return True


def _receives(record: dict[str, Any]) -> int:
    """How often SQS has handed the message out. At the last time nothing but this function can tell why."""
    return int(record.get("attributes", {}).get("ApproximateReceiveCount", 1))


def _log_failure(message_id: str, key: str, error: Exception) -> None:
    is_busy = isinstance(error, BusyError)
    level = "INFO" if is_busy else "ERROR"
    log_event("failed", level=level, message_id=message_id, document_key=key, **failure_fields(error))
    if not is_busy:
        code, _ = code_and_reason(error)
        emit(SERVICE, {"Errors": 1}, error_code=code)
