"""What a model is asked and what it answers, the same for Bedrock and for OpenAI-compatible services."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One earlier message of a conversation; `role` is `user` or `assistant`."""

    role: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """Instructions apart from data: `user_text` holds documents and question, each unable to leave its place."""

    system_text: str
    user_text: str
    history: tuple[Turn, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """`text` is None when the model said nothing. `stop_reason` is the model's own word.

    `truncated` tells that the model did not finish: a limit of tokens or a filter cut it off.
    """

    text: str | None
    stop_reason: str
    truncated: bool = False
    input_tokens: int = 0
    output_tokens: int = 0


class Answerer(Protocol):
    """A model that answers. Each call is one attempt within the read time-out and raises a `PipelineError`."""

    def answer(self, prompt: Prompt, read_timeout_seconds: int) -> Answer:
        """The whole answer."""
        ...

    def stream(self, prompt: Prompt, read_timeout_seconds: int) -> Iterator[str | Answer]:
        """Pieces of text as they come, then the finished `Answer` with the same text.

        An empty piece tells that the model is at work on something else, such as its reasoning. The connection is
        made at the first `next`. Closing the iterator closes it and ends the model's work.
        """
        ...
