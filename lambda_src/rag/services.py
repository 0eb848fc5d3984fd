"""What the pipeline uses outside the process, and how often each call is tried."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import botocore.session

from rag.answers import Answerer
from rag.bedrock import BedrockAnswerer, BedrockClients
from rag.deadline import Attempts, Deadline
from rag.embedding import Vectors, embed, texts_per_call
from rag.errors import PipelineError, ThrottledError, UnavailableError, UpstreamTimeoutError
from rag.opensearch_http import OpenSearchHttp
from rag.search import SEARCH_READ_TIMEOUT_SECONDS, OpenSearchClient
from rag.settings import PipelineSettings


@dataclass(frozen=True, kw_only=True)
class Services:
    """`bedrock_client` takes a read time-out in seconds; `clock` counts seconds from any moment."""

    settings: PipelineSettings
    bedrock_client: Callable[[int], Any]
    search: OpenSearchClient
    answerer: Answerer
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def from_settings(cls, settings: PipelineSettings, answerer: Answerer | None = None) -> Self:
        """The real services; answers come from Bedrock unless another `answerer` is given."""
        session = botocore.session.get_session()
        clients = BedrockClients(session, settings.region)
        http = OpenSearchHttp(settings.opensearch_endpoint, settings.region, session.get_credentials())
        return cls(
            settings=settings,
            bedrock_client=clients,
            search=OpenSearchClient(http),
            answerer=answerer or BedrockAnswerer(clients, settings),
        )

    def embed_texts(
        self, texts: Sequence[str], purpose: Literal["document", "query"], deadline: Deadline
    ) -> Vectors:
        """The vectors of `texts` in their order, in as few calls as the model allows, with retries."""
        size = texts_per_call(self.settings)
        vectors: list[list[float]] = []
        tokens = 0
        for start in range(0, len(texts), size):
            part = texts[start : start + size]

            def call(read_timeout_seconds: int, part: Sequence[str] = part) -> Vectors:
                return embed(self.bedrock_client(read_timeout_seconds), self.settings, part, purpose)

            made = self.embedding_attempts().run(call, deadline, self.sleep)
            vectors += made.vectors
            tokens += made.tokens
        return Vectors(vectors=vectors, tokens=tokens)

    def embedding_attempts(self) -> Attempts:
        """Attempts for a call of the embedding model."""
        return self._model_attempts(ThrottledError, UnavailableError, UpstreamTimeoutError)

    def answer_attempts(self) -> Attempts:
        """Attempts for a call of the answer model. One that took too long did its work, which is paid for.

        Asked again it would take as long again.
        """
        return self._model_attempts(ThrottledError, UnavailableError)

    def _model_attempts(self, *retry_on: type[PipelineError]) -> Attempts:
        return Attempts(
            maximum=self.settings.bedrock_max_attempts,
            read_timeout_seconds=self.settings.bedrock_read_timeout_seconds,
            retry_on=retry_on,
        )

    def search_attempts(self) -> Attempts:
        """Attempts for a search. Its time-out covers a collection that wakes up, so that is not repeated."""
        retry_on: tuple[type[PipelineError], ...] = (ThrottledError, UnavailableError)
        return Attempts(maximum=2, read_timeout_seconds=SEARCH_READ_TIMEOUT_SECONDS, retry_on=retry_on)
