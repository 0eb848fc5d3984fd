"""Embeds the chunks of a document in batches, paced, several calls at a time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol

from ingestion.errors import DocumentError
from ingestion.pacing import Pacer
from rag.deadline import Deadline
from rag.errors import QuestionTooLongError
from rag.tokens import estimate_tokens

# Where a call takes one text, calls run side by side.
WORKERS = 4
# A run keeps its memory and the size of its bulk requests small, and loses little when it breaks off.
MAXIMUM_CHUNKS_PER_PART = 200
# A part may take this share of a run's time for its embeddings; the rest is for retries, the index and the lake.
SHARE_OF_TIME = 1 / 3


class EmbeddedTexts(Protocol):
    """One vector per text, in order, and the tokens that the model counted."""

    @property
    def vectors(self) -> Sequence[list[float]]: ...

    @property
    def tokens(self) -> int: ...


@dataclass(kw_only=True)
class Embedder:
    """For one run. `embed_texts` is one call of the model, with its retries; `tokens` counts what was embedded."""

    embed_texts: Callable[[Sequence[str], Deadline], EmbeddedTexts]
    texts_per_call: int
    pacer: Pacer
    deadline: Deadline
    tokens: int = field(default=0, init=False)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of `texts` in order; after a failure no further call is begun."""
        batches = [texts[at : at + self.texts_per_call] for at in range(0, len(texts), self.texts_per_call)]
        failures: list[Exception] = []
        workers = ThreadPoolExecutor(WORKERS if self.texts_per_call == 1 else 1)
        try:
            results = list(workers.map(lambda batch: self._embed_batch(batch, failures), batches))
        finally:
            workers.shutdown(cancel_futures=True)
        self.tokens += sum(result.tokens for result in results)
        return [vector for result in results for vector in result.vectors]

    def _embed_batch(self, texts: Sequence[str], failures: list[Exception]) -> EmbeddedTexts:
        """One call; where another one has failed, its failure instead."""
        if failures:
            raise failures[0]
        try:
            return self._call(texts)
        except Exception as error:
            failures.append(error)
            raise

    def _call(self, texts: Sequence[str]) -> EmbeddedTexts:
        estimate = sum(map(estimate_tokens, texts))
        self.pacer.wait(estimate, self.deadline)
        try:
            result = self.embed_texts(texts, self.deadline)
        except QuestionTooLongError:
            raise DocumentError(
                "A chunk has more tokens than the embedding model takes: lower the size of the chunks."
            ) from None
        self.pacer.correct(result.tokens - estimate)
        return result


def chunks_per_part(tokens: Sequence[int], tokens_per_minute: int, seconds: float) -> int:
    """How many chunks, of the given numbers of tokens, a part may have in a run of `seconds`."""
    budget = tokens_per_minute / 60 * seconds * SHARE_OF_TIME
    most = min(len(tokens), MAXIMUM_CHUNKS_PER_PART)
    sums = [0, *accumulate(tokens)]
    while most > 1 and _heaviest_part(sums, most) > budget:
        most -= 1
    return max(1, most)


def _heaviest_part(sums: Sequence[int], size: int) -> int:
    last = len(sums) - 1
    return max(sums[min(first + size, last)] - sums[first] for first in range(0, last, size))
