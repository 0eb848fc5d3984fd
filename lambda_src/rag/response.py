"""The JSON body of an answer and of a failure, the same for the Lambda and the HTTP service."""

from dataclasses import asdict
from typing import Any

from rag.errors import PipelineError
from rag.pipeline import Result


def answer_body(result: Result, request_id: str) -> dict[str, Any]:
    """What a caller gets for a question that went through."""
    return {
        "answer": result.answer,
        "answered": result.answered,
        "sources": [asdict(source) for source in result.sources],
        "request_id": request_id,
    }


def error_body(error: BaseException, request_id: str) -> tuple[int, dict[str, Any]]:
    """Status and body for `error`; of an unexpected one nothing but the fact is told."""
    told = error if isinstance(error, PipelineError) else PipelineError()
    return told.status_code, {
        "error": {"code": told.code, "message": told.public_message},
        "request_id": request_id,
    }


def answer_fields(result: Result, question: str) -> dict[str, Any]:
    """What the log says about an answer: counts, no text."""
    return {
        "question_characters": len(question),
        "answered": result.answered,
        "passages": result.passages,
        "stop_reason": result.stop_reason,
        "input_tokens": result.input_tokens,
        "output_tokens": result.output_tokens,
    }
