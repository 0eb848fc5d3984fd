"""One ranking made of several."""

from collections.abc import Hashable, Sequence
from math import fsum, inf
from typing import TypeVar

# Cormack, Clarke, Buettcher: Reciprocal rank fusion outperforms Condorcet and individual rank learning methods,
# SIGIR 2009, https://doi.org/10.1145/1571941.1572114: the constant that they fixed once and that others kept.
RANK_CONSTANT = 60

Item = TypeVar("Item", bound=Hashable)


def reciprocal_rank_fusion(rankings: Sequence[Sequence[Item]]) -> list[tuple[Item, float]]:
    """Every item of `rankings` once, best first, with its score: the sum of 1 / (60 + rank) over the rankings.

    Ranks count from 1; an item that a ranking holds twice counts at its better rank. Of items with the same score
    the one that an earlier ranking puts higher comes first, so the order never depends on anything but the input.
    """
    ranks: dict[Item, list[float]] = {}
    for position, ranking in enumerate(rankings):
        for rank, item in enumerate(ranking, 1):
            own = ranks.setdefault(item, [inf] * len(rankings))
            own[position] = min(own[position], rank)
    scores = {item: fsum(1 / (RANK_CONSTANT + rank) for rank in own) for item, own in ranks.items()}
    return sorted(scores.items(), key=lambda scored: (-scored[1], ranks[scored[0]]))
