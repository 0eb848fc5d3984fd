"""The form of `/v1/query` and `/v1/query/stream`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fastapi.sse import format_sse_event

from rag.question import Question, question_from_json
from rag.response import answer_body
from rag.results import Delta, Result, Sources
from rag_api.exchange import encode


@dataclass(frozen=True, kw_only=True)
class Query:
    """What a caller of ours asked, and how the answer is written."""

    question: Question
    wants_stream: bool

    def body(self, result: Result, request_id: str) -> dict[str, Any]:
        """The whole answer."""
        return answer_body(result, request_id)

    def encoder(self, request_id: str) -> "QueryEvents":
        """The answer as events."""
        return QueryEvents(request_id)


class QueryEvents:
    """`sources`, then `delta` for each piece of text, then `result` with the whole answer; `error` ends a stream."""

    def __init__(self, request_id: str) -> None:
        self._request_id = request_id

    def part(self, part: Sources | Delta | Result) -> bytes:
        """One event."""
        if isinstance(part, Delta):
            return _event("delta", {"text": part.text})
        if isinstance(part, Sources):
            return _event("sources", {"sources": [asdict(source) for source in part.sources]})
        return _event("result", answer_body(part, self._request_id))

    def failure(self, body: Mapping[str, Any]) -> bytes:
        """The event `error`, with the same body as an error reply."""
        return _event("error", body)


def read_query(body: bytes) -> Query:
    """A question that wants one JSON object. Raises `QuestionError`."""
    return Query(question=question_from_json(body), wants_stream=False)


def read_streamed_query(body: bytes) -> Query:
    """A question that wants events. Raises `QuestionError`."""
    return Query(question=question_from_json(body), wants_stream=True)


def _event(name: str, data: Mapping[str, Any]) -> bytes:
    return format_sse_event(event=name, data_str=encode(data).decode())
