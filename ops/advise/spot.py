"""What part of the paid hours on spot is work that stays done, under a stated market. Pure.

`benchmarks/goodput.py` plays the same account over years; a test holds this estimate to it.
"""

import math
from dataclasses import dataclass

from gpu_node.checkpoint.interval import young_daly_seconds

NOTICE_SECONDS = 120.0
HOUR_SECONDS = 3600.0
# One EFS client without the efs-utils proxy: https://docs.aws.amazon.com/efs/latest/ug/performance.html.
SAVE_BYTES_PER_SECOND = 500 * 1024**2
SHORTEST_SAVE_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Market:
    """How spot nodes are lost, and what a new one takes before it works: the assumptions of `docs/training.md`."""

    hours_between_interruptions: float = 4.0
    missed_share: float = 0.1
    boot_seconds: float = 300.0

    @property
    def text(self) -> str:
        """What every type has alike; how often one is interrupted is the type's own."""
        return f"{self.missed_share:.0%} of the interruptions come without notice, {self.boot_seconds / 60:g} min to boot"


def save_seconds(state_bytes: float) -> float:
    """Writing one checkpoint to the shared files from one node."""
    return max(SHORTEST_SAVE_SECONDS, state_bytes / SAVE_BYTES_PER_SECOND)


def training_share(save: float, market: Market, interval: float | None = None) -> float:
    """With saves of `save` seconds on notice and every `interval` seconds; 0 when nothing would be left.

    Without an interval they are at the Young-Daly optimum of this market.

    A save that is longer than the notice does not complete, so that every interruption counts as missed.
    """
    life = market.hours_between_interruptions * HOUR_SECONDS
    in_time = save <= NOTICE_SECONDS
    missed = market.missed_share if in_time else 1.0
    left = life - market.boot_seconds - save - (1 - market.missed_share) * NOTICE_SECONDS
    if missed == 0:
        return max(0.0, left / life)
    interval = interval or young_daly_seconds(save, missed / market.hours_between_interruptions)
    useful = left * interval / (interval + save) - missed * interval / 2
    return max(0.0, min(left, useful) / life)


def serving_share(market: Market) -> float:
    """A server keeps no state: a new node boots and loads, and an old one drains for the length of the notice."""
    life = market.hours_between_interruptions * HOUR_SECONDS
    return max(0.0, 1 - (market.boot_seconds + (1 - market.missed_share) * NOTICE_SECONDS) / life)


def per_useful_hour(usd: float | None, share: float) -> float | None:
    """None where the price is not known, or nothing useful comes of it."""
    return None if usd is None or share <= 0 or not math.isfinite(usd) else usd / share
