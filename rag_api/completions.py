"""What `/v1/chat/completions` and `/v1/models` give back, in the form of OpenAI's API.

https://platform.openai.com/docs/api-reference/chat/object and .../chat/streaming. `sources` and `outcome` are ours:
clients keep or ignore fields that they do not know.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from fastapi.sse import format_sse_event

from rag.response import error_body
from rag.results import Delta, Result, Sources
from rag_api.exchange import encode

DONE = format_sse_event(data_str="[DONE]")
# https://platform.openai.com/docs/guides/error-codes: the kind of error by its status.
ERROR_TYPES = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


def completion(result: Result, request_id: str, model: str) -> dict[str, Any]:
    """A whole answer as a `chat.completion`."""
    message = {"role": "assistant", "content": result.answer, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(result)}
    return {
        **_head("chat.completion", request_id, model, int(time.time())),
        "choices": [choice],
        "usage": _usage(result),
        **_extras(result),
    }


class CompletionEvents:
    """`chat.completion.chunk` objects: the role, the text in pieces, the reason of the end, `[DONE]`."""

    def __init__(self, request_id: str, model: str, includes_usage: bool) -> None:
        self._head = _head("chat.completion.chunk", request_id, model, int(time.time()))
        self._includes_usage = includes_usage
        self._is_opened = False

    def part(self, part: Sources | Delta | Result) -> bytes:
        """The chunks for `part`."""
        opening = b"" if self._is_opened else self._chunk({"role": "assistant", "content": ""})
        self._is_opened = True
        if isinstance(part, Sources):
            return opening
        if isinstance(part, Delta):
            return opening + self._chunk({"content": part.text})
        return opening + self._ending(part)

    def failure(self, body: Mapping[str, Any]) -> bytes:
        """The error as data, which OpenAI's own clients raise."""
        return _event(body)

    def _ending(self, result: Result) -> bytes:
        chunks = self._chunk({}, _finish_reason(result), _extras(result))
        if self._includes_usage:
            chunks += _event({**self._head, "choices": [], "usage": _usage(result)})
        return chunks + DONE

    def _chunk(
        self, delta: dict[str, str], finish_reason: str | None = None, extras: Mapping[str, Any] | None = None
    ) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        usage = {"usage": None} if self._includes_usage else {}
        return _event({**self._head, "choices": [choice], **usage, **(extras or {})})


def completion_error(error: BaseException, request_id: str) -> tuple[int, dict[str, Any]]:
    """Status and body of a failure as OpenAI's API tells it."""
    status, body = error_body(error, request_id)
    kind = ERROR_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    told = {
        "message": body["error"]["message"],
        "type": kind,
        "param": getattr(error, "param", None),
        "code": body["error"]["code"],
    }
    return status, {"error": told, "request_id": request_id}


def model_list(*models: str) -> dict[str, Any]:
    """What `/v1/models` shows."""
    data = [{"id": model, "object": "model", "created": 0, "owned_by": "rag-service"} for model in models]
    return {"object": "list", "data": data}


def _head(kind: str, request_id: str, model: str, created: int) -> dict[str, Any]:
    return {"id": f"chatcmpl-{request_id}", "object": kind, "created": created, "model": model}


def _finish_reason(result: Result) -> str:
    return "length" if result.truncated else "stop"


def _usage(result: Result) -> dict[str, int]:
    usage = result.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "embedding_tokens": usage.embedding_tokens,
    }


def _extras(result: Result) -> dict[str, Any]:
    return {"sources": [asdict(source) for source in result.sources], "outcome": result.outcome}


def _event(data: Mapping[str, Any]) -> bytes:
    return format_sse_event(data_str=encode(data).decode())
