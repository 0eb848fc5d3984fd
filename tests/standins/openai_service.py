"""Stands in for a service with OpenAI's chat completions: answers quote the documents of the prompt.

https://platform.openai.com/docs/api-reference/chat
"""

import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.standins.extractive import Extract, extract
from tests.standins.faults import Fault, Faults
from tests.standins.loopback import Cut, Reply, Request, json_reply, serving

MODEL = "stand-in"


@dataclass
class OpenAIService:
    """`api_key` is the one key that is let in, or empty for none. A fault's `operation` is always empty."""

    nothing_found: str
    api_key: str = ""
    seconds_between_words: float = 0
    faults: Faults = field(default_factory=Faults)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    def handle(self, request: Request) -> Reply:
        if self.api_key and request.headers.get("authorization") != f"Bearer {self.api_key}":
            return _error(401, "invalid_api_key", "Incorrect API key provided.")
        if (request.method, request.path) == ("GET", "/v1/models"):
            return json_reply({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        if (request.method, request.path) != ("POST", "/v1/chat/completions"):
            return _error(404, "unknown_url", f"Unknown request URL: {request.method} {request.path}")
        fault = self.faults.take("")
        if fault and fault.status:
            return _error(fault.status, fault.code, fault.message)
        return self._complete(json.loads(request.body), fault)

    def _complete(self, body: dict[str, Any], fault: Fault | None) -> Reply:
        self.bodies.append(body)
        if body.get("model") != MODEL:
            return _error(404, "model_not_found", f"The model {body.get('model')!r} does not exist.")
        texts = [turn["content"] for turn in body["messages"]]
        answer = extract(
            "\n".join(texts), texts[-1], self.nothing_found, body.get("max_completion_tokens", 4096)
        )
        if body.get("stream"):
            with_usage = body.get("stream_options", {}).get("include_usage", False)
            events = _with_fault(self._events(answer, with_usage), fault)
            return Reply(body=events, content_type="text/event-stream")
        message = {"role": "assistant", "content": answer.text}
        choice = {"index": 0, "message": message, "finish_reason": _finish(answer)}
        return json_reply(_document("chat.completion", choices=[choice], usage=_usage(answer)))

    def _events(self, answer: Extract, with_usage: bool) -> Generator[bytes]:
        yield _event([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}])
        for position, word in enumerate(answer.text.split(" ")):
            time.sleep(self.seconds_between_words)
            text = word if position == 0 else f" {word}"
            yield _event([{"index": 0, "delta": {"content": text}, "finish_reason": None}])
        yield _event([{"index": 0, "delta": {}, "finish_reason": _finish(answer)}])
        if with_usage:
            yield _event([], usage=_usage(answer))
        yield b"data: [DONE]\n\n"


@contextmanager
def serving_openai(nothing_found: str, **settings: Any) -> Generator[OpenAIService]:
    """A service whose `url` belongs into OPENAI_BASE_URL; `settings` are fields of `OpenAIService`."""
    service = OpenAIService(nothing_found, **settings)
    with serving(service.handle) as address:
        service.url = f"{address}/v1"
        yield service


def _with_fault(events: Generator[bytes], fault: Fault | None) -> Generator[bytes]:
    for position, event in enumerate(events):
        if fault and position == fault.cut_after_events:
            raise Cut
        yield event


def _event(choices: list[dict[str, Any]], **more: Any) -> bytes:
    return f"data: {json.dumps(_document('chat.completion.chunk', choices=choices, **more))}\n\n".encode()


def _document(kind: str, **fields: Any) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 0, "model": MODEL, **fields}


def _usage(answer: Extract) -> dict[str, int]:
    return {
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.input_tokens + answer.output_tokens,
    }


def _finish(answer: Extract) -> str:
    return "length" if answer.truncated else "stop"


def _error(status: int, code: str, message: str) -> Reply:
    return json_reply({"error": {"message": message, "type": "invalid_request_error", "code": code}}, status)
