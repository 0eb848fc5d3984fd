"""What AWS asks for a unit: the dated table of services, beside those of instances and models."""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from ops.instance_prices import REFERENCE_REGION, InstancePrice, nearest_price
from ops.model_prices import usd_per_million_tokens
from ops.price_table import outdated, read_rows, text_of, usd_of

TABLE = Path(__file__).with_suffix(".csv")
# lambda_src/rag/prices.py says both of its table.
MODELS_SOURCE, MODELS_READ_ON = (
    "AWS's price list as kept in litellm 1.110.2 (lambda_src/rag/prices.py)",
    date(2026, 12, 1),
)
Key = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True)
class Price:
    """What one unit costs in one region (empty: in every one), as the source said on a day. The table's columns."""

    service: str
    what: str
    region: str
    unit: str
    price_usd: float
    source: str
    read_on: date


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Every price that an estimate may need. A question without an answer is None, never zero."""

    services: Mapping[Key, Price] = field(default_factory=lambda: read_table())
    instances: Callable[[str, str], InstancePrice | None] = nearest_price
    models: Callable[[str], tuple[float, float] | None] = usd_per_million_tokens

    def of(self, service: str, what: str, region: str) -> Price | None:
        """The price in this region, else that of us-east-1, else of any other; its `region` tells which it is."""
        exact = self.services.get((service, what, region)) or self.services.get(
            (service, what, REFERENCE_REGION)
        )
        others = (price for price in self.services.values() if (price.service, price.what) == (service, what))
        return exact or next(others, None)

    def node(self, instance_type: str, region: str, *, spot: bool) -> Price | None:
        """An hour of an instance. On spot that of the dearest zone, or the on-demand price where none is known."""
        found = self.instances(instance_type, region)
        if found is None:
            return None
        if spot and found.spot_maximum_usd_hour is not None and found.spot_read_on:
            return _node(found, "on spot", found.spot_maximum_usd_hour, found.spot_source, found.spot_read_on)
        if found.on_demand_usd_hour is None or found.on_demand_read_on is None:
            return None
        market = "on demand, no spot price being known" if spot else "on demand"
        return _node(found, market, found.on_demand_usd_hour, found.on_demand_source, found.on_demand_read_on)

    def tokens(self, model_id: str) -> tuple[Price, Price] | None:
        """A million tokens that go into the model, and one that come out."""
        found = self.models(model_id)
        if found is None:
            return None
        into, out = (
            Price(
                service="Bedrock",
                what=f"{model_id}, {direction}",
                region="",
                unit="million tokens",
                price_usd=usd,
                source=MODELS_SOURCE,
                read_on=MODELS_READ_ON,
            )
            for direction, usd in zip(("input", "output"), found, strict=True)
        )
        return into, out


def _node(found: InstancePrice, market: str, usd: float, source: str, read_on: date) -> Price:
    return Price(
        service="EC2",
        what=f"{found.instance_type} {market}",
        region=found.region,
        unit="hour",
        price_usd=usd,
        source=source,
        read_on=read_on,
    )


@functools.cache
def read_table(path: Path = TABLE) -> Mapping[Key, Price]:
    """Every row by service, what and region. PriceTableError tells of a row that is no price."""
    return read_rows(path, _price, _key)


def table_text(prices: Iterable[Price]) -> str:
    """The text of the table, the same for the same prices in whatever order."""
    return text_of(Price, prices, _key)


def _key(price: Price) -> Key:
    return price.service, price.what, price.region


def _price(row: Mapping[str, str]) -> Price:
    if not all(row.values()):
        raise ValueError("no cell is empty")
    words = {name: row[name] for name in ("service", "what", "region", "unit", "source")}
    return Price(**words, price_usd=usd_of(row["price_usd"]), read_on=date.fromisoformat(row["read_on"]))


def age_warning(today: date, read_on: Iterable[date]) -> str:
    """One sentence when the oldest of these days is more than 90 days back; empty when it is not."""
    found = outdated(today, read_on)
    if found is None:
        return ""
    oldest, age = found
    return (
        f"The oldest of these prices is of {oldest}, {age} days ago: AWS changes them. Renew them: "
        "python -m ops prices services --region REGION, and python -m ops prices refresh --region REGION"
    )
