"""`ops prices refresh`: what is asked of AWS, what its answers mean, and what is written."""

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.stub import ANY, Stubber

from components.accelerators import sold_in
from ops.aws_calls import AwsCallError, aws_client
from ops.instance_prices import TABLE, InstancePrice, read_table, table_text
from ops.prices import command
from ops.prices.asked import on_demand_usd, spot_usd
from ops.prices.changes import Answer, changes, merged
from ops.whole_file import replace_text

NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)
TODAY = NOW.date()
REGION = "eu-central-1"


def stubbed(service: str, region: str) -> Stubber:
    # One attempt: a stubbed refusal would otherwise be tried again after a wait.
    client = boto3.client(
        service, region_name=region, aws_access_key_id="x", aws_secret_access_key="x",
        config=Config(retries={"total_max_attempts": 1}),
    )  # fmt: skip
    return Stubber(client)


@pytest.fixture
def price_list() -> Iterator[Stubber]:
    with stubbed("pricing", "us-east-1") as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


@pytest.fixture
def ec2() -> Iterator[Stubber]:
    with stubbed("ec2", REGION) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def product(usd: str, unit: str = "Hrs", currency: str = "USD") -> str:
    """An entry of the price list: JSON in a text, with the price as a text in it."""
    dimension = {"unit": unit, "pricePerUnit": {currency: usd}}
    return json.dumps({"terms": {"OnDemand": {"A.B": {"priceDimensions": {"A.B.C": dimension}}}}})


def zone(name: str, usd: str, minutes_ago: int = 5, kind: str = "g5.xlarge") -> dict[str, Any]:
    return {"InstanceType": kind, "AvailabilityZone": name, "SpotPrice": usd, "Timestamp": NOW - timedelta(minutes=minutes_ago)}  # fmt: skip


def test_the_price_list_is_asked_for_exactly_this_machine(price_list: Stubber) -> None:
    asked = {
        "operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used",
        "marketoption": "OnDemand", "regionCode": REGION, "instanceType": "g5.xlarge",
    }  # fmt: skip
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in asked.items()]
    price_list.add_response("get_products", {"PriceList": [product("1.2580000000")]}, {"ServiceCode": "AmazonEC2", "Filters": filters})  # fmt: skip
    assert on_demand_usd(price_list.client, REGION, "g5.xlarge") == 1.258


def test_an_empty_page_with_a_token_is_not_the_end(price_list: Stubber) -> None:
    price_list.add_response("get_products", {"PriceList": [], "NextToken": "more"})
    price_list.add_response("get_products", {"PriceList": [product("1.258")]}, {"ServiceCode": ANY, "Filters": ANY, "NextToken": "more"})  # fmt: skip
    assert on_demand_usd(price_list.client, REGION, "g5.xlarge") == 1.258, (
        "a price would be taken for missing"
    )


def test_the_same_price_twice_is_one_price_and_zero_is_none(price_list: Stubber) -> None:
    entries = [
        product("1.258"),
        product("1.2580000000"),
        product("0.0000000000"),
        product("900", unit="Quantity"),
    ]
    price_list.add_response("get_products", {"PriceList": entries})
    assert on_demand_usd(price_list.client, REGION, "g5.xlarge") == 1.258
    price_list.add_response("get_products", {"PriceList": [product("0")]})
    assert on_demand_usd(price_list.client, REGION, "g5.xlarge") is None, "an instance would cost nothing"


def test_two_different_prices_are_refused(price_list: Stubber) -> None:
    price_list.add_response("get_products", {"PriceList": [product("1.258"), product("2")]})
    with pytest.raises(
        AwsCallError, match=r"several on-demand prices of g5.xlarge in eu-central-1 \(1.258, 2 USD"
    ):
        on_demand_usd(price_list.client, REGION, "g5.xlarge")


@pytest.mark.parametrize(
    "entry", ["no JSON", "[]", product("a dollar"), json.dumps({"terms": {"OnDemand": {"A": {}}}})]
)
def test_an_entry_that_cannot_be_read_is_told(price_list: Stubber, entry: str) -> None:
    price_list.add_response("get_products", {"PriceList": [entry]})
    with pytest.raises(AwsCallError, match="price list entry of g5.xlarge cannot be read"):
        on_demand_usd(price_list.client, REGION, "g5.xlarge")


