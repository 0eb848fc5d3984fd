"""What an hour of an accelerator instance costs: a dated table, read by whatever estimates, written by `ops prices refresh`."""

import csv
import functools
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path

TABLE = Path(__file__).with_suffix(".csv")
# The region whose prices are known for nearly every type.
REFERENCE_REGION = "us-east-1"
OLDEST_DAYS = 90


class PriceTableError(Exception):
    """The table holds what is no price; the message says where."""


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


def age_warning(today: date, prices: Iterable[InstancePrice] | None = None) -> str:
    """One sentence when any of the prices (by default: of the table) is older than 90 days; empty when none is."""
    prices = read_table().values() if prices is None else prices
    days = [day for price in prices for day in _days_of_prices(price)]
    oldest = min(days, default=today)
    age = (today - oldest).days
    if age <= OLDEST_DAYS:
        return ""
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
def read_table(path: Path = TABLE) -> Mapping[tuple[str, str], InstancePrice]:
    """Every row by type and region. PriceTableError tells of a row that is no price."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [_price(row, number) for number, row in enumerate(csv.DictReader(lines), start=2)]
    table = {(row.instance_type, row.region): row for row in rows}
    if len(table) != len(rows):
        raise PriceTableError(f"{path.name} has two rows of one type and region. Keep one of them.")
    return table


def table_text(prices: Iterable[InstancePrice]) -> str:
    """The text of the table, the same for the same prices in whatever order."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in fields(InstancePrice)])
    for price in sorted(prices, key=lambda price: (price.instance_type, price.region)):
        writer.writerow([_cell(getattr(price, column.name)) for column in fields(InstancePrice)])
    return text.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, float):
        # Without an exponent and without rounding: what is read back is the same number.
        return f"{value:.10f}".rstrip("0").rstrip(".")
    return "" if value is None else str(value)


def _price(row: Mapping[str, str], line: int) -> InstancePrice:
    try:
        if None in row or None in row.values():
            raise ValueError("it has too few or too many cells")
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
    except (KeyError, TypeError, ValueError) as error:
        raise PriceTableError(
            f"Line {line} of {TABLE.name} is no price ({error}). Take the file from version control again."
        ) from error


def _usd(text: str) -> float | None:
    if not text:
        return None
    usd = float(text)
    if not 0 < usd < math.inf:
        raise ValueError(f"{text} USD per hour")
    return usd


def _day(text: str) -> date | None:
    return date.fromisoformat(text) if text else None
