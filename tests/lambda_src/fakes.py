"""Stand-ins for what lies outside the process: Bedrock, the vector store, S3, the clock."""

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from rag.bedrock import BedrockAnswerer
from rag.passages import Filter, Passage
from rag.pipeline import Services
from rag.settings import PipelineSettings

ENVIRONMENT = {
    "AWS_REGION": "eu-central-1",
    "OPENSEARCH_ENDPOINT": "https://abc.eu-central-1.aoss.amazonaws.com",
    "INDEX_ALIAS": "documents",
    "EMBEDDING_MODEL_ID": "amazon.titan-embed-text-v2:0",
    "EMBEDDING_DIMENSIONS": "256",
    "ANSWER_MODEL_ID": "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "BEDROCK_READ_TIMEOUT_SECONDS": "20",
    "BEDROCK_MAX_ATTEMPTS": "3",
    "RETRIEVAL_COUNT": "4",
    "SEARCH_MODE": "hybrid",
    "CONTEXT_TOKENS": "4000",
    "ANSWER_MAX_TOKENS": "1024",
}
SETTINGS = PipelineSettings.from_environment(ENVIRONMENT)


def client_error(code: str, status: int = 400, message: str = "") -> ClientError:
    """The error that botocore raises for a reply with `code`."""
    reply: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(reply, "AnyOperation")


def converse_reply(*blocks: dict[str, Any], stop_reason: str = "end_turn") -> dict[str, Any]:
    """A reply of Converse with the given content blocks."""
    message = {"role": "assistant", "content": list(blocks)}
    return {
        "output": {"message": message},
        "stopReason": stop_reason,
        "usage": {"inputTokens": 3, "outputTokens": 2},
    }


def stream_events(reply: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of ConverseStream that tell the same as a reply of Converse, its texts cut in pieces of three."""
    events: list[dict[str, Any]] = [{"messageStart": {"role": "assistant"}}]
    for index, block in enumerate(reply["output"]["message"]["content"]):
        text = block.get("text")
        deltas = [block] if text is None else [{"text": text[at : at + 3]} for at in range(0, len(text), 3)]
        events += [{"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}} for delta in deltas]
        events.append({"contentBlockStop": {"contentBlockIndex": index}})
    events.append({"messageStop": {"stopReason": reply["stopReason"]}})
    events.append({"metadata": {"usage": reply["usage"], "metrics": {"latencyMs": 1}}})
    return events


def passage(
    text: str = "Cats sleep a lot.",
    key: str = "raw/pdfs/cats.txt",
    score: float = 0.9,
    page: int | None = None,
) -> Passage:
    """One passage as a search finds it."""
    return Passage(text=text, document_key=key, chunk_number=0, score=score, page=page)


class FakeStream:
    """The events of a reply that is streamed; an exception among them is raised. Knows whether it was closed."""

    def __init__(self, events: Sequence[Any]) -> None:
        self._events = iter(events)
        self.is_closed = False

    def __iter__(self) -> "FakeStream":
        return self

    def __next__(self) -> Any:
        assert not self.is_closed, "a closed stream was read"
        event = next(self._events)
        if isinstance(event, Exception):
            raise event
        return event

    def close(self) -> None:
        self.is_closed = True


@dataclass
class FakeBedrock:
    """Gives the queued outcomes of Converse in turn, the last one for ever; an exception is raised.

    ConverseStream gives the same ones as events; an outcome that is a list is the events themselves.
    """

    outcomes: list[Any] = field(default_factory=lambda: [converse_reply({"text": "They sleep."})])
    embed_outcomes: list[Any] = field(default_factory=list)
    vector_length: int = 256
    embedded: list[str] = field(default_factory=list)
    conversations: list[dict[str, Any]] = field(default_factory=list)
    read_timeouts: list[int] = field(default_factory=list)
    streams: list[FakeStream] = field(default_factory=list)

    def with_timeout(self, read_timeout_seconds: int) -> "FakeBedrock":
        self.read_timeouts.append(read_timeout_seconds)
        return self

    @property
    def calls(self) -> int:
        return len(self.embedded) + len(self.conversations)

    def invoke_model(self, *, modelId: str, body: str, contentType: str, accept: str) -> dict[str, Any]:  # noqa: N803
        self.embedded.append(json.loads(body)["inputText"])
        if self.embed_outcomes:
            _next(self.embed_outcomes)
        reply = {"embedding": [0.5] * self.vector_length, "inputTextTokenCount": 7}
        return {"body": io.BytesIO(json.dumps(reply).encode())}

    def converse(self, **arguments: Any) -> dict[str, Any]:
        self.conversations.append(arguments)
        return _next(self.outcomes)

    def converse_stream(self, **arguments: Any) -> dict[str, Any]:
        self.conversations.append(arguments)
        outcome = _next(self.outcomes)
        self.streams.append(FakeStream(outcome if isinstance(outcome, list) else stream_events(outcome)))
        return {"stream": self.streams[-1]}


def _next(outcomes: list[Any]) -> Any:
    outcome = outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


@dataclass
class FakeSearch:
    """Finds the given passages whatever is asked, and remembers what was."""

    passages: list[Passage] = field(default_factory=lambda: [passage()])
    asked: list[tuple[str, str, int, str, Filter]] = field(default_factory=list)
    outcomes: list[Any] = field(default_factory=list)

    @property
    def searches(self) -> int:
        return len(self.asked)

    def search(
        self,
        index: str,
        text: str,
        vector: Sequence[float],
        count: int,
        mode: str,
        filter: Filter,
        read_timeout_seconds: int,
    ) -> list[Passage]:
        self.asked.append((index, text, count, mode, filter))
        if self.outcomes:
            _next(self.outcomes)
        return self.passages


class FakeTime:
    """A clock that moves only when somebody sleeps on it, and a Lambda context that runs out by it."""

    aws_request_id = "request-1"

    def __init__(self, lambda_seconds: float = 120) -> None:
        self.now = 0.0
        self.pauses: list[float] = []
        self._lambda_seconds = lambda_seconds

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def clock(self) -> float:
        return self.now

    def get_remaining_time_in_millis(self) -> int:
        return int((self._lambda_seconds - self.now) * 1000)


def services(bedrock: FakeBedrock, search: FakeSearch, sleep: Callable[[float], None]) -> Services:
    """The pipeline's services over the fakes."""
    fake_search: Any = search
    return Services(
        settings=SETTINGS,
        bedrock_client=bedrock.with_timeout,
        search=fake_search,
        answerer=BedrockAnswerer(bedrock.with_timeout, SETTINGS),
        sleep=sleep,
    )
