"""Stand-ins for what lies outside the process: Bedrock, the vector store, S3, the clock."""

import hashlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from rag.bedrock import Answer, answer
from rag.pipeline import Services
from rag.prompt import Passage
from rag.search import IndexedChunk
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


def passage(text: str = "Cats sleep a lot.", key: str = "raw/pdfs/cats.txt", score: float = 0.9) -> Passage:
    """One passage as a search finds it."""
    return Passage(text=text, document_key=key, chunk_number=0, score=score)


@dataclass
class FakeBedrock:
    """Gives the queued outcomes of Converse in turn, the last one for ever; an exception is raised."""

    outcomes: list[Any] = field(default_factory=lambda: [converse_reply({"text": "They sleep."})])
    embed_outcomes: list[Any] = field(default_factory=list)
    vector_length: int = 256
    embedded: list[str] = field(default_factory=list)
    conversations: list[dict[str, Any]] = field(default_factory=list)
    read_timeouts: list[int] = field(default_factory=list)

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
        return {"body": io.BytesIO(json.dumps({"embedding": [0.5] * self.vector_length}).encode())}

    def converse(self, **arguments: Any) -> dict[str, Any]:
        self.conversations.append(arguments)
        return _next(self.outcomes)


def _next(outcomes: list[Any]) -> Any:
    outcome = outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


@dataclass
class FakeSearch:
    """Finds the given passages whatever is asked."""

    passages: list[Passage] = field(default_factory=lambda: [passage()])
    searches: int = 0

    def search(
        self, index: str, vector: Sequence[float], count: int, read_timeout_seconds: int
    ) -> list[Passage]:
        self.searches += 1
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

    def answerer(question: str, passages: Sequence[Passage], read_timeout_seconds: int) -> Answer:
        return answer(bedrock.with_timeout(read_timeout_seconds), SETTINGS, question, passages)

    fake_search: Any = search
    return Services(
        settings=SETTINGS,
        bedrock_client=bedrock.with_timeout,
        search=fake_search,
        answerer=answerer,
        sleep=sleep,
    )


class FakeS3:
    """One bucket in memory with conditional writes and deletes. `before` runs ahead of a call on a key, once."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.before: dict[tuple[str, str], Callable[[], None]] = {}

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        self._interrupt("get", Key)
        if Key not in self.objects:
            raise client_error("NoSuchKey", 404)
        content = self.objects[Key]
        return {"Body": io.BytesIO(content), "ETag": _etag(content), "ContentLength": len(content)}

    def head_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        self._interrupt("head", Key)
        if Key not in self.objects:
            raise client_error("404", 404)
        return {"ETag": _etag(self.objects[Key])}

    def put_object(
        self,
        *,
        Bucket: str,  # noqa: N803
        Key: str,  # noqa: N803
        Body: bytes,  # noqa: N803
        IfMatch: str | None = None,  # noqa: N803
        IfNoneMatch: str | None = None,  # noqa: N803
    ) -> None:
        self._interrupt("put", Key)
        if IfNoneMatch and Key in self.objects:
            raise client_error("PreconditionFailed", 412)
        self._check(Key, IfMatch)
        self.objects[Key] = Body

    def delete_object(self, *, Bucket: str, Key: str, IfMatch: str | None = None) -> None:  # noqa: N803
        self._interrupt("delete", Key)
        self._check(Key, IfMatch)
        self.objects.pop(Key, None)

    def _check(self, key: str, etag: str | None) -> None:
        if etag is None:
            return
        if key not in self.objects:
            raise client_error("NoSuchKey", 404)
        if _etag(self.objects[key]) != etag:
            raise client_error("PreconditionFailed", 412)

    def _interrupt(self, call: str, key: str) -> None:
        self.before.pop((call, key), lambda: None)()


def _etag(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


class FakeIndex:
    """A vector index in memory. As CLASSIC it refuses ids of one's own and gives them itself.

    While `is_refreshed` is False nothing that was written can be found by a search.
    """

    def __init__(self, generation: str) -> None:
        self.generation = generation
        self.is_refreshed = True
        self.chunks: dict[str, IndexedChunk] = {}
        self.failures: list[Exception] = []
        self._given = 0

    def texts(self, key: str) -> list[str]:
        found = [chunk for chunk in self.chunks.values() if chunk.document_key == key]
        return [chunk.text for chunk in sorted(found, key=lambda chunk: chunk.chunk_number)]

    def document_ids(self, index: str, document_key: str) -> set[str]:
        found = {one for one, chunk in self.chunks.items() if chunk.document_key == document_key}
        return found if self.is_refreshed else set()

    def bulk_index(self, index: str, chunks: Sequence[IndexedChunk], ids: Sequence[str] | None) -> list[str]:
        if self.failures:
            raise self.failures.pop(0)
        assert (ids is None) == (self.generation == "CLASSIC"), "CLASSIC would refuse the request"
        written = [self._next_id() for _ in chunks] if ids is None else list(ids)
        self.chunks.update(zip(written, chunks, strict=True))
        return written

    def bulk_delete(self, index: str, ids: Sequence[str]) -> None:
        for one in ids:
            self.chunks.pop(one, None)

    def _next_id(self) -> str:
        self._given += 1
        return f"given-{self._given}"
