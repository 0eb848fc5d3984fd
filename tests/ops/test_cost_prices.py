"""The table of service prices, and `ops prices services`, which reads it anew."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.stub import ANY, Stubber

from ops.aws_calls import AwsCallError
from ops.cost.prices import MODELS_READ_ON, TABLE, Prices, age_warning, read_table, table_text
from ops.model_prices import PIPELINE
from ops.price_table import PriceTableError
from ops.prices import command, services
from ops.prices.service_queries import BY_HAND, FROM_REGION, QUERIES, Query
from ops.prices.services import MOST_CHANGE, unit_usd
from tests.ops.cost_world import service_price

TODAY = date(2026, 12, 2)
REGION = "eu-central-1"
NAT = Query(service_code="AmazonEC2", usage_type="NatGateway-Hours", unit="hour", filters={"productFamily": "NAT Gateway"})  # fmt: skip


def product(usage_type: str, *tiers: tuple[str, str]) -> str:
    """A price list entry with tiers, each from so many units on at so many USD."""
    dimensions = {
        str(number): {"unit": "Hrs", "beginRange": begin, "pricePerUnit": {"USD": usd}}
        for number, (begin, usd) in enumerate(tiers)
    }
    return json.dumps(
        {
            "product": {"attributes": {"usagetype": usage_type}},
            "terms": {"OnDemand": {"A": {"priceDimensions": dimensions}}},
        }
    )


@pytest.fixture
def price_list() -> Iterator[Stubber]:
    client = boto3.client(
        "pricing", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x",
        config=Config(retries={"total_max_attempts": 1}),
    )  # fmt: skip
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


class TestTable:
    def test_it_is_written_as_it_was_read(self) -> None:
        assert table_text(read_table().values()) == TABLE.read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        "change",
        [("0.045", "0"), ("0.045", "-1"), ("0.045", "nan"), ("0.045", "cheap"), ("2026-02-24", "today"), (",hour,", ",,"), ("0.045,", "0.045,x,")],
    )  # fmt: skip
    def test_a_row_that_is_no_price_is_told(self, tmp_path: Path, change: tuple[str, str]) -> None:
        path = tmp_path / "prices.csv"
        lines = TABLE.read_text(encoding="utf-8").splitlines()
        row = "VPC,NAT gateway,us-east-1,hour,0.045,somebody,2026-02-24"
        path.write_text(f"{lines[0]}\n{row.replace(*change)}\n", encoding="utf-8")
        with pytest.raises(PriceTableError, match="Line 2 of prices.csv is no price"):
            read_table(path)

    def test_two_prices_of_one_thing_are_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "prices.csv"
        lines = TABLE.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join([lines[0], lines[1], lines[1]]), encoding="utf-8")
        with pytest.raises(PriceTableError, match="two rows of one price"):
            read_table(path)

    def test_a_unit_is_the_same_in_every_region(self) -> None:
        units: dict[tuple[str, str], set[str]] = {}
        for price in read_table().values():
            units.setdefault((price.service, price.what), set()).add(price.unit)
        assert all(len(found) == 1 for found in units.values()), "regions could not be compared"

    def test_a_price_is_about_that_of_another_region(self) -> None:
        for price in read_table().values():
            usual = Prices().of(price.service, price.what, "us-east-1")
            assert usual and 1 / MOST_CHANGE <= price.price_usd / usual.price_usd <= MOST_CHANGE, (
                f"{price.service} {price.what} of {price.region} seems to be in another unit"
            )

    def test_every_row_is_read_anew_by_a_query_or_known_to_need_a_hand(self) -> None:
        assert {(price.service, price.what) for price in read_table().values()} == {*QUERIES, *BY_HAND}
        for price in read_table().values():
            query = QUERIES.get((price.service, price.what))
            assert query is None or query.unit == price.unit, f"{price.what} would change its unit"

    def test_the_date_of_the_models_is_that_of_their_table(self) -> None:
        told = (PIPELINE / "rag" / "prices.py").read_text(encoding="utf-8")
        found = re.search(r"Read on (\d{4}-\d\d-\d\d)", told)
        assert found and found[1] == str(MODELS_READ_ON)

    def test_a_region_without_a_price_takes_that_of_us_east_1_and_then_any(self) -> None:
        places = {"key": (REGION, "us-east-1", "sa-east-1"), "rare": (REGION,)}
        rows = [service_price("KMS", what, 1.0, place) for what, found in places.items() for place in found]
        prices = Prices(services={(row.service, row.what, row.region): row for row in rows})

        def region_of(what: str, region: str) -> str:
            price = prices.of("KMS", what, region)
            return price.region if price else ""

        assert region_of("key", REGION) == REGION
        assert region_of("key", "ap-south-1") == "us-east-1"
        assert region_of("rare", "ap-south-1") == REGION
        assert region_of("none", REGION) == ""

    def test_prices_age(self) -> None:
        assert age_warning(TODAY, []) == ""
        assert "ops prices services" in age_warning(TODAY, [date(2026, 1, 1)])


class TestAsked:
    def test_exactly_this_product_is_asked_for(self, price_list: Stubber) -> None:
        filters = [
            {"Type": "TERM_MATCH", "Field": "productFamily", "Value": "NAT Gateway"},
            {"Type": "TERM_MATCH", "Field": "regionCode", "Value": REGION},
        ]
        answer = {"PriceList": [product("EUC1-NatGateway-Hours", ("0", "0.052")), product("EUC1-NatGateway-Bytes", ("0", "0.9"))]}  # fmt: skip
        price_list.add_response("get_products", answer, {"ServiceCode": "AmazonEC2", "Filters": filters})
        assert unit_usd(price_list.client, REGION, NAT) == 0.052

    @pytest.mark.parametrize(
        ("usage_type", "is_ours"),
        [
            ("NatGateway-Hours", True), ("USE1-NatGateway-Hours", True), ("EU-NatGateway-Hours", True),
            ("eu-central-1-NatGateway-Hours", True), ("EUC1-RegionalNatGateway-Hours", False),
            ("EUC1-SpotUsage-NatGateway-Hours", False), ("SpotUsage-NatGateway-Hours", False), ("NatGateway-Hours2", False),
        ],
    )  # fmt: skip
    def test_a_usage_type_is_known_without_its_region(self, price_list: Stubber, usage_type: str, is_ours: bool) -> None:  # fmt: skip
        price_list.add_response("get_products", {"PriceList": [product(usage_type, ("0", "2"))]})
        assert unit_usd(price_list.client, REGION, NAT) == (2 if is_ours else None)

    def test_the_first_tier_that_is_not_free_counts_in_the_tables_unit(self, price_list: Stubber) -> None:
        tiers = ("100000000", "0.00000030"), ("1000000", "0.00000040"), ("0", "0")
        price_list.add_response("get_products", {"PriceList": [product("NatGateway-Hours", *tiers)]})
        assert unit_usd(price_list.client, REGION, replace(NAT, factor=1e6)) == 0.4

    def test_traffic_is_asked_for_by_where_it_comes_from(self, price_list: Stubber) -> None:
        asked: dict[str, Any] = {"ServiceCode": "AWSDataTransfer", "Filters": ANY}
        price_list.add_response("get_products", {"PriceList": []}, asked)
        query = QUERIES["VPC", "data out to the internet"]
        assert unit_usd(price_list.client, REGION, query) is None and query.region_field == FROM_REGION

    def test_two_prices_a_strange_entry_and_a_refusal_are_told(self, price_list: Stubber) -> None:
        price_list.add_response("get_products", {"PriceList": [product("NatGateway-Hours", ("0", "1")), product("NatGateway-Hours", ("0", "2"))]})  # fmt: skip
        with pytest.raises(AwsCallError, match="several prices of NatGateway-Hours"):
            unit_usd(price_list.client, REGION, NAT)
        price_list.add_response("get_products", {"PriceList": ["{}"]})
        with pytest.raises(AwsCallError, match="cannot be read"):
            unit_usd(price_list.client, REGION, NAT)
        price_list.add_client_error("get_products", "AccessDeniedException", "no")
        with pytest.raises(AwsCallError, match="AWS refused reading the price of NatGateway-Hours"):
            unit_usd(price_list.client, REGION, NAT)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of three prices, whatever the real one has by now."""
    known = [
        ("VPC", "NAT gateway", REGION, 0.052),
        ("EBS", "gp3", REGION, 0.1),
        ("KMS", "key", "us-east-1", 1.0),
    ]
    rows = [service_price(service, what, usd, region) for service, what, region, usd in known]
    path = tmp_path / TABLE.name
    path.write_text(table_text(rows), encoding="utf-8")
    return path


