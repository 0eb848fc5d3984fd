"""What `python -m ops spot` tells of a market: prices, scores, the order of zones, and what it could not read."""

from datetime import date, timedelta

import pytest

from ops.preflight.account import Account
from ops.spot.where import where_of
from tests.ops.preflight_account import REGION, FakeAccount
from tests.ops.preflight_runs import stack_of, stack_with
from tests.ops.spot_world import NOW, TYPES, ZONES, World, document, row

pytestmark = pytest.mark.usefixtures("frozen_prices")


def test_the_newest_price_of_each_type_and_zone_is_told_once_the_cheapest_zone_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = document(World(), capsys)["offers"]
    assert [(offer["instance_type"], offer["zone"]) for offer in found] == [
        (a, b) for a in TYPES for b in ZONES
    ]
    assert [round(offer["usd_hour"], 6) for offer in found[:3]] == [0.5, 0.6, 0.7]
    assert len(found[0]["history"]) == 3, "a row that came twice would be a change of the price"


def test_only_linux_prices_of_the_days_wanted_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    document(world, capsys, "--types", "g5.2xlarge", "--region", REGION, "--days", "3")
    assert world.asked[0]["ProductDescriptions"] == ["Linux/UNIX"]
    assert world.asked[0]["StartTime"] == NOW - timedelta(days=3)


