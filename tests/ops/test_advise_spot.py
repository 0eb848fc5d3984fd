"""The useful share of spot hours in `ops advise`, held to the simulation that the benchmarks play."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.goodput import goodput, node, ours, years
from ops.advise.models import model_of_size
from ops.advise.question import Question
from ops.advise.spot import Market, per_useful_hour, save_seconds, serving_share, training_share


@pytest.mark.parametrize("boot_seconds", [120.0, 300.0])
@pytest.mark.parametrize("mean_hours", [2.0, 4.0, 24.0])
def test_the_estimate_is_near_the_simulation(boot_seconds: float, mean_hours: float) -> None:
    market = Market(boot_seconds=boot_seconds, hours_between_interruptions=mean_hours)
    simulated = goodput(years(ours(mean_hours), node(boot_seconds), mean_hours, count=4))
    assert training_share(30.0, market) == pytest.approx(simulated, abs=0.01)


def test_a_save_longer_than_the_notice_loses_the_work_since_the_last() -> None:
    short, long = (training_share(save, Market()) for save in (119.0, 121.0))
    assert short - long > 0.05, "an announced interruption would seem harmless"


@given(st.floats(min_value=1, max_value=5000), st.floats(min_value=1, max_value=5000), st.floats(min_value=0.25, max_value=1000))  # fmt: skip
def test_longer_saves_and_rougher_markets_are_never_better(one: float, other: float, hours: float) -> None:
    market = Market(hours_between_interruptions=hours)
    calmer = Market(hours_between_interruptions=hours * 2)
    assert 0 <= training_share(max(one, other), market) <= training_share(min(one, other), market) <= 1
    assert training_share(one, market) <= training_share(one, calmer)
    assert 0 <= serving_share(market) <= serving_share(calmer) <= 1


def test_nothing_useful_has_no_price() -> None:
    assert per_useful_hour(1.0, 0.0) is None and per_useful_hour(None, 0.9) is None
    assert per_useful_hour(1.0, 0.8) == 1.25


def test_a_checkpoint_holds_what_is_trained() -> None:
    """7B: adapters of seconds; all weights with Adam's states (14 bytes a parameter) for three minutes at 500 MiB/s."""
    model = model_of_size(7e9)
    lora, full = (Question(task=task, model=model, region="us-east-1") for task in ("lora", "full"))
    assert lora.save_seconds(1) == 5.0
    assert full.save_seconds(1) == pytest.approx(14 * 7e9 / (500 * 1024**2))
    assert full.save_seconds(4) == pytest.approx(full.save_seconds(1) / 4), "every node writes its own part"
    assert save_seconds(0) == 5.0
