"""Answers a prompt by quoting it: the sentence of its documents that is nearest to the question."""

import re
from dataclasses import dataclass
from html import unescape

from tests.standins.embeddings import nearness, tokens

# A sentence's score is its cosine with the question, and half of the share of the question's words that it has. Below
# this it has as little to do with the question as any other.
NEAR = 0.35
WORDS_COUNT = 0.5
FILLERS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "at",
        "be",
        "by",
        "can",
        "could",
        "do",
        "does",
        "did",
        "for",
        "from",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "is",
        "it",
        "many",
        "may",
        "much",
        "must",
        "of",
        "on",
        "or",
        "our",
        "should",
        "that",
        "the",
        "their",
        "there",
        "to",
        "was",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "your",
    ]
)
DOCUMENT = re.compile(r"<document\b[^>]*>(.*?)</document>", re.DOTALL)
QUESTION = re.compile(r"<question>(.*?)</question>", re.DOTALL)


@dataclass(frozen=True)
class Extract:
    text: str
    input_tokens: int
    output_tokens: int
    truncated: bool


def extract(prompt: str, user_text: str, nothing_found: str, max_tokens: int) -> Extract:
    """Quotes `user_text`, or says `nothing_found`. `prompt` is everything that was sent, and is only counted."""
    question = QUESTION.findall(user_text)
    documents = DOCUMENT.findall(user_text)
    answer = (
        nearest_sentence(unescape(question[-1]), [unescape(one) for one in documents]) if question else None
    )
    words = (answer or nothing_found).split(" ")
    kept = words[: max(1, _words_within(words, max_tokens))]
    return Extract(
        text=" ".join(kept),
        input_tokens=len(tokens(prompt)),
        output_tokens=len(tokens(" ".join(kept))),
        truncated=len(kept) < len(words),
    )


def nearest_sentence(question: str, documents: list[str]) -> str | None:
    """The sentence nearest to `question`, or None when none is near."""
    sentences = [one for document in documents for one in sentences_of(document)]
    wanted = _words(question)
    scored = sorted(
        (
            (cosine + WORDS_COUNT * len(wanted & _words(sentence)) / max(1, len(wanted)), sentence)
            for cosine, sentence in zip(nearness(question, sentences), sentences, strict=True)
        ),
        reverse=True,
    )
    return scored[0][1] if scored and scored[0][0] >= NEAR else None


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower())) - FILLERS


def sentences_of(text: str) -> list[str]:
    """Whole sentences; a line that goes on in lower case belongs to the one before."""
    lines = re.sub(r"\n(?=[a-z(])", " ", text).splitlines()
    pieces = (piece.strip() for line in lines for piece in re.split(r"(?<=[.!?])\s+", line))
    return [piece for piece in pieces if any(letter.isalnum() for letter in piece)]


def _words_within(words: list[str], max_tokens: int) -> int:
    """How many leading words fit into `max_tokens`."""
    if len(tokens(" ".join(words))) <= max_tokens:
        return len(words)
    low, high = 0, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if len(tokens(" ".join(words[:middle]))) <= max_tokens else (low, middle - 1)
        )
    return low
