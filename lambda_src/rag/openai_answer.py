"""Answers from an OpenAI-compatible service: OpenAI itself or an inference server of our own."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import urllib3
from urllib3.exceptions import HTTPError

from rag.answers import Answer, Prompt
from rag.deadline import CONNECT_TIMEOUT_SECONDS
from rag.errors import UnavailableError, UpstreamTimeoutError
from rag.openai_errors import WHAT, inner_error, refusal, typed_errors
from rag.prompt import messages
from rag.server_sent_events import event_data

# More than the threads of the API that can answer at one time: a connection beyond it would be made anew per call.
MAX_POOL_CONNECTIONS = 256
# No answer comes near; an endless reply must not fill the memory.
MAX_REPLY_BYTES = 4_000_000
# How long a service that has said that it is done may take to end its reply, so that the connection can be kept.
LAST_READ_SECONDS = 0.1
# Finish reasons after which the text is not whole.
TRUNCATED = {"length", "content_filter"}


@dataclass(frozen=True, kw_only=True)
class OpenAISettings:
    """An OpenAI-compatible service. An empty `api_key` sends none, as a server of our own may need none."""

    base_url: str
    model: str
    api_key: str = field(repr=False)


class OpenAIAnswerer:
    """Calls `/chat/completions` once per answer; connections are kept between calls. May be shared by threads."""

    def __init__(self, settings: OpenAISettings, max_tokens: int, temperature: float | None = None) -> None:
        self._settings = settings
        self._limits: dict[str, Any] = {"max_completion_tokens": max_tokens}
        # Newer models refuse sampling parameters.
        if temperature is not None:
            self._limits["temperature"] = temperature
        # One attempt, and no redirect: it would carry the key to an address that nobody chose.
        self._http = urllib3.PoolManager(retries=False, maxsize=MAX_POOL_CONNECTIONS)

    def answer(self, prompt: Prompt, read_timeout_seconds: int) -> Answer:
        """The whole answer. Raises a `PipelineError`."""
        end = monotonic() + read_timeout_seconds
        with typed_errors(), closing(self._post(prompt, read_timeout_seconds, {})) as response:
            reply = json.loads(_body(response, end))
            heard = _Heard()
            heard.text_of(reply, "message")
            if not heard.choices:
                raise UnavailableError(f"{WHAT} replied without a message.")
        return heard.answer()

    def stream(self, prompt: Prompt, read_timeout_seconds: int) -> Iterator[str | Answer]:
        """The answer as it is written, see `rag.answers.Answerer`. Raises a `PipelineError`."""
        # Without this option the last event brings no usage; a service that does not know it sends none either.
        asked = {"stream": True, "stream_options": {"include_usage": True}}
        heard = _Heard()
        with typed_errors():
            response = self._post(prompt, read_timeout_seconds, asked)
        # Closing the response closes its connection, unless all of it was read.
        with closing(response):
            yield from _pieces(response, heard)
            _read_end(response)
        yield heard.answer()

    def _post(
        self, prompt: Prompt, read_timeout_seconds: int, asked: Mapping[str, Any]
    ) -> urllib3.BaseHTTPResponse:
        body = {
            "model": self._settings.model,
            "messages": [
                {"role": "system", "content": prompt.system_text},
                *({"role": turn.role, "content": turn.text} for turn in messages(prompt)),
            ],
            **self._limits,
            **asked,
        }
        headers = {"content-type": "application/json"}
        if self._settings.api_key:
            headers["authorization"] = f"Bearer {self._settings.api_key}"
        response = self._http.request(
            "POST",
            f"{self._settings.base_url}/chat/completions",
            body=json.dumps(body).encode(),
            headers=headers,
            timeout=urllib3.Timeout(connect=CONNECT_TIMEOUT_SECONDS, read=read_timeout_seconds),
            preload_content=False,
        )
        if response.status != 200:
            response.close()
            raise refusal(response.status, self._settings.model)
        return response


@dataclass
class _Heard:
    """What the documents of a reply told so far. A plain reply is one document."""

    pieces: list[str] = field(default_factory=list)
    stop_reason: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    choices: int = 0
    is_done: bool = False

    def text_of(self, document: Any, part: str) -> str:
        """The text under `part` of the first choice, empty when there is none; the rest of it is kept."""
        if document.get("error"):
            raise inner_error(document["error"])
        self.usage = document.get("usage") or self.usage
        text = ""
        for choice in document["choices"][:1]:
            self.choices += 1
            self.stop_reason = choice.get("finish_reason") or self.stop_reason
            text = _text((choice.get(part) or {}).get("content"))
        if text:
            self.pieces.append(text)
        return text

    def answer(self) -> Answer:
        return Answer(
            text="".join(self.pieces).strip() or None,
            stop_reason=self.stop_reason,
            truncated=self.stop_reason in TRUNCATED,
            input_tokens=_count(self.usage, "prompt_tokens"),
            output_tokens=_count(self.usage, "completion_tokens"),
        )


def _body(response: urllib3.BaseHTTPResponse, end: float) -> bytes:
    """All of a plain reply. The read time-out holds for each part; this bounds the time of all, and their size."""
    content = bytearray()
    while part := response.read1(65_536):
        content += part
        if monotonic() > end:
            raise UpstreamTimeoutError(f"{WHAT} did not reply in full in time.")
        if len(content) > MAX_REPLY_BYTES:
            raise UnavailableError(f"{WHAT} sent a reply of more than {MAX_REPLY_BYTES} bytes.")
    return bytes(content)


def _pieces(response: urllib3.BaseHTTPResponse, heard: _Heard) -> Iterator[str]:
    """The text of each event of `response`, which `heard` keeps, and an empty one after each part that arrives.

    Raises when the stream ends before its time.
    """
    events = event_data(iter(lambda: response.read1(65_536), b""))
    while not heard.is_done:
        with typed_errors():
            data = next(events, None)
            if data is None and not heard.stop_reason:
                raise UnavailableError(f"{WHAT} broke off.")
            heard.is_done = data is None or data.strip() == b"[DONE]"
            piece = heard.text_of(json.loads(data), "delta") if data and not heard.is_done else ""
        yield piece


def _read_end(response: urllib3.BaseHTTPResponse) -> None:
    """A connection is kept when the end of its reply was read. urllib3 sets the time-out anew with each request."""
    sock = getattr(response.connection, "sock", None)
    if sock is not None:
        sock.settimeout(LAST_READ_SECONDS)
        with suppress(HTTPError, OSError):
            response.read1(1)


def _text(content: Any) -> str:
    """A text, or the parts of a list that are text: models that think send their reasoning as other parts."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    if content is not None and not isinstance(content, str):
        raise TypeError("the content is no text")
    return content or ""


def _count(usage: Mapping[str, Any], key: str) -> int:
    count = usage.get(key)
    return count if isinstance(count, int) else 0
