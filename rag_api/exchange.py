"""One request from its arrival to its last byte: id, time limit, and what the log and the metrics say about it."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import Response

from rag.deadline import Deadline
from rag.log import failure_fields, log_event
from rag.metrics import emit_answer, emit_failure
from rag.question import Question
from rag.response import answer_fields
from rag.results import Result
from rag_api.errors import BusyError, ShuttingDownError
from rag_api.requests import REQUEST_ID_HEADER

SERVICE = "api"
# Statuses after which the same request can succeed in a moment.
RETRY_AFTER = {429: "1", 503: "1"}
# Whoever scans the internet for open doors makes many of these; they say nothing about the service.
UNCOUNTED = {401, 404, 405}

ErrorBody = Callable[[BaseException, str], tuple[int, dict[str, Any]]]


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """`error_body` puts a failure into the caller's own form: status and JSON object. Metrics name the models."""

    request_id: str
    route: str
    seconds: float
    error_body: ErrorBody
    answer_model_id: str
    embedding_model_id: str
    started: float = field(default_factory=time.monotonic)

    @property
    def deadline(self) -> Deadline:
        """The request's own deadline, which the pipeline keeps to."""
        return Deadline(self.remaining_seconds)

    def remaining_seconds(self) -> float:
        """How much of the request's time is left; negative when it is over."""
        return self.started + self.seconds - time.monotonic()

    def answered(self, result: Result, question: Question) -> None:
        """Log and count an answer: numbers and times, no text."""
        milliseconds = self._milliseconds()
        log_event("answered", **self._fields(milliseconds), **answer_fields(result, question))
        emit_answer(
            SERVICE,
            result,
            milliseconds,
            answer_model_id=self.answer_model_id,
            embedding_model_id=self.embedding_model_id,
        )

    def failed(self, error: BaseException) -> tuple[int, dict[str, Any]]:
        """Log and count a failure; its status and body for the caller."""
        status, body = self.error_body(error, self.request_id)
        milliseconds = self._milliseconds()
        # A full server and one that stops do what they shall.
        is_fault = status >= 500 and not isinstance(error, BusyError | ShuttingDownError)
        level = "ERROR" if is_fault else "WARNING"
        log_event("failed", level=level, status=status, **self._fields(milliseconds), **failure_fields(error))
        if status not in UNCOUNTED:
            emit_failure(SERVICE, body["error"]["code"], status, milliseconds)
        return status, body

    def failure(self, error: BaseException) -> Response:
        """The logged failure as a response."""
        status, body = self.failed(error)
        headers = {}
        if status == 401:
            headers["www-authenticate"] = "Bearer"
        if status in RETRY_AFTER:
            headers["retry-after"] = RETRY_AFTER[status]
        if status in (401, 408, 413):
            # What is left of the body is not read.
            headers["connection"] = "close"
        return self.reply(body, status, headers)

    def reply(
        self, body: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None
    ) -> Response:
        """A JSON response that carries the request id."""
        own = {REQUEST_ID_HEADER: self.request_id, **(headers or {})}
        return Response(encode(body), status, own, media_type="application/json")

    def _milliseconds(self) -> float:
        return round((time.monotonic() - self.started) * 1000, 1)

    def _fields(self, milliseconds: float) -> dict[str, Any]:
        return {"request_id": self.request_id, "route": self.route, "milliseconds": milliseconds}


def encode(body: Mapping[str, Any]) -> bytes:
    """Compact JSON as UTF-8, whatever half characters a model may write."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
