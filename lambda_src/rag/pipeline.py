"""From a question to an answer with its sources: embed, search, answer."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import boto3

from rag import bedrock
from rag.bedrock import Answer
from rag.deadline import Attempts, Deadline
from rag.errors import PipelineError, ThrottledError, UnavailableError, UpstreamTimeoutError
from rag.opensearch_http import OpenSearchHttp
from rag.prompt import Passage
from rag.search import SEARCH_READ_TIMEOUT_SECONDS, OpenSearchClient
from rag.settings import PipelineSettings

NO_ANSWER = "The documents hold no answer to this question."

# What answers a question from passages within a read time-out in seconds. One attempt.
Answerer = Callable[[str, Sequence[Passage], int], Answer]


@dataclass(frozen=True, kw_only=True)
class Services:
    """All that the pipeline uses outside the process. `bedrock_client` takes a read time-out in seconds."""

    settings: PipelineSettings
    bedrock_client: Callable[[int], Any]
    search: OpenSearchClient
    answerer: Answerer
    sleep: Callable[[float], None] = time.sleep

    @classmethod
    def from_settings(cls, settings: PipelineSettings, answerer: Answerer | None = None) -> Self:
        """The real services; answers come from Bedrock unless another `answerer` is given."""
        credentials = boto3.Session().get_credentials()

        def client(read_timeout_seconds: int) -> Any:
            return bedrock.bedrock_client(settings.region, read_timeout_seconds)

        def answer_with_bedrock(
            question: str, passages: Sequence[Passage], read_timeout_seconds: int
        ) -> Answer:
            return bedrock.answer(client(read_timeout_seconds), settings, question, passages)

        return cls(
            settings=settings,
            bedrock_client=client,
            search=OpenSearchClient(
                OpenSearchHttp(settings.opensearch_endpoint, settings.region, credentials)
            ),
            answerer=answerer or answer_with_bedrock,
        )

    def embed(self, text: str, deadline: Deadline) -> list[float]:
        """The vector of `text`, with retries inside the deadline."""
        return self.model_attempts().run(
            lambda timeout: bedrock.embed(self.bedrock_client(timeout), self.settings, text),
            deadline,
            self.sleep,
        )

    def model_attempts(self) -> Attempts:
        """Attempts for a call of a model."""
        return Attempts(
            maximum=self.settings.bedrock_max_attempts,
            read_timeout_seconds=self.settings.bedrock_read_timeout_seconds,
            retry_on=(ThrottledError, UnavailableError, UpstreamTimeoutError),
        )

    def search_attempts(self) -> Attempts:
        """Attempts for a search. Its time-out covers a collection that wakes up, so that is not repeated."""
        retry_on: tuple[type[PipelineError], ...] = (ThrottledError, UnavailableError)
        return Attempts(maximum=2, read_timeout_seconds=SEARCH_READ_TIMEOUT_SECONDS, retry_on=retry_on)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A document that the answer was made from, with the score of its best passage."""

    document_key: str
    score: float


@dataclass(frozen=True, kw_only=True)
class Result:
    """`answered` is False when `answer` is the fixed sentence `NO_ANSWER`; there are no sources then."""

    answer: str
    answered: bool
    sources: tuple[Source, ...]
    passages: int
    stop_reason: str
    input_tokens: int = 0
    output_tokens: int = 0


def answer_question(question: str, services: Services, deadline: Deadline) -> Result:
    """Answer `question` from the indexed documents. Raises a `PipelineError` within the deadline.

    Without a single passage the answer model is not called.
    """
    settings = services.settings
    vector = services.embed(question, deadline)
    passages = services.search_attempts().run(
        lambda timeout: services.search.search(
            settings.index_alias, vector, settings.retrieval_count, timeout
        ),
        deadline,
        services.sleep,
    )
    if not passages:
        return _result(Answer(text=None, stop_reason="no_passages"), passages)
    reply = services.model_attempts().run(
        lambda timeout: services.answerer(question, passages, timeout), deadline, services.sleep
    )
    return _result(reply, passages)


def _result(reply: Answer, passages: Sequence[Passage]) -> Result:
    return Result(
        answer=reply.text or NO_ANSWER,
        answered=reply.text is not None,
        sources=_sources(passages) if reply.text is not None else (),
        passages=len(passages),
        stop_reason=reply.stop_reason,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
    )


def _sources(passages: Sequence[Passage]) -> tuple[Source, ...]:
    best: dict[str, float] = {}
    for passage in passages:
        best[passage.document_key] = max(passage.score, best.get(passage.document_key, passage.score))
    return tuple(Source(document_key=key, score=score) for key, score in best.items())
