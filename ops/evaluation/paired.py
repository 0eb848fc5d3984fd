"""A paired test between two runs over the same questions: is the difference more than chance? Pure and repeatable."""

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ops.evaluation.metrics import percentile

# Up to so many differences every way of exchanging the two runs is tried; beyond, a sample of them.
EXACT_UP_TO = 14
PERMUTATIONS = 10_000
RESAMPLES = 10_000
CONFIDENCE_PERCENT = 95
SEED = 20_260_701
# Sums of the same numbers in another order differ in their last digits.
TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """`difference` is the mean of new minus old; the interval is where it lies with 95 percent confidence.

    `p_value` says how often a difference as large comes about when it does not matter which run is which.
    """

    pairs: int
    old_mean: float
    new_mean: float
    difference: float
    low: float
    high: float
    p_value: float
    exact: bool


def compare_runs(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What differs between two runs on their common questions.

    A failed request counts as a miss; latency is compared where both requests succeeded.
    """
    before = {result["question"]: result for result in old["results"]}
    pairs = [(before[one["question"]], one) for one in new["results"] if one["question"] in before]
    both = [(a, b) for a, b in pairs if not a["error"] and not b["error"]]
    return {
        "old": old["name"],
        "new": new["name"],
        "common_questions": len(pairs),
        "only_old": len(before) - len(pairs),
        "only_new": len(new["results"]) - len(pairs),
        "other_expectations": sum(a["expected_documents"] != b["expected_documents"] for a, b in pairs),
        "reciprocal_rank": _as_fields(pairs, "reciprocal_rank"),
        "latency_ms": _as_fields(both, "latency_ms"),
    }


def compare(old: Sequence[float], new: Sequence[float]) -> Comparison:
    """Compares values that belong together pair by pair; there must be at least one pair."""
    differences = [b - a for a, b in zip(old, new, strict=True)]
    p_value, exact = permutation_p_value(differences)
    low, high = bootstrap_interval(differences)
    return Comparison(
        pairs=len(differences),
        old_mean=math.fsum(old) / len(old),
        new_mean=math.fsum(new) / len(new),
        difference=math.fsum(differences) / len(differences),
        low=low,
        high=high,
        p_value=p_value,
        exact=exact,
    )


def permutation_p_value(differences: Sequence[float]) -> tuple[float, bool]:
    """Two-sided p value of the paired permutation test, and whether every permutation was tried.

    Exchanging the runs in a pair changes the sign of its difference, and nothing where they are equal. A sample counts
    the observed arrangement too, so that it never says 0: Phipson and Smyth, 2010, https://arxiv.org/abs/1603.05766.
    """
    unequal = [difference for difference in differences if difference]
    observed = abs(math.fsum(unequal)) * (1 - TOLERANCE)
    if len(unequal) <= EXACT_UP_TO:
        sums = [
            abs(math.fsum(map(_signed, unequal, signs)))
            for signs in itertools.product((True, False), repeat=len(unequal))
        ]
        return sum(value >= observed for value in sums) / len(sums), True
    as_extreme = sum(abs(value) >= observed for value in _sampled_sums(unequal))
    return (as_extreme + 1) / (PERMUTATIONS + 1), False


def bootstrap_interval(differences: Sequence[float]) -> tuple[float, float]:
    """The percentile interval of the mean: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13."""
    chance = random.Random(SEED)
    count = len(differences)
    means = [math.fsum(chance.choices(differences, k=count)) / count for _ in range(RESAMPLES)]
    tail = (100 - CONFIDENCE_PERCENT) / 2
    low, high = percentile(means, tail), percentile(means, 100 - tail)
    return (low or 0.0, high or 0.0)


def _sampled_sums(differences: Sequence[float]) -> Iterator[float]:
    chance = random.Random(SEED)
    total, count = math.fsum(differences), len(differences)
    for _ in range(PERMUTATIONS):
        bits = chance.getrandbits(count)
        turned = itertools.compress(differences, map(int, f"{bits:0{count}b}"))
        yield total - 2 * math.fsum(turned)


def _signed(difference: float, keep: bool) -> float:
    return difference if keep else -difference


def _as_fields(pairs: Sequence[tuple[Any, Any]], name: str) -> dict[str, Any] | None:
    if not pairs:
        return None
    return asdict(compare([old[name] for old, _ in pairs], [new[name] for _, new in pairs]))
