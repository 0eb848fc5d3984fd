"""What is known of a spot market, put together: offers against on-demand prices, zones in their order, advice. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ops.instance_prices import InstancePrice, nearest_price
from ops.spot.advice import Advice, advise
from ops.spot.prices import Offer
from ops.spot.where import Where

# A zone that saves less than this sells at the price of on-demand.
LEAST_SAVING = 0.01


@dataclass(frozen=True, kw_only=True)
class Zone:
    """One zone. `score` is EC2's, None where not known; `dearer` is its mean price over the cheapest zone of each type."""

    name: str
    score: int | None
    types: int
    dearer: float
    best_saving: float | None

    @property
    def saves_nothing(self) -> bool:
        return self.best_saving is not None and self.best_saving < LEAST_SAVING


@dataclass(frozen=True, kw_only=True)
class Market:
    """Offers are in the order of the types, the cheapest zone of each first; zones are the best first. `on_demand` has the table's row of each type that it has."""

    where: Where
    start: datetime
    end: datetime
    offers: tuple[Offer, ...]
    zones: tuple[Zone, ...]
    on_demand: Mapping[str, InstancePrice]
    advice: tuple[Advice, ...]
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def not_sold(self) -> tuple[str, ...]:
        """The types that no zone of interest has on spot."""
        sold = {offer.instance_type for offer in self.offers}
        return tuple(name for name in self.where.instance_types if name not in sold)

    def saving(self, offer: Offer) -> float | None:
        return saving(offer, self.on_demand.get(offer.instance_type))


def saving(offer: Offer, price: InstancePrice | None) -> float | None:
    """The part of the on-demand price that spot leaves; below 0 where spot is dearer, None where one is not known."""
    usd = price.on_demand_usd_hour if price else None
    return None if usd is None else 1 - offer.latest / usd


def on_demand_prices(where: Where) -> dict[str, InstancePrice]:
    """The table's rows, of this region or else of the one whose prices are known for most types."""
    found = {name: nearest_price(name, where.region) for name in where.instance_types}
    return {name: price for name, price in found.items() if price}


def offers_in(where: Where, offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """Those in the zones of interest, type by type, the cheapest zone of each first."""
    here = [offer for offer in offers if not where.zones or offer.zone in where.zones]
    places = {name: place for place, name in enumerate(where.instance_types)}
    return tuple(
        sorted(
            here, key=lambda offer: (places.get(offer.instance_type, len(places)), offer.latest, offer.zone)
        )
    )


def advice_for(
    where: Where, prices: Mapping[str, InstancePrice], save_seconds: float, per_day: float | None
) -> tuple[Advice, ...]:
    """One for each type."""
    return tuple(
        advise(name, prices.get(name), save_seconds, per_day=per_day) for name in where.instance_types
    )


def ranked(
    where: Where, offers: Sequence[Offer], scores: Mapping[str, int], prices: Mapping[str, InstancePrice]
) -> tuple[Zone, ...]:
    """First by score, since capacity that is not there costs nothing and does nothing; then by types sold and by price.

    A zone at the price of on-demand comes after all that save something.
    """
    cheapest: dict[str, float] = {}
    for offer in offers:
        cheapest[offer.instance_type] = min(offer.latest, cheapest.get(offer.instance_type, offer.latest))
    names = set(where.zones) | {offer.zone for offer in offers} | (set() if where.zones else set(scores))
    zones = [_zone(name, offers, scores.get(name), cheapest, prices) for name in names]
    return tuple(
        sorted(
            zones,
            key=lambda zone: (
                zone.types == 0, zone.saves_nothing, -(zone.score or 0), -zone.types, zone.dearer, zone.name,
            ),
        )
    )  # fmt: skip


def _zone(
    name: str,
    offers: Sequence[Offer],
    score: int | None,
    cheapest: Mapping[str, float],
    prices: Mapping[str, InstancePrice],
) -> Zone:
    here = [offer for offer in offers if offer.zone == name]
    ratios = [offer.latest / cheapest[offer.instance_type] for offer in here]
    savings = [
        found for offer in here if (found := saving(offer, prices.get(offer.instance_type))) is not None
    ]
    return Zone(
        name=name,
        score=score,
        types=len({offer.instance_type for offer in here}),
        dearer=sum(ratios) / len(ratios) - 1 if ratios else 0.0,
        best_saving=max(savings, default=None),
    )
