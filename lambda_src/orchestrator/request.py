"""Reads the question out of the event of a direct invocation, a function URL or an HTTP API."""

import base64
import binascii
from typing import Any

from rag.errors import QuestionError, QuestionTooLongError
from rag.question import MAX_REQUEST_BYTES, Question, question_from_json, question_from_object

HTTP_KEYS = ("body", "requestContext", "isBase64Encoded", "rawPath", "httpMethod")


def question_from_event(event: Any) -> Question:
    """The question, checked; raises `QuestionError` with a sentence for the caller.

    An event with a key of an HTTP request is one, everything else is a direct `{"query": ...}`.
    """
    if isinstance(event, dict) and any(key in event for key in HTTP_KEYS):
        return question_from_json(_body(event))
    return question_from_object(event)


def _body(event: dict[str, Any]) -> bytes:
    body = event.get("body")
    if not isinstance(body, str) or not body:
        raise QuestionError("The request has no body.")
    if len(body) > 2 * MAX_REQUEST_BYTES:
        raise QuestionTooLongError(f"The request may have at most {MAX_REQUEST_BYTES} bytes.")
    try:
        return (
            base64.b64decode(body, validate=True) if event.get("isBase64Encoded") is True else body.encode()
        )
    except (binascii.Error, ValueError):
        raise QuestionError("The request body cannot be decoded.") from None
