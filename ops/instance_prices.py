"""What an hour of an accelerator instance costs: a dated table, read by whatever estimates, written by `ops prices refresh`."""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from ops.price_table import outdated, read_rows, text_of, usd_of

TABLE = Path(__file__).with_suffix(".csv")
# The region whose prices are known for nearly every type.
REFERENCE_REGION = "us-east-1"
Key = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class InstancePrice:
    """One instance type in one region: Linux, shared tenancy, USD per hour. The fields are the table's columns.

    A price is None where it is not known; a day of reading with no price says that there was none on that day.
    Spot prices are those of the cheapest and the dearest zone. `interruptions` is the share of spot instances that
    AWS took back in a month, as its Spot Advisor groups them, such as `<5%` or `15-20%`; empty where not known.
    """

    instance_type: str
    region: str
    on_demand_usd_hour: float | None = None
    on_demand_read_on: date | None = None
    on_demand_source: str = ""
    spot_minimum_usd_hour: float | None = None
    spot_maximum_usd_hour: float | None = None
    spot_read_on: date | None = None
    spot_source: str = ""
    interruptions: str = ""
    interruptions_read_on: date | None = None

    @property
    def read_on(self) -> date | None:
        """The day on which the older of the two prices was read."""
        days = [day for day in (self.on_demand_read_on, self.spot_read_on) if day]
        return min(days, default=None)

    @property
    def source(self) -> str:
        """Where the prices are from."""
        return "; ".join(filter(None, (self.on_demand_source, self.spot_source)))


def price_of(instance_type: str, region: str) -> InstancePrice | None:
    """The prices of a type in exactly this region, or None where the table has none."""
    return read_table().get((instance_type, region))


def nearest_price(instance_type: str, region: str) -> InstancePrice | None:
    """The prices of a type in this region if it is known there on demand, else those of us-east-1; `region` tells which."""
    here, reference = price_of(instance_type, region), price_of(instance_type, REFERENCE_REGION)
    known = [price for price in (here, reference) if price and price.on_demand_usd_hour is not None]
    return next(iter(known), None) or here or reference


def interruptions_row(price: InstancePrice | None) -> InstancePrice | None:
    """The row that tells how often spot instances of this type are taken back: `price`, else the one of us-east-1.

    AWS has no API for that, so a region whose prices were asked for has none of its own.
    """
    if price is None or price.interruptions:
        return price
    return price_of(price.instance_type, REFERENCE_REGION) or price


def age_warning(today: date, prices: Iterable[InstancePrice] | None = None) -> str:
    """One sentence when any of the prices (by default: of the table) is older than 90 days; empty when none is."""
    prices = read_table().values() if prices is None else prices
    found = outdated(today, (day for price in prices for day in _days_of_prices(price)))
    if found is None:
        return ""
    oldest, age = found
    return (
        f"The oldest of these prices was read on {oldest}, {age} days ago: AWS changes them. "
        "Renew them: python -m ops prices refresh --region REGION"
    )


def _days_of_prices(price: InstancePrice) -> Iterable[date]:
    if price.on_demand_usd_hour is not None and price.on_demand_read_on:
        yield price.on_demand_read_on
    if price.spot_minimum_usd_hour is not None and price.spot_read_on:
        yield price.spot_read_on


@functools.cache
def read_table(path: Path = TABLE) -> Mapping[Key, InstancePrice]:
    """Every row by type and region. PriceTableError tells of a row that is no price."""
    return read_rows(path, _price, _key)


def table_text(prices: Iterable[InstancePrice]) -> str:
    """The text of the table, the same for the same prices in whatever order."""
    return text_of(InstancePrice, prices, _key)


def _key(price: InstancePrice) -> Key:
    return price.instance_type, price.region


def _price(row: Mapping[str, str]) -> InstancePrice:
    return InstancePrice(
        instance_type=row["instance_type"],
        region=row["region"],
        on_demand_usd_hour=_usd(row["on_demand_usd_hour"]),
        on_demand_read_on=_day(row["on_demand_read_on"]),
        on_demand_source=row["on_demand_source"],
        spot_minimum_usd_hour=_usd(row["spot_minimum_usd_hour"]),
        spot_maximum_usd_hour=_usd(row["spot_maximum_usd_hour"]),
        spot_read_on=_day(row["spot_read_on"]),
        spot_source=row["spot_source"],
        interruptions=row["interruptions"],
        interruptions_read_on=_day(row["interruptions_read_on"]),
    )


def _usd(text: str) -> float | None:
    return usd_of(text) if text else None


def _day(text: str) -> date | None:
    return date.fromisoformat(text) if text else None