def run(monkeypatch: pytest.MonkeyPatch, table: Path, answers: dict[tuple[str, str], float | None], *options: str) -> int:  # fmt: skip
    monkeypatch.setattr(services, "ask", lambda region, profile: answers)
    return command.main(["services", "--region", REGION, *options], TODAY, table)


class TestRefresh:
    def test_new_prices_are_written_and_told_and_the_others_stay(
        self, monkeypatch: pytest.MonkeyPatch, table: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = dict(read_table(table))
        answers = {("VPC", "NAT gateway"): 0.06, ("KMS", "key"): 1.0, ("EBS", "gp3"): None}
        assert run(monkeypatch, table, answers) == 0
        after = read_table(table)
        new = after["VPC", "NAT gateway", REGION]
        assert (new.price_usd, new.read_on, new.source) == (0.06, TODAY, "AWS Price List API")
        assert after["KMS", "key", REGION].price_usd == 1.0, "a region new to the table has no row"
        changed = {("VPC", "NAT gateway", REGION), ("KMS", "key", REGION)}
        assert {key: price for key, price in after.items() if key not in changed} == {
            key: price for key, price in before.items() if key not in changed
        }
        told = capsys.readouterr().out
        assert "VPC NAT gateway in eu-central-1: 0.052 -> 0.06 / hour" in told
        assert "which keep what they had: EBS gp3" in told

    def test_check_writes_nothing_and_tells_by_its_exit_code(
        self, monkeypatch: pytest.MonkeyPatch, table: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = table.read_bytes()
        assert run(monkeypatch, table, {("VPC", "NAT gateway"): 0.06}, "--check", "--json") == 1
        assert table.read_bytes() == before
        assert json.loads(capsys.readouterr().out)["written"] is False
        assert run(monkeypatch, table, {("VPC", "NAT gateway"): 0.052}, "--check") == 0

    def test_a_price_in_another_unit_is_not_taken(
        self, monkeypatch: pytest.MonkeyPatch, table: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = table.read_bytes()
        answers: dict[tuple[str, str], float | None] = {("VPC", "NAT gateway"): 52.0}
        assert run(monkeypatch, table, answers) == 1
        assert table.read_bytes() == before, "a bill of thousands would be told"
        assert "perhaps in another unit: VPC NAT gateway" in capsys.readouterr().err
        assert run(monkeypatch, table, answers, "--accept") == 0
        assert read_table(table)["VPC", "NAT gateway", REGION].price_usd == 52

    def test_every_row_is_asked_for_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[Query] = []

        def answer(client: object, region: str, query: Query) -> float:
            asked.append(query)
            return 1.0

        monkeypatch.setattr(services, "aws_client", lambda service, region, profile: None)
        monkeypatch.setattr(services, "unit_usd", answer)
        assert services.ask(REGION, None) == dict.fromkeys(QUERIES, 1.0)
        assert asked == list(QUERIES.values())
