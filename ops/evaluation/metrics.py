"""Measures of one answer and of a run. Pure."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ops.evaluation.api import Reply
from ops.evaluation.questions import ExpectedAnswer

HIT_RANKS = (1, 3, 5)
ARTICLES = ("a", "an", "the")


@dataclass(frozen=True, kw_only=True)
class Prices:
    """USD per million tokens; None where nobody told."""

    input: float | None = None
    output: float | None = None
    embedding: float | None = None

    def cost(self, usage: Mapping[str, int]) -> float | None:
        """USD for the tokens of an answer; None when no price was given at all."""
        prices = {
            "input_tokens": self.input,
            "output_tokens": self.output,
            "embedding_tokens": self.embedding,
        }
        if all(price is None for price in prices.values()):
            return None
        return sum((price or 0) * usage.get(name, 0) for name, price in prices.items()) / 1_000_000


def measure(expected: ExpectedAnswer, reply: Reply, top: int, prices: Prices) -> dict[str, Any]:
    """One question as it stands in a run. A failed request found nothing; it has no cost, tokens or F1 of its own."""
    documents = list(reply.documents[:top])
    rank = first_rank(documents, expected.documents)
    f1 = (
        None if expected.answer is None else (0.0 if reply.error else token_f1(reply.answer, expected.answer))
    )
    return {
        "question": expected.question,
        "expected_documents": list(expected.documents),
        "documents": documents,
        "rank": rank,
        "reciprocal_rank": 1 / rank if rank else 0.0,
        **{f"hit@{k}": bool(rank and rank <= k) for k in HIT_RANKS},
        "f1": f1,
        "outcome": reply.outcome,
        "latency_ms": round(reply.latency_ms, 3),
        "attempts": reply.attempts,
        "usage": dict(reply.usage),
        "usd": None if reply.error else prices.cost(reply.usage),
        "request_id": reply.request_id,
        "error": reply.error or None,
    }


def summarise(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The measures of a run. Latencies and costs are those of requests that succeeded."""
    succeeded = [result for result in results if not result["error"]]
    latencies = [result["latency_ms"] for result in succeeded]
    costs = [result["usd"] for result in succeeded if result["usd"] is not None]
    names = sorted({name for result in succeeded for name in result["usage"]})
    return {
        "questions": len(results),
        **{f"hit@{k}": mean(result[f"hit@{k}"] for result in results) for k in HIT_RANKS},
        "mrr": mean(result["reciprocal_rank"] for result in results),
        "f1": mean(result["f1"] for result in results if result["f1"] is not None),
        "latency_ms_p50": percentile(latencies, 50),
        "latency_ms_p95": percentile(latencies, 95),
        "tokens": {name: sum(result["usage"].get(name, 0) for result in succeeded) for name in names},
        "usd": sum(costs) if costs else None,
        "usd_per_question": mean(costs),
        "outcomes": dict(sorted(Counter(result["outcome"] for result in succeeded).items())),
        "error_rate": mean(bool(result["error"]) for result in results),
    }


def first_rank(documents: Sequence[str], expected: Sequence[str]) -> int | None:
    """The place, from 1, of the first document that was expected; None when there is none."""
    return next((place for place, key in enumerate(documents, start=1) if key in expected), None)


def token_f1(answer: str, expected: str) -> float:
    """How far the words of two answers agree, 0 to 1, as SQuAD measures it.

    Rajpurkar et al., 2016, https://arxiv.org/abs/1606.05250, section 6: words without punctuation, case and articles,
    counted with their repetitions. It favours short answers, and means little for languages without blanks.
    """
    given, wanted = _words(answer), _words(expected)
    common = sum((given & wanted).values())
    if common == 0:
        return 0.0
    return 2 * common / (given.total() + wanted.total())


def percentile(values: Iterable[float], percent: float) -> float | None:
    """The smallest value that at least `percent` of all do not exceed; None of nothing."""
    ordered = sorted(values)
    if not ordered:
        return None
    return ordered[max(math.ceil(percent / 100 * len(ordered)), 1) - 1]


def mean(values: Iterable[float]) -> float | None:
    """None of nothing."""
    listed = [float(value) for value in values]
    return math.fsum(listed) / len(listed) if listed else None


def _words(text: str) -> Counter[str]:
    return Counter(word for word in re.findall(r"\w+", text.casefold()) if word not in ARTICLES)
