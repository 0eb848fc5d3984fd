"""Clients of Amazon Bedrock, and answers by Converse and ConverseStream."""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.eventstream import ParserError

from rag.answers import Answer, Prompt
from rag.aws_errors import typed_errors
from rag.deadline import CONNECT_TIMEOUT_SECONDS
from rag.errors import UnavailableError
from rag.prompt import messages
from rag.settings import PipelineSettings

# More than the threads of the API that can answer at one time: a connection beyond it would be made anew per call.
MAX_POOL_CONNECTIONS = 256
# Stop reasons after which the text is not whole; botocore 1.44.8 lists them all under StopReason.
TRUNCATED = {"max_tokens", "model_context_window_exceeded", "content_filtered"}


class BedrockClients:
    """Clients by read time-out in seconds, each made when first asked for. May be shared by threads."""

    def __init__(self, session: botocore.session.Session, region: str) -> None:
        self._session = session
        self._region = region
        self._clients: dict[int, Any] = {}
        self._lock = threading.Lock()

    def __call__(self, read_timeout_seconds: int) -> Any:
        """A client that makes one attempt per call: `rag.deadline.Attempts` knows the time left and repeats."""
        # Making a client from a session that other threads use is not safe.
        # https://docs.aws.amazon.com/boto3/latest/guide/session.html
        with self._lock:
            if read_timeout_seconds not in self._clients:
                self._clients[read_timeout_seconds] = self._make(read_timeout_seconds)
            return self._clients[read_timeout_seconds]

    def _make(self, read_timeout_seconds: int) -> Any:
        config = Config(
            region_name=self._region,
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
            read_timeout=read_timeout_seconds,
            max_pool_connections=MAX_POOL_CONNECTIONS,
            retries={"mode": "standard", "total_max_attempts": 1},
        )
        return self._session.create_client("bedrock-runtime", config=config)


@dataclass(frozen=True)
class BedrockAnswerer:
    """Asks the settings' answer model; `client` gives a client for a read time-out in seconds."""

    client: Callable[[int], Any]
    settings: PipelineSettings

    def answer(self, prompt: Prompt, read_timeout_seconds: int) -> Answer:
        """The whole answer. Raises a `PipelineError`."""
        with typed_errors(f"Answering with {self.settings.answer_model_id}"):
            reply = self.client(read_timeout_seconds).converse(**self._request(prompt))
        message = reply.get("output", {}).get("message")
        if message is None:
            raise UnavailableError(f"{self.settings.answer_model_id} replied without a message.")
        # A model that thinks sends its reasoning in blocks before the text: blocks are picked by kind.
        pieces = [block["text"] for block in message.get("content", []) if "text" in block]
        return _answer(pieces, reply.get("stopReason", ""), reply.get("usage", {}))

    def stream(self, prompt: Prompt, read_timeout_seconds: int) -> Iterator[str | Answer]:
        """The answer as it is written, see `rag.answers.Answerer`. Raises a `PipelineError`."""
        what = f"Answering with {self.settings.answer_model_id}"
        with typed_errors(what):
            reply = self.client(read_timeout_seconds).converse_stream(**self._request(prompt))
        events = reply["stream"]
        heard = _Heard()
        try:
            for event in _typed_events(events, what):
                yield heard.text_of(event)
        finally:
            events.close()
        if not heard.stop_reason:
            raise UnavailableError(f"{what} broke off.")
        yield _answer(heard.pieces, heard.stop_reason, heard.usage)

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        limits: dict[str, Any] = {"maxTokens": self.settings.answer_max_tokens}
        # Newer models refuse sampling parameters.
        if self.settings.answer_temperature is not None:
            limits["temperature"] = self.settings.answer_temperature
        return {
            "modelId": self.settings.answer_model_id,
            "system": [{"text": prompt.system_text}],
            "messages": [{"role": turn.role, "content": [{"text": turn.text}]} for turn in messages(prompt)],
            "inferenceConfig": limits,
        }


@dataclass
class _Heard:
    """What the events of a stream told so far."""

    pieces: list[str] = field(default_factory=list)
    stop_reason: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)

    def text_of(self, event: Mapping[str, Any]) -> str:
        """The text that `event` adds, empty when it adds none; the rest of it is kept."""
        if "messageStop" in event:
            self.stop_reason = event["messageStop"].get("stopReason", "")
        if "metadata" in event:
            self.usage = event["metadata"].get("usage", {})
        text = event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
        if text:
            self.pieces.append(text)
        return text


def _typed_events(events: Any, what: str) -> Iterator[Mapping[str, Any]]:
    """The events of a stream; what is raised between them becomes a `PipelineError`.

    Bedrock sends events and nothing between them: the read time-out bounds the wait for the next one.
    """
    with typed_errors(what):
        try:
            yield from events
        except ParserError as error:
            raise UnavailableError(f"{what} sent a damaged event: {type(error).__name__}.") from error


def _answer(pieces: list[str], stop_reason: str, usage: Mapping[str, int]) -> Answer:
    return Answer(
        text="".join(pieces).strip() or None,
        stop_reason=stop_reason,
        truncated=stop_reason in TRUNCATED,
        input_tokens=usage.get("inputTokens", 0),
        output_tokens=usage.get("outputTokens", 0),
    )