@pytest.mark.parametrize("text", ["", "n/a", "nan", "inf", "0", "-1"])
def test_what_is_no_price_is_left_out_and_counted(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    world.more = [row("g5.2xlarge", f"{REGION}a", text, 0.5)]
    found = document(world, capsys)
    assert round(found["offers"][0]["usd_hour"], 6) == 0.5
    assert any("1 rows without a price" in note for note in found["notes"])


def test_the_saving_is_against_the_dated_on_demand_price(capsys: pytest.CaptureFixture[str]) -> None:
    offer = document(World(), capsys)["offers"][0]
    assert offer["saving"] == pytest.approx(1 - 0.5 / offer["on_demand_usd_hour"])
    assert date.fromisoformat(offer["on_demand_read_on"])


def test_zones_stand_by_score_then_price_and_those_at_the_price_of_on_demand_last(
    capsys: pytest.CaptureFixture[str],
) -> None:
    world = World()
    names = [zone["name"][-1] for zone in document(world, capsys)["zones"]]
    assert names == ["b", "c", "a"]
    world.prices |= {(name, f"{REGION}b"): 99.0 for name in TYPES}
    assert world.run() == 0
    told = capsys.readouterr().out
    assert "3  eu-central-1b       score 7 of 10, sells 3 of 3 types" in told
    assert "spot saves nothing here" in told
    assert "above on-demand" in next(line for line in told.splitlines() if "99.0000" in line)


def test_a_zone_that_sells_nothing_comes_after_all_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    for name in TYPES:
        del world.prices[name, f"{REGION}b"]
    world.ids_told = False
    zones = document(world, capsys)["zones"]
    assert [(zone["name"][-1], zone["types"]) for zone in zones] == [("c", 3), ("a", 3), ("b", 0)]


def test_scores_are_asked_for_single_zones_of_the_region_and_find_their_zones_by_id(
    capsys: pytest.CaptureFixture[str],
) -> None:
    world = World()
    found = document(world, capsys, "--types", ",".join(TYPES), "--region", REGION, "--capacity", "8")
    assert {zone["name"]: zone["score"] for zone in found["zones"]} == {
        f"{REGION}a": 3, f"{REGION}b": 7, f"{REGION}c": 7,
    }  # fmt: skip
    asked = world.asked[-1]
    assert (asked["SingleAvailabilityZone"], asked["RegionNames"], asked["TargetCapacity"]) == (
        True,
        [REGION],
        8,
    )


def test_zones_whose_names_the_prices_do_not_tell_are_looked_up(capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    world.ids_told = False
    assert {zone["name"] for zone in document(world, capsys)["zones"]} == set(ZONES)
    world.account.refused["DescribeAvailabilityZones"] = "UnauthorizedOperation"
    assert "euc1-az1" in {zone["name"] for zone in document(world, capsys)["zones"]}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("MaxConfigLimitExceeded", "wait a day"),
        ("TargetCapacityLimitExceeded", "ask for fewer with --capacity"),
        ("UnauthorizedOperation", "allow ec2:GetSpotPlacementScores"),
        ("InternalError", "AWS refused reading the placement scores: InternalError"),
    ],
)
def test_without_scores_the_prices_are_told_and_why_there_are_none(
    code: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World()
    world.account.refused["GetSpotPlacementScores"] = code
    assert world.run() == 1, "half of an answer would pass for a whole one"
    told = capsys.readouterr().out
    assert words in told
    assert "not scored, sells 3 of 3 types" in told


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("UnauthorizedOperation", "allow ec2:DescribeSpotPriceHistory"),
        ("InvalidParameterValue", "EC2 does not know all of the instance types g5.2xlarge"),
        (
            "AuthFailure",
            f"the account has the region: aws account get-region-opt-status --region-name {REGION}",
        ),
    ],
)
def test_without_prices_there_is_nothing_to_tell(
    code: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World()
    world.account.refused["DescribeSpotPriceHistory"] = code
    assert world.run() == 1
    written = capsys.readouterr()
    assert words in written.err
    assert written.out == ""


def test_throttling_is_got_over(capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    world.account.throttled = {"DescribeSpotPriceHistory": 2, "GetSpotPlacementScores": 2}
    assert document(world, capsys)["unread"] == []


def test_a_type_that_is_not_sold_anywhere_fails(capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    world.prices.clear()
    assert world.run() == 1
    assert "sells none of these types on spot" in capsys.readouterr().out


def test_a_type_that_no_zone_sells_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    for zone in ZONES:
        del world.prices["g6e.2xlarge", zone]
    assert document(world, capsys)["not_sold"] == ["g6e.2xlarge"]
    world.run()
    assert "Not sold on spot in these zones: g6e.2xlarge." in capsys.readouterr().out


def test_a_score_that_is_not_told_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    world.account.answers["GetSpotPlacementScores"] = lambda **asked: {
        "SpotPlacementScores": [{"Region": REGION, "AvailabilityZoneId": "euc1-az1"}]
    }
    assert {zone["score"] for zone in document(world, capsys)["zones"]} == {None}


def test_a_stack_is_asked_about_by_what_it_takes_on_spot(capsys: pytest.CaptureFixture[str]) -> None:
    where = where_of(stack_of("prod"), Account(REGION, make_client=FakeAccount().client))
    assert where.who == ("gpu-inference-group", "gpu-research-group", "training-capacity-spot")
    assert "p4d.24xlarge" in where.instance_types
    assert set(where.zones) == set(ZONES)
    world = World()
    found = document(world, capsys, "--stack", "prod")
    assert found["instance_types"] == list(where.instance_types)


def test_a_stack_without_spot_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    stack = stack_with("dev", {"gpuFleets": [], "training": False})
    with pytest.raises(Exception, match="name instance types with --types"):
        where_of(stack, Account(REGION, make_client=FakeAccount().client))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nothing"],
        ["--types", "g5.2xlarge"],
        ["--region", REGION],
        ["--stack", "dev", "--types", "g5.2xlarge", "--region", REGION],
        ["--types", "g5", "--region", REGION],
        ["--types", "g5.2xlarge", "--region", "Frankfurt"],
        ["--stack", "dev", "--days", "0"],
        ["--stack", "dev", "--save-seconds", "0"],
        ["--stack", "dev", "--interruptions-per-day", "nan"],
    ],
)
def test_options_that_do_not_fit_are_wrong_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        World().run(*arguments)
    assert stopped.value.code == 2


def test_an_unknown_stack_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert World().run("--stack", "nowhere") == 2
    assert "Pulumi.nowhere.yaml" in capsys.readouterr().err
