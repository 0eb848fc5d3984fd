"""What new prices change in the table, and which of its prices AWS no longer has. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date

from ops.instance_prices import InstancePrice
from ops.prices.asked import PRICE_LIST_SOURCE

ON_DEMAND, SPOT = "on-demand", "spot"
SPOT_SOURCE = "EC2 DescribeSpotPriceHistory: lowest and highest zone"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What AWS said of one type in one region; None is no price."""

    on_demand: float | None = None
    spot: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Change:
    """One row before and after. `lost` names the prices that it had and that AWS has no longer."""

    old: InstancePrice | None
    new: InstancePrice
    lost: tuple[str, ...]

    @property
    def is_new_price(self) -> bool:
        return self.old is None or _figures(self.old) != _figures(self.new)

    @property
    def text(self) -> str:
        """One line for a person."""
        before = _shown(self.old) if self.old else "not in the table"
        return f"{self.new.instance_type} in {self.new.region}: {before} -> {_shown(self.new)}"


def changes(
    table: Mapping[tuple[str, str], InstancePrice],
    answers: Mapping[str, Answer],
    region: str,
    today: date,
    *,
    drop: bool = False,
) -> list[Change]:
    """The rows of `region` with what AWS said today, sorted by type. A type with neither price, old or new, makes no row.

    A price that AWS no longer has stays in its row with its own day and source, unless `drop`.
    """
    found = []
    for name, answer in sorted(answers.items()):
        old = table.get((name, region))
        if old is None and answer.on_demand is None and answer.spot is None:
            continue
        lost = _lost(old, answer)
        kept = () if drop else lost
        new = _row(old or InstancePrice(instance_type=name, region=region), answer, today, kept)
        found.append(Change(old=old, new=new, lost=lost))
    return found


def _row(old: InstancePrice, answer: Answer, today: date, kept: tuple[str, ...]) -> InstancePrice:
    """What nobody was asked for, the interruptions, stays with its own date."""
    row = old
    if ON_DEMAND not in kept:
        listed = answer.on_demand is not None
        row = replace(
            row,
            on_demand_usd_hour=answer.on_demand,
            on_demand_read_on=today,
            on_demand_source=PRICE_LIST_SOURCE if listed else f"{PRICE_LIST_SOURCE}: not listed",
        )
    if SPOT not in kept:
        low, high = answer.spot or (None, None)
        row = replace(
            row,
            spot_minimum_usd_hour=low,
            spot_maximum_usd_hour=high,
            spot_read_on=today,
            spot_source=SPOT_SOURCE if answer.spot else f"{SPOT_SOURCE}: none",
        )
    return row


def _lost(old: InstancePrice | None, answer: Answer) -> tuple[str, ...]:
    if old is None:
        return ()
    kinds = (
        (ON_DEMAND, old.on_demand_usd_hour, answer.on_demand),
        (SPOT, old.spot_minimum_usd_hour, answer.spot),
    )
    return tuple(kind for kind, before, now in kinds if before is not None and now is None)


def merged(
    table: Mapping[tuple[str, str], InstancePrice], found: Iterable[Change]
) -> dict[tuple[str, str], InstancePrice]:
    """The whole table with the changed rows; every other row as it was."""
    return {**table, **{(change.new.instance_type, change.new.region): change.new for change in found}}


def _figures(price: InstancePrice) -> tuple[float | None, ...]:
    return price.on_demand_usd_hour, price.spot_minimum_usd_hour, price.spot_maximum_usd_hour


def _shown(price: InstancePrice) -> str:
    on_demand, low, high = _figures(price)
    demand = f"{on_demand:g}" if on_demand is not None else "none"
    if low is None or high is None:
        return f"on demand {demand}, spot none"
    return f"on demand {demand}, spot {low:g}" + (f" to {high:g}" if high != low else "")
