"""How often `python -m ops spot` says to save, and the losses that it counts with."""

import math
from dataclasses import replace
from datetime import date

import pytest

from gpu_node.checkpoint.interval import SaveInterval
from ops.instance_prices import InstancePrice
from ops.spot.advice import FAULTS_PER_ACCELERATOR_HOUR, advise, interruptions_of
from tests.ops.spot_world import World

pytestmark = pytest.mark.usefixtures("frozen_prices")


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


@pytest.mark.parametrize("known", [price(">20%"), replace(price(""), instance_type="g5.none"), None])
def test_where_nothing_bounds_the_rate_the_assumption_is_told(known: InstancePrice | None) -> None:
    found = interruptions_of(known)
    assert found.per_hour == 0.25
    assert "one every 4 h is assumed" in found.source


def test_a_region_whose_prices_were_asked_for_has_the_group_of_the_reference() -> None:
    asked = replace(price(""), region="eu-central-1", interruptions_read_on=None)
    found = interruptions_of(asked)
    assert "% of instances a month in us-east-1 (AWS Spot Advisor, read on 2025-06-28)" in found.source


def test_what_the_person_has_seen_comes_before_the_table() -> None:
    assert interruptions_of(price("<5%"), per_day=6.0).per_hour == 0.25
