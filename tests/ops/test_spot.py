"""What `python -m ops spot` tells of a market: prices, history, scores, the order of zones, and how often to save."""

import io
import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_node.checkpoint.interval import SaveInterval
from ops.instance_prices import InstancePrice
from ops.preflight.account import Account
from ops.spot import command
from ops.spot.advice import FAULTS_PER_ACCELERATOR_HOUR, advise, interruptions_of
from ops.spot.plot import BLOCKS, PLAIN, shows_blocks, sparkline
from ops.spot.prices import Offer
from ops.spot.where import where_of
from tests.ops.preflight_account import REGION, FakeAccount
from tests.ops.preflight_runs import stack_of, stack_with

NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)
TYPES = ("g5.2xlarge", "g6.2xlarge", "g6e.2xlarge")
ZONES = {f"{REGION}{letter}": f"euc1-az{number}" for number, letter in enumerate("abc", 1)}


class World:
    """A region in which each type has a price in each zone, told in texts; the first page is empty, a row comes twice."""

    def __init__(self) -> None:
        self.prices = {(name, zone): 0.5 + 0.1 * place for name in TYPES for place, zone in enumerate(ZONES)}
        self.more: list[dict[str, Any]] = []
        self.scores: Mapping[str, int] = {"euc1-az1": 3, "euc1-az2": 7, "euc1-az3": 7}
        self.ids_told = True
        self.asked: list[Mapping[str, Any]] = []
        self.account = FakeAccount()
        self.account.answers |= {
            "DescribeSpotPriceHistory": self._history,
            "GetSpotPlacementScores": self._scores,
            "DescribeAvailabilityZones": lambda **asked: {
                "AvailabilityZones": [
                    {"ZoneId": zone_id, "ZoneName": zone} for zone, zone_id in ZONES.items()
                ]
            },
        }

    def run(self, *arguments: str) -> int:
        def account(region: str, profile: str | None) -> Account:
            return Account(region, profile, make_client=self.account.client)

        named = arguments or ("--types", ",".join(TYPES), "--region", REGION)
        return command.main(named, make_account=account, clock=lambda: NOW)

    def _history(self, InstanceTypes: Any, NextToken: str = "", **asked: Any) -> Mapping[str, Any]:
        self.asked.append({"InstanceTypes": InstanceTypes, **asked})
        if not NextToken:
            return {"SpotPriceHistory": [], "NextToken": "more"}
        rows = [
            row(name, zone, usd, hours_ago, told_id=self.ids_told)
            for (name, zone), usd in self.prices.items()
            if name in InstanceTypes
            for hours_ago, usd in ((200, usd * 2), (48, usd * 1.5), (1, usd))
        ]
        return {"SpotPriceHistory": [*rows[:1], *rows, *self.more]}

    def _scores(self, **asked: Any) -> Mapping[str, Any]:
        self.asked.append(asked)
        rows = [
            {"Region": REGION, "AvailabilityZoneId": zone, "Score": score}
            for zone, score in self.scores.items()
        ]
        return {"SpotPlacementScores": rows}


def row(name: str, zone: str, usd: object, hours_ago: float, *, told_id: bool = True) -> dict[str, Any]:
    ids = {"AvailabilityZoneId": ZONES[zone]} if told_id else {}
    when = NOW - timedelta(hours=hours_ago)
    return {"InstanceType": name, "AvailabilityZone": zone, "SpotPrice": str(usd), "Timestamp": when, **ids}


def document(
    world: World, capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0
) -> dict[str, Any]:
    named = arguments or ("--types", ",".join(TYPES), "--region", REGION)
    assert world.run(*named, "--json") == code
    return json.loads(capsys.readouterr().out)


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


def price(group: str) -> InstancePrice:
    return InstancePrice(
        instance_type="g5.2xlarge",
        region="us-east-1",
        interruptions=group,
        interruptions_read_on=date(2025, 6, 28),
    )


def test_the_interval_is_that_of_the_checkpoint_helper_for_the_same_losses() -> None:
    """The helper that runs in the job has the formula; the advice must be what it would do."""
    advice = advise("g5.2xlarge", price("15-20%"), 45.0)
    helper = SaveInterval(unannounced_losses_per_hour=advice.losses_per_hour)
    assert advice.interval_seconds == helper.seconds_between_saves(45.0)


