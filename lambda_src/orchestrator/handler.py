"""Answers one question: `{"query": ...}` in, status code and a JSON text out."""

import json
import os
import uuid
from collections.abc import Callable
from functools import cache
from typing import Any

from orchestrator.request import question_from_event
from rag.deadline import Deadline
from rag.log import failure_fields, log_event
from rag.pipeline import Services, answer_question
from rag.response import answer_body, answer_fields, error_body
from rag.settings import PipelineSettings


@cache
def services() -> Services:
    """Made at the first question and kept while the environment lives; nothing is made at import."""
    return Services.from_settings(PipelineSettings.from_environment(os.environ))


def lambda_handler(event: Any, context: Any) -> dict[str, Any]:
    """The entry point of the function."""
    return respond(event, context, services)


def respond(event: Any, context: Any, get_services: Callable[[], Services]) -> dict[str, Any]:
    """`{"statusCode", "headers", "body"}` for any event whatsoever; `body` is a JSON text. Never raises.

    Nothing outside is called before the question has been checked.
    """
    request_id = str(getattr(context, "aws_request_id", None) or uuid.uuid4())
    try:
        question = question_from_event(event)
        result = answer_question(question, get_services(), Deadline.of_lambda(context))
        status, body = 200, answer_body(result, request_id)
        log_event("answered", request_id=request_id, **answer_fields(result, question))
    except Exception as error:
        status, body = error_body(error, request_id)
        level = "ERROR" if status >= 500 else "WARNING"
        log_event("failed", level=level, request_id=request_id, status=status, **failure_fields(error))
    return {"statusCode": status, "headers": {"content-type": "application/json"}, "body": json.dumps(body)}