def test_a_refusal_is_never_an_empty_price(price_list: Stubber) -> None:
    price_list.add_client_error("get_products", "AccessDeniedException", "not authorized")
    with pytest.raises(
        AwsCallError, match="AWS refused reading the on-demand price of g5.xlarge: AccessDenied"
    ):
        on_demand_usd(price_list.client, REGION, "g5.xlarge")


def test_spot_is_the_newest_price_of_each_zone(ec2: Stubber) -> None:
    history = [
        zone("eu-central-1a", "0.500000", 5), zone("eu-central-1a", "0.900000", 50),
        zone("eu-central-1b", "0.610000"), zone("eu-central-1b", "0.610000"),
        zone("eu-central-1a", "7.1", kind="p4d.24xlarge"),
    ]  # fmt: skip
    asked = {"InstanceTypes": ["g5.xlarge", "p4d.24xlarge"], "ProductDescriptions": ["Linux/UNIX"], "StartTime": NOW - timedelta(hours=1)}  # fmt: skip
    ec2.add_response("describe_spot_price_history", {"SpotPriceHistory": [], "NextToken": "more"}, asked)
    ec2.add_response(
        "describe_spot_price_history",
        {"SpotPriceHistory": history, "NextToken": ""},
        {**asked, "NextToken": "more"},
    )
    found = spot_usd(ec2.client, ["g5.xlarge", "p4d.24xlarge"], NOW)
    assert found == {"g5.xlarge": (0.5, 0.61), "p4d.24xlarge": (7.1, 7.1)}, "an outdated price would count"


@pytest.mark.parametrize("usd", ["", "cheap", "0", "-1", "nan", "inf"])
def test_a_spot_price_that_is_none_is_told(ec2: Stubber, usd: str) -> None:
    ec2.add_response("describe_spot_price_history", {"SpotPriceHistory": [zone("eu-central-1a", usd)]})
    with pytest.raises(
        AwsCallError, match="spot price history cannot be read .*: g5.xlarge in eu-central-1a"
    ):
        spot_usd(ec2.client, ["g5.xlarge"], NOW)


@pytest.mark.parametrize("missing", ["InstanceType", "AvailabilityZone", "SpotPrice", "Timestamp"])
def test_a_spot_price_without_its_place_or_day_is_told(ec2: Stubber, missing: str) -> None:
    entry = {key: value for key, value in zone("eu-central-1a", "0.5").items() if key != missing}
    ec2.add_response("describe_spot_price_history", {"SpotPriceHistory": [entry]})
    with pytest.raises(AwsCallError, match=f"spot price history cannot be read \\('{missing}'\\)"):
        spot_usd(ec2.client, ["g5.xlarge"], NOW)


def test_pages_without_an_end_are_given_up(monkeypatch: pytest.MonkeyPatch, ec2: Stubber) -> None:
    monkeypatch.setattr("ops.prices.asked.MOST_PAGES", 2)
    for _ in range(2):
        ec2.add_response("describe_spot_price_history", {"SpotPriceHistory": [], "NextToken": "again"})
    with pytest.raises(AwsCallError, match="more than 2 pages"):
        spot_usd(ec2.client, ["g5.xlarge"], NOW)


def test_throttled_twice_and_then_answered_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    waits: list[float] = []
    monkeypatch.setattr("botocore.endpoint.time.sleep", waits.append)
    client = aws_client("pricing", "us-east-1")
    throttled = (
        AWSResponse("", 400, {}, BytesIO()),
        b'{"__type": "ThrottlingException", "message": "slow down"}',
    )
    fine = AWSResponse("", 200, {}, BytesIO()), json.dumps({"PriceList": [product("1.258")]}).encode()
    answers = iter([throttled, throttled, fine])

    def answer(**_: object) -> AWSResponse:
        response, body = next(answers)
        response._content = body
        return response

    client.meta.events.register("before-send.pricing.GetProducts", answer)
    assert on_demand_usd(client, REGION, "g5.xlarge") == 1.258
    assert len(waits) == 2, "a busy moment of AWS would end the whole refresh"


