"""What an hour of a run's nodes costs where the person does not say."""

import pytest

from ops.instance_prices import InstancePrice, price_of
from ops.stack_outputs import StackOutputs
from ops.train.costs import Prices, costs
from ops.train.prices import prices_of
from ops.train.runs import Job, Run
from ops.train.stack import TrainingStack, training_stack
from ops.train.view import costs_lines
from recordings import recorded

pytestmark = pytest.mark.usefixtures("frozen_prices")
TYPE = "g5.2xlarge"


def stack(*types: str) -> TrainingStack:
    place = "us-east-1:111122223333"
    return TrainingStack(
        state_machine_arn=f"arn:aws:states:{place}:stateMachine:training",
        spot_queue_arn="spot",
        on_demand_queue_arn="on-demand",
        job_definition_arn="definition",
        instance_types=types,
    )


def run(nodes: int = 1) -> Run:
    job = Job(
        job_id="j", capacity="spot", status="RUNNING", reason="", created=0.0, nodes=nodes, attempts=(), waiting_since=None
    )  # fmt: skip
    return Run(name="run-1", status="RUNNING", error="", cause="", started=0.0, stopped=None, jobs=(job,))


def table_price() -> InstancePrice:
    found = price_of(TYPE, "us-east-1")
    assert found is not None
    return found


def test_a_run_whose_nodes_are_of_one_type_costs_what_the_dated_table_says() -> None:
    found = prices_of(run(), stack("g5.xlarge"), Prices())
    assert (found.spot, found.on_demand) == (0.4507, 1.006), "the dearest zone counts, not the cheapest"
    assert "read on 2026-01-29" in found.source
    assert "read on 2026-07-20" in found.source, "an old price would pass for today's"


def test_what_the_person_says_comes_first() -> None:
    assert prices_of(run(), stack(TYPE), Prices(spot=0.5, on_demand=1.5)) == Prices(spot=0.5, on_demand=1.5)
    half = prices_of(run(), stack(TYPE), Prices(spot=0.5))
    assert half.spot == 0.5
    assert half.on_demand == table_price().on_demand_usd_hour
    assert "spot" not in half.source


@pytest.mark.parametrize(
    ("types", "why"),
    [((TYPE, "g6.2xlarge"), "any of g5.2xlarge, g6.2xlarge"), ((), ""), (("none.xlarge",), "")],
)
def test_no_price_is_made_up_where_the_type_is_not_known(types: tuple[str, ...], why: str) -> None:
    found = prices_of(run(), stack(*types), Prices())
    assert (found.spot, found.on_demand) == (None, None)
    assert why in found.source


def test_a_job_over_several_nodes_is_of_the_first_type() -> None:
    found = prices_of(run(nodes=2), stack(TYPE, "g6.2xlarge"), Prices())
    assert found.on_demand == table_price().on_demand_usd_hour


def test_the_view_tells_where_the_prices_are_from() -> None:
    prices = prices_of(run(), stack(TYPE), Prices())
    told = "\n".join(costs_lines(costs(run(), {}, prices, 3600.0)))
    assert f"Prices: {TYPE} in us-east-1, spot" in told


def test_the_program_tells_the_types_of_its_nodes() -> None:
    found = training_stack(StackOutputs("staging", recorded("staging").exports))
    assert found.instance_types == (TYPE, "g6.2xlarge")
    assert found.region == "eu-central-1"
