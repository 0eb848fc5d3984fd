"""The dated table of instance prices, and what is said when it is old."""

from dataclasses import fields
from datetime import date
from pathlib import Path

import pytest

from components.accelerators import find, sold_in
from ops import instance_prices
from ops.instance_prices import (
    REFERENCE_REGION,
    TABLE,
    InstancePrice,
    age_warning,
    nearest_price,
    price_of,
    read_table,
    table_text,
)
from ops.price_table import PriceTableError

READ = date(2026, 7, 20)


def test_every_type_of_the_platform_has_a_row_in_the_reference_region() -> None:
    missing = [name for name in sold_in(REFERENCE_REGION) if price_of(name, REFERENCE_REGION) is None]
    assert not missing, "their cost could not be told"


def test_every_known_price_has_a_day_and_a_source() -> None:
    for row in read_table().values():
        if row.on_demand_usd_hour is not None:
            assert row.on_demand_read_on and row.on_demand_source, f"{row.instance_type} has an undated price"
        if row.spot_minimum_usd_hour is not None:
            assert row.spot_read_on and row.spot_source, f"{row.instance_type} has an undated spot price"
            assert row.spot_minimum_usd_hour <= (row.spot_maximum_usd_hour or 0), (
                f"{row.instance_type} is turned round"
            )
        assert bool(row.interruptions) == bool(row.interruptions_read_on)


def test_every_price_is_that_of_an_hour() -> None:
    """Of one accelerator. The price of a month or of a second would leave this range, for the cheapest type and the dearest."""
    for row in read_table().values():
        entry = find(row.instance_type)
        if entry is None:
            continue
        for usd in filter(
            None, (row.on_demand_usd_hour, row.spot_minimum_usd_hour, row.spot_maximum_usd_hour)
        ):
            assert 0.03 < usd / entry.accelerator_count < 50, (
                f"{row.instance_type} in {row.region}: {usd} USD per hour"
            )


@pytest.mark.usefixtures("frozen_prices")
def test_a_price_carries_both_days_and_both_sources() -> None:
    price = price_of("g5.xlarge", "us-east-1")
    assert price and price.on_demand_usd_hour == 1.006 and price.interruptions == ">20%"
    assert price.read_on == price.spot_read_on == date(2026, 1, 29), "a price would seem newer than it is"
    assert "Karpenter" in price.source and "SkyPilot" in price.source


def test_the_table_is_written_as_it_is_read() -> None:
    assert table_text(
        sorted(read_table().values(), key=lambda price: price.region, reverse=True)
    ) == TABLE.read_text(encoding="utf-8")


@pytest.mark.usefixtures("frozen_prices")
def test_another_region_shows_the_reference_and_says_so() -> None:
    assert price_of("g5.xlarge", "eu-central-1") is None
    price = nearest_price("g5.xlarge", "eu-central-1")
    assert price and price.region == "us-east-1"
    spot_only = nearest_price("p5e.48xlarge", "us-east-2")
    assert spot_only and spot_only.region == "us-east-2", "the only known price would be passed over"
    both = nearest_price("p6-b300.48xlarge", "us-west-2")
    assert both and both.on_demand_usd_hour == 142.416, (
        "a spot price alone would hide what it costs on demand"
    )
    assert nearest_price("g9.xlarge", "eu-central-1") is None


def test_the_price_of_the_region_itself_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        InstancePrice(instance_type="g5.xlarge", region=region, on_demand_usd_hour=usd)
        for region, usd in ((REFERENCE_REGION, 1.0), ("eu-central-1", 1.25))
    ]
    table = {(row.instance_type, row.region): row for row in rows}
    monkeypatch.setattr(instance_prices, "read_table", lambda: table)
    price = nearest_price("g5.xlarge", "eu-central-1")
    assert price and price.on_demand_usd_hour == 1.25, "a refresh of the region would change nothing"


@pytest.mark.parametrize(("age_days", "warns"), [(0, False), (90, False), (91, True)])
def test_prices_older_than_ninety_days_are_warned_of(age_days: int, warns: bool) -> None:
    price = InstancePrice(
        instance_type="g5.xlarge", region="us-east-1", on_demand_usd_hour=1.0, on_demand_read_on=READ
    )
    warning = age_warning(date.fromordinal(READ.toordinal() + age_days), [price])
    assert bool(warning) == warns
    assert not warns or ("91 days" in warning and "ops prices refresh" in warning)


@pytest.mark.usefixtures("frozen_prices")
def test_a_day_without_a_price_does_not_age() -> None:
    nothing = InstancePrice(
        instance_type="p5e.48xlarge", region="us-east-1", on_demand_read_on=date(2020, 1, 1)
    )
    assert age_warning(READ, [nothing]) == ""
    assert age_warning(date(2030, 1, 1)), "the whole table would never age"


HEAD = ",".join(column.name for column in fields(InstancePrice))


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("g5.xlarge,us-east-1,free,2026-07-20,x,,,,,,", "Line 2"),
        ("g5.xlarge,us-east-1,0,2026-07-20,x,,,,,,", "0 USD"),
        ("g5.xlarge,us-east-1,nan,2026-07-20,x,,,,,,", "nan USD"),
        ("g5.xlarge,us-east-1,1,yesterday,x,,,,,,", "yesterday"),
        ("g5.xlarge,us-east-1,1", "Line 2"),
        ("g5.xlarge,us-east-1,1,2026-07-20,x,,,,,,\ng5.xlarge,us-east-1,2,2026-07-20,x,,,,,,", "two rows"),
    ],
)
def test_a_broken_row_is_refused_with_its_place(tmp_path: Path, row: str, told: str) -> None:
    path = tmp_path / "instance_prices.csv"
    path.write_text(f"{HEAD}\n{row}\n", encoding="utf-8")
    with pytest.raises(PriceTableError, match=told):
        read_table(path)
