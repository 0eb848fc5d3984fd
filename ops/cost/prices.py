"""What AWS asks for a unit: the dated table of services, beside those of instances and models."""

import csv
import functools
import io
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path

from ops.instance_prices import (
    OLDEST_DAYS,
    REFERENCE_REGION,
    InstancePrice,
    PriceTableError,
    nearest_price,
)
from ops.model_prices import usd_per_million_tokens

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
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [_price(row, number) for number, row in enumerate(csv.DictReader(lines), start=2)]
    table = {(row.service, row.what, row.region): row for row in rows}
    if len(table) != len(rows):
        raise PriceTableError(f"{path.name} has two rows of one price and region. Keep one of them.")
    return table


def table_text(prices: Iterable[Price]) -> str:
    """The text of the table, the same for the same prices in whatever order."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [column.name for column in fields(Price)]
    writer.writerow(columns)
    for price in sorted(prices, key=lambda price: (price.service, price.what, price.region)):
        writer.writerow([_cell(getattr(price, column)) for column in columns])
    return text.getvalue()


def _cell(value: object) -> str:
    # Without an exponent and without rounding: what is read back is the same number.
    return f"{value:.10f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _price(row: Mapping[str, str], line: int) -> Price:
    try:
        usd = float(row["price_usd"])
        if not 0 < usd < math.inf or None in row or None in row.values() or not all(row.values()):
            raise ValueError("a price is above zero, and no cell is empty")
        words = {name: row[name] for name in ("service", "what", "region", "unit", "source")}
        return Price(**words, price_usd=usd, read_on=date.fromisoformat(row["read_on"]))
    except (KeyError, TypeError, ValueError) as error:
        raise PriceTableError(
            f"Line {line} of {TABLE.name} is no price ({error}). Take the file from version control again."
        ) from error


def age_warning(today: date, read_on: Iterable[date]) -> str:
    """One sentence when the oldest of these days is more than 90 days back; empty when it is not."""
    oldest = min(read_on, default=today)
    age = (today - oldest).days
    if age <= OLDEST_DAYS:
        return ""
    return (
        f"The oldest of these prices is of {oldest}, {age} days ago: AWS changes them. Renew them: "
        "python -m ops prices services --region REGION, and python -m ops prices refresh --region REGION"
    )
