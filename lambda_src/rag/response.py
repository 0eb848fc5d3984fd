"""The JSON body of an answer and of a failure, the same for the Lambda and the HTTP service."""

from dataclasses import asdict
from typing import Any

from rag.errors import PipelineError
from rag.passages import Filter
from rag.pipeline import Result
from rag.question import Question


def answer_body(result: Result, request_id: str) -> dict[str, Any]:
    """What a caller gets for a question that went through."""
    return {
        "answer": result.answer,
        "outcome": result.outcome,
        "truncated": result.truncated,
        "sources": [asdict(source) for source in result.sources],
        "usage": asdict(result.usage),
        "request_id": request_id,
    }


def error_body(error: BaseException, request_id: str) -> tuple[int, dict[str, Any]]:
    """Status and body for `error`; of an unexpected one nothing but the fact is told."""
    told = error if isinstance(error, PipelineError) else PipelineError()
    return told.status_code, {
        "error": {"code": told.code, "message": told.public_message},
        "request_id": request_id,
    }


def answer_fields(result: Result, question: Question) -> dict[str, Any]:
    """What the log says about an answer: counts, no text."""
    return {
        "question_characters": len(question.text),
        "history_turns": len(question.history),
        "filtered": question.filter != Filter(),
        "outcome": result.outcome,
        "truncated": result.truncated,
        "passages": result.passages,
        "stop_reason": result.stop_reason,
        "timings_ms": dict(result.timings_ms),
        **asdict(result.usage),
    }