def test_a_calm_market_does_not_let_a_run_go_unsaved_for_longer_than_the_helper_would(
    capsys: pytest.CaptureFixture[str],
) -> None:
    calm = advise("g5.2xlarge", price("<5%"), 45.0)
    assert calm.market_losses_per_hour < calm.losses_per_hour
    assert calm.interval_seconds == SaveInterval().seconds_between_saves(45.0), (
        "a crash of the program would cost a day, and the stack's alarm would ring before the first save"
    )
    saving = 45.0 / (calm.interval_seconds + 45.0)
    assert calm.useful_share == pytest.approx(1 - saving, abs=0.005), "the share is not that of the interval"
    rough = advise("g5.2xlarge", None, 45.0, per_day=24.0)
    assert rough.losses_per_hour == rough.market_losses_per_hour
    World().run()
    told = capsys.readouterr().out
    assert "for the market alone, every 22 h 18 min would do" not in told
    assert told.count("for the market alone") == 2


def test_only_losses_without_notice_count_unless_a_save_is_longer_than_the_notice() -> None:
    fast, slow = (advise("g5.2xlarge", None, seconds, per_day=24.0) for seconds in (120.0, 121.0))
    assert fast.losses_per_hour == pytest.approx(0.1 + FAULTS_PER_ACCELERATOR_HOUR)
    assert slow.losses_per_hour == pytest.approx(1.0 + FAULTS_PER_ACCELERATOR_HOUR), (
        "a save that is cut off by the end of the notice was counted as done"
    )


def test_every_accelerator_of_a_node_may_fail() -> None:
    one, eight = (
        advise(name, price("<5%"), 60.0).market_losses_per_hour for name in ("g5.2xlarge", "p4d.24xlarge")
    )
    assert eight - one == pytest.approx(7 * FAULTS_PER_ACCELERATOR_HOUR)


@pytest.mark.parametrize(
    ("group", "a_month"), [("<5%", 0.05), ("5-10%", 0.1), ("10-15%", 0.15), ("15-20%", 0.2)]
)
def test_the_upper_end_of_a_group_is_taken_and_its_day_told(group: str, a_month: float) -> None:
    found = interruptions_of(price(group))
    assert 1 - math.exp(-730 * found.per_hour) == pytest.approx(a_month)
    assert "read on 2025-06-28" in found.source


@pytest.mark.parametrize("known", [price(">20%"), price(""), None])
def test_where_nothing_bounds_the_rate_the_assumption_is_told(known: InstancePrice | None) -> None:
    found = interruptions_of(known)
    assert found.per_hour == 0.25
    assert "one every 4 h is assumed" in found.source


def test_what_the_person_has_seen_comes_before_the_table() -> None:
    assert interruptions_of(price("<5%"), per_day=6.0).per_hour == 0.25


def test_a_history_has_the_price_that_was_in_force_at_each_time() -> None:
    changes = ((NOW - timedelta(hours=9), 1.0), (NOW - timedelta(hours=2), 3.0))
    offer = Offer(instance_type="g5.2xlarge", zone="a", zone_id="", changes=changes)
    assert offer.history(NOW - timedelta(hours=12), NOW, 4) == [1.0, 1.0, 1.0, 3.0]
    assert offer.history(NOW - timedelta(hours=20), NOW, 4)[:2] == [None, None]


def test_a_sparkline_goes_from_the_lowest_to_the_highest() -> None:
    assert sparkline([1.0, 8.0, None, 4.5], blocks=True) == "▁█ ▅"
    assert sparkline([1.0, 8.0], blocks=False) == "_#"
    assert sparkline([2.0, 2.0], blocks=True) == "▁▁", "a price that stands would look like a swing"
    assert sparkline([None, None], blocks=True) == "  "


@given(
    st.lists(st.one_of(st.none(), st.floats(min_value=1e-6, max_value=1e6, allow_nan=False))),
    st.booleans(),
)
def test_a_sparkline_has_one_character_for_each_value_and_ends_at_both_levels(
    values: list[float | None], blocks: bool
) -> None:
    line = sparkline(values, blocks=blocks)
    levels = BLOCKS if blocks else PLAIN
    assert len(line) == len(values)
    known = [value for value in values if value is not None]
    for value, shown in zip(values, line, strict=True):
        assert (shown == " ") == (value is None)
        if value is not None and len(set(known)) > 1 and value in (min(known), max(known)):
            assert shown == levels[0 if value == min(known) else -1]


@pytest.mark.parametrize(
    ("encoding", "blocks"), [("utf-8", True), ("UTF8", True), ("ascii", False), ("latin-1", False)]
)
def test_a_terminal_without_utf8_gets_plain_characters(encoding: str, blocks: bool) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    assert shows_blocks(stream) == blocks
    assert PLAIN.isascii()
