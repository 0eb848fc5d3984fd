"""What became of a question: the whole result, and the parts of it that a stream brings one after the other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

NO_DOCUMENTS = "There are no documents that this question could be answered from."
NO_ANSWER = "The documents hold no answer to this question."

Outcome = Literal["answered", "no_documents", "no_answer"]


@dataclass(frozen=True, kw_only=True)
class Source:
    """A page of a document that the model was shown, with the score of its best passage.

    `page` counts from 1 and is None where a document has no pages. Scores compare within one result only.
    """

    document_key: str
    page: int | None
    score: float


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens that the models counted."""

    input_tokens: int = 0
    output_tokens: int = 0
    embedding_tokens: int = 0


@dataclass(frozen=True, kw_only=True)
class Result:
    """`answer` is a fixed sentence, and `sources` empty, unless `outcome` is `answered`.

    `truncated` tells that the model did not finish. `passages` counts those that the model was shown.
    `timings_ms` has the stages that ran: embed, search, answer.
    """

    answer: str
    outcome: Outcome
    truncated: bool
    sources: tuple[Source, ...]
    usage: Usage
    stop_reason: str
    passages: int
    timings_ms: Mapping[str, float]


@dataclass(frozen=True)
class Sources:
    """The first part of a stream: what the text that follows was made from, best first."""

    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Delta:
    """The next piece of the answer, never empty. All pieces together are the result's `answer`."""

    text: str