OLD = InstancePrice(
    instance_type="g5.xlarge", region=REGION, on_demand_usd_hour=1.2, on_demand_read_on=date(2026, 1, 1),
    on_demand_source="x", spot_minimum_usd_hour=0.5, spot_maximum_usd_hour=0.6, spot_read_on=date(2026, 1, 1),
    spot_source="x", interruptions="<5%", interruptions_read_on=date(2025, 6, 28),
)  # fmt: skip
ROWS = {("g5.xlarge", REGION): OLD}


def test_a_new_price_keeps_what_nobody_was_asked_for() -> None:
    (change,) = changes(ROWS, {"g5.xlarge": Answer(on_demand=1.3, spot=(0.4, 0.4))}, REGION, TODAY)
    assert change.new.on_demand_read_on == change.new.spot_read_on == TODAY
    assert (change.new.interruptions, change.new.interruptions_read_on) == ("<5%", date(2025, 6, 28))
    assert (
        change.text == "g5.xlarge in eu-central-1: on demand 1.2, spot 0.5 to 0.6 -> on demand 1.3, spot 0.4"
    )
    assert change.is_new_price and not change.lost


def test_an_unchanged_price_is_only_dated_anew() -> None:
    (change,) = changes(ROWS, {"g5.xlarge": Answer(on_demand=1.2, spot=(0.5, 0.6))}, REGION, TODAY)
    assert not change.is_new_price and change.new.on_demand_read_on == TODAY


@pytest.mark.parametrize(
    ("answer", "lost"),
    [
        (Answer(), ("on-demand", "spot")),
        (Answer(on_demand=1.3), ("spot",)),
        (Answer(spot=(0.4, 0.4)), ("on-demand",)),
    ],
)
def test_a_price_that_is_gone_stays_with_its_day_and_is_told(answer: Answer, lost: tuple[str, ...]) -> None:
    (change,) = changes(ROWS, {"g5.xlarge": answer}, REGION, TODAY)
    assert change.lost == lost
    if "on-demand" in lost:
        kept = (change.new.on_demand_usd_hour, change.new.on_demand_read_on, change.new.on_demand_source)
        assert kept == (1.2, date(2026, 1, 1), "x"), "a price would be lost, or seem to be of today"
    if "spot" in lost:
        spot = (change.new.spot_minimum_usd_hour, change.new.spot_maximum_usd_hour, change.new.spot_read_on)
        assert spot == (0.5, 0.6, date(2026, 1, 1)), "a price would be lost, or seem to be of today"
    (dropped,) = changes(ROWS, {"g5.xlarge": answer}, REGION, TODAY, drop=True)
    assert dropped.lost == lost and (dropped.new.spot_minimum_usd_hour is None) == ("spot" in lost)
    assert (dropped.new.on_demand_usd_hour is None) == ("on-demand" in lost)


def test_a_type_without_any_price_makes_no_row_and_other_regions_stay() -> None:
    found = changes(ROWS, {"g5.xlarge": Answer(on_demand=1.3), "p5e.48xlarge": Answer()}, "us-east-2", TODAY)
    assert [change.new.region for change in found] == ["us-east-2"]
    assert merged(ROWS, found)[("g5.xlarge", REGION)] == OLD, "the prices of another region would be lost"


@pytest.fixture
def table(tmp_path: Path, frozen_instances: Path) -> Path:
    return Path(shutil.copy(frozen_instances, tmp_path / TABLE.name))


def answer_all(monkeypatch: pytest.MonkeyPatch, on_demand: float | None = 2.0, spot: tuple[float, float] | None = (1.0, 1.5)) -> None:  # fmt: skip
    monkeypatch.setattr(command, "ask", lambda names, region, profile: {name: Answer(on_demand=on_demand, spot=spot) for name in names})  # fmt: skip


