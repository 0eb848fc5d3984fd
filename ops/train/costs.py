"""What a run took: paid, lost and waiting hours, and the price of a useful hour. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ops.train.runs import Attempt, Run

SECONDS_OF_AN_HOUR = 3600
Saves = Mapping[Attempt, Sequence[tuple[float, int]]]


@dataclass(frozen=True, kw_only=True)
class Prices:
    """USD for an hour of one node; None where not known. `source` tells which the person did not give, or why one is missing."""

    spot: float | None = None
    on_demand: float | None = None
    source: str = ""

    def of(self, capacity: str) -> float | None:
        return self.spot if capacity == "spot" else self.on_demand


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Hours of the run, whatever its nodes; USD of all of them.

    Hours run from a container's start to its end: the boot of a node is paid and not in here. `lost_hours` is None
    where nothing tells what was saved, and whatever follows from an unknown price is None too.
    """

    paid_hours: Mapping[str, float]
    waited_hours: float
    lost_hours: float | None
    usd: float | None
    usd_per_useful_hour: float | None
    on_demand_usd_per_hour: float | None
    prices_from: str = ""


def costs(run: Run, saves: Saves, prices: Prices, now: float) -> Costs:
    """`saves` has what each attempt saved and when, empty where its log does not tell."""
    paid: dict[str, float] = {}
    for attempt in run.attempts:
        hours = attempt.seconds(now) / SECONDS_OF_AN_HOUR
        paid[attempt.capacity] = paid.get(attempt.capacity, 0.0) + hours
    lost = _lost_hours(run, saves, now)
    useful = sum(paid.values()) - (lost or 0.0)
    usd = _usd(paid, prices, run.nodes)
    on_demand = None if prices.on_demand is None else prices.on_demand * run.nodes
    return Costs(
        paid_hours=paid,
        waited_hours=max(0.0, ((run.stopped or now) - run.started) / SECONDS_OF_AN_HOUR - sum(paid.values())),
        lost_hours=lost,
        usd=usd,
        usd_per_useful_hour=usd / useful if usd is not None and lost is not None and useful > 0 else None,
        on_demand_usd_per_hour=on_demand,
        prices_from=prices.source,
    )


def _lost_hours(run: Run, saves: Saves, now: float) -> float | None:
    """Work after the last save of each attempt that ended without being done."""
    ended = [attempt for attempt in run.attempts if attempt.stopped and attempt.outcome != "done"]
    if ended and not any(saves.get(attempt) for attempt in run.attempts):
        return None
    seconds = 0.0
    for attempt in ended:
        saved = max([attempt.started, *(at for at, _ in saves.get(attempt, ()))])
        seconds += max(0.0, attempt.started + attempt.seconds(now) - saved)
    return seconds / SECONDS_OF_AN_HOUR


def _usd(paid: Mapping[str, float], prices: Prices, nodes: int) -> float | None:
    total = 0.0
    for capacity, hours in paid.items():
        price = prices.of(capacity)
        if price is None:
            return None
        total += hours * price * nodes
    return total
