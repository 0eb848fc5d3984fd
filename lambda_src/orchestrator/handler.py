"""Answers one question: `{"query": ...}` in, status code and a JSON text out."""

import json
import os
import time
import uuid
from collections.abc import Callable
from functools import cache
from typing import Any

from orchestrator.cold_start import without_collection

with without_collection():
    from orchestrator.request import question_from_event
    from rag.deadline import Deadline
    from rag.log import failure_fields, log_event
    from rag.metrics import emit_answer, emit_failure
    from rag.pipeline import Services, answer_question
    from rag.response import answer_body, answer_fields, error_body
    from rag.settings import PipelineSettings

SERVICE = "orchestrator"
HEADERS = {"content-type": "application/json"}


@cache
def services() -> Services:
    """Made at the first question and kept while the environment lives; nothing is made at import."""
    with without_collection():
        settings = PipelineSettings.from_environment(os.environ)
        made = Services.from_settings(settings)
        made.bedrock_client(settings.bedrock_read_timeout_seconds)
    return made


def lambda_handler(event: Any, context: Any) -> dict[str, Any]:
    """The entry point of the function."""
    return respond(event, context, services)


def respond(event: Any, context: Any, get_services: Callable[[], Services]) -> dict[str, Any]:
    """`{"statusCode", "headers", "body"}` for any event whatsoever; `body` is a JSON text. Never raises.

    Nothing outside is called before the question has been checked.
    """
    start = time.monotonic()
    request_id = str(getattr(context, "aws_request_id", None) or uuid.uuid4())
    try:
        status, body = 200, _answered(event, context, get_services, request_id, start)
    except Exception as error:
        status, body = _failed(error, request_id, start)
    headers = {**HEADERS, "retry-after": "5"} if status in (429, 503) else HEADERS
    return {"statusCode": status, "headers": headers, "body": body}


def _answered(
    event: Any, context: Any, get_services: Callable[[], Services], request_id: str, start: float
) -> str:
    question = question_from_event(event)
    made = get_services()
    result = answer_question(question, made, Deadline.of_lambda(context))
    # A score that is no number would make a text that is no JSON.
    body = json.dumps(answer_body(result, request_id), allow_nan=False)
    log_event("answered", request_id=request_id, **answer_fields(result, question))
    emit_answer(
        SERVICE,
        result,
        _spent_ms(start),
        answer_model_id=made.settings.answer_model_id,
        embedding_model_id=made.settings.embedding_model_id,
    )
    return body


def _failed(error: Exception, request_id: str, start: float) -> tuple[int, str]:
    status, body = error_body(error, request_id)
    level = "ERROR" if status >= 500 else "WARNING"
    log_event("failed", level=level, request_id=request_id, status=status, **failure_fields(error))
    emit_failure(SERVICE, body["error"]["code"], status, _spent_ms(start))
    return status, json.dumps(body)


def _spent_ms(start: float) -> float:
    return (time.monotonic() - start) * 1000