def test_refresh_writes_the_region_and_says_what_changed(table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    answer_all(monkeypatch)
    before = dict(read_table(table))
    assert command.main(["refresh", "--region", REGION], TODAY, table) == 0
    after = read_table(table)
    assert {name for name, region in after if region == REGION} == set(sold_in(REGION))
    assert {key: after[key] for key in before} == before, "prices of other regions changed"
    assert table.read_text(encoding="utf-8") == table_text(after.values())
    told = capsys.readouterr().out
    assert "g5.xlarge in eu-central-1: not in the table -> on demand 2, spot 1 to 1.5" in told
    assert "written to instance_prices.csv" in told
    assert command.main(["refresh", "--region", REGION, "--check"], TODAY, table) == 0
    assert "No price of eu-central-1 has changed." in capsys.readouterr().out


def test_check_writes_nothing_and_tells_by_its_exit_code(table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    answer_all(monkeypatch)
    before = table.read_bytes()
    assert command.main(["refresh", "--region", REGION, "--check", "--json"], TODAY, table) == 1
    assert table.read_bytes() == before
    document = json.loads(capsys.readouterr().out)
    assert document["written"] is False and document["region"] == REGION and document["changed"]


def test_prices_are_not_dropped_silently(table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    answer_all(monkeypatch, on_demand=None)
    before = dict(read_table(table))
    assert command.main(["refresh", "--region", "us-east-1"], TODAY, table) == 0
    row, old = read_table(table)[("g5.xlarge", "us-east-1")], before[("g5.xlarge", "us-east-1")]
    assert row.on_demand_usd_hour == old.on_demand_usd_hour, (
        "an outage of the price list would empty the table"
    )
    assert row.on_demand_read_on == old.on_demand_read_on, "an old price would seem to be of today"
    assert (row.spot_minimum_usd_hour, row.spot_read_on) == (1.0, TODAY), (
        "one lost price would stop the others"
    )
    assert "g5.xlarge (on-demand)" in capsys.readouterr().err
    assert command.main(["refresh", "--region", "us-east-1", "--drop"], TODAY, table) == 0
    row = read_table(table)[("g5.xlarge", "us-east-1")]
    assert row.on_demand_usd_hour is None and row.on_demand_source.endswith("not listed")


def test_an_answer_without_any_price_is_a_failure(table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    answer_all(monkeypatch, on_demand=None, spot=None)
    before = table.read_bytes()
    assert command.main(["refresh", "--region", "us-east-1", "--drop"], TODAY, table) == 1
    assert table.read_bytes() == before, "a broken answer would empty the table"
    assert "no price of any of" in capsys.readouterr().err


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()])
def test_a_break_while_writing_leaves_the_old_table(table: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException) -> None:  # fmt: skip
    before = table.read_bytes()

    def half(path: Path, text: str, **more: Any) -> int:
        path.write_bytes(text.encode()[:100])
        raise failure

    monkeypatch.setattr(Path, "write_text", half)
    with pytest.raises(type(failure)):
        replace_text(table, "new\n" * 1000)
    assert table.read_bytes() == before, "half a table would be left"
    assert [entry.name for entry in table.parent.iterdir()] == [table.name], "a part of a file is left behind"


def test_a_failure_writes_nothing(table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    def fail(*_: object) -> None:
        raise AwsCallError("AWS refused it.")

    monkeypatch.setattr(command, "ask", fail)
    before = table.read_bytes()
    assert command.main(["refresh", "--region", REGION], TODAY, table) == 1
    assert table.read_bytes() == before and capsys.readouterr().err == "AWS refused it.\n"


def test_every_type_is_asked_once_with_the_spot_prices_of_its_region(monkeypatch: pytest.MonkeyPatch, price_list: Stubber, ec2: Stubber) -> None:  # fmt: skip
    clients = {("pricing", "us-east-1"): price_list.client, ("ec2", REGION): ec2.client}
    monkeypatch.setattr(command, "aws_client", lambda service, region, profile: clients[(service, region)])
    ec2.add_response("describe_spot_price_history", {"SpotPriceHistory": [zone("eu-central-1a", "0.5")]})
    price_list.add_response("get_products", {"PriceList": [product("1.258")]})
    price_list.add_response("get_products", {"PriceList": []})
    found = command.ask(["g5.xlarge", "p5e.48xlarge"], REGION, None)
    assert found == {"g5.xlarge": Answer(on_demand=1.258, spot=(0.5, 0.5)), "p5e.48xlarge": Answer()}


@pytest.mark.parametrize("arguments", [[], ["refresh"], ["refresh", "--region", "Frankfurt"]])
def test_wrong_usage_is_told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(arguments)
    assert stopped.value.code == 2 and capsys.readouterr().err


def test_a_region_without_accelerators_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["refresh", "--region", "xx-nowhere-1"]) == 1
    assert "xx-nowhere-1 sells no accelerator type" in capsys.readouterr().err
