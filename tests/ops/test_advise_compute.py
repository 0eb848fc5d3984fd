"""`ops advise compute`: the limits that decide, and the prices."""

import json
import math
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.advise import command, compute_command
from ops.advise.compute import Option, amount, chosen, options
from ops.advise.compute_prices import ComputePrices, compute_prices
from ops.advise.workload import Workload, fargate_size

pytestmark = pytest.mark.usefixtures("frozen_prices")
TODAY = date(2026, 12, 2)


def workload(**more: Any) -> Workload:
    values: dict[str, Any] = {
        "seconds": 1.0,
        "memory_mib": 1024,
        "requests_per_second": 1.0,
        "region": "us-east-1",
    }
    return Workload(**{**values, **more})


def by_name(asked: Workload) -> dict[str, Option]:
    return {option.name: option for option in options(asked)}


def taken(asked: Workload) -> str | None:
    answer, _ = chosen(asked, options(asked))
    return answer.name if answer else None


@pytest.mark.parametrize(
    ("more", "within", "told"),
    [
        ({"seconds": 901}, {"seconds": 900}, "15 minutes"),
        ({"memory_mib": 10_241}, {"memory_mib": 10_240}, "10,240"),
        ({"gpu": True}, {"gpu": False}, "no GPU"),
        ({"stateful": True}, {"stateful": False}, "keeps nothing between requests"),
        ({"payload_mib": 6.1}, {"payload_mib": 6.0}, "6 MB"),
        ({"vcpus": 6.0}, {"vcpus": 5.7}, "vCPUs are more"),
    ],
)
def test_the_limits_of_lambda_rule_it_out(more: dict[str, Any], within: dict[str, Any], told: str) -> None:
    out = by_name(workload(**more))["Lambda"]
    assert out.usd_month is None and any(told in blocker for blocker in out.blockers)
    assert not by_name(workload(**within))["Lambda"].blockers
    assert taken(workload(**more)) == "ECS"


def test_more_than_a_thousand_at_once_needs_a_quota_first() -> None:
    assert not by_name(workload(requests_per_second=300, seconds=1, peak_factor=3))["Lambda"].remarks
    (remark,) = by_name(workload(requests_per_second=400, seconds=1, peak_factor=3))["Lambda"].remarks
    assert "1,200 at once" in remark and "L-B99A9384" in remark


def test_the_prices_are_those_of_aws_for_known_amounts() -> None:
    """Lambda: a million requests of 1 s and 1 GB on x86 are 16.67 + 0.20; Fargate: 1 vCPU and 2 GB for a month are 29.55 + 6.49."""
    found = by_name(workload(requests_per_second=1e6 / (730 * 3600), requests_per_process=8))
    assert found["Lambda"].usd_month == pytest.approx(16.6667 + 0.20)
    assert found["ECS"].usd_month == pytest.approx(0.04048 * 730 + 2 * 0.004445 * 730 + 16.425)
    assert (found["EKS"].usd_month or 0) - (found["ECS"].usd_month or 0) == pytest.approx(73.0)


def test_two_workloads_cost_what_a_calculation_by_hand_says() -> None:
    """2,628,000 requests of 8 s; 8 at work are 8 / (8 x 0.7) = 2 tasks. And 30 runs of 1 h on 4 vCPU and 8 GB."""
    served = by_name(workload(seconds=8, requests_per_second=1))
    assert served["Lambda"].usd_month == pytest.approx(2.628 * 0.20 + 2_628_000 * 8 * 0.0000166667)
    assert served["ECS"].usd_month == pytest.approx(2 * (29.5504 + 6.4897) + 16.425)
    job = by_name(workload(seconds=3600, memory_mib=8192, vcpus=4, requests_per_second=30 / 2_628_000, is_job=True))  # fmt: skip
    assert job["ECS"].usd_month == pytest.approx(30 * (4 * 0.04048 + 8 * 0.004445)), "4.86 + 1.07 USD"


def test_a_region_is_priced_by_its_own_prices_and_others_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    here = by_name(workload(region="eu-central-1"))["ECS"].usd_month
    assert here == pytest.approx((0.04656 + 2 * 0.00511 + 0.027) * 730)
    arguments = ["compute", "--seconds", "1", "--memory-mib", "1024", "--requests-per-second", "1"]
    assert command.main([*arguments, "--region", "eu-central-1"], TODAY) == 0
    told = capsys.readouterr().out
    assert "Fargate x86 vCPU 0.04656 USD per vCPU-hour in eu-central-1 (2026-09-09)" in told
    assert "Lambda x86 compute 0.0000166667 USD per GB-second in us-east-1" in told
    assert "no price of eu-central-1" in told, "a price of another region would pass for this one's"


def test_every_price_of_an_answer_has_its_source_and_day(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compute", "--seconds", "1", "--memory-mib", "1024", "--requests-per-second", "1", "--json"]
    assert command.main(arguments, TODAY) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["prices"]) == 6
    for price in document["prices"]:
        assert price["source"] and date.fromisoformat(price["read_on"]) <= TODAY
    oldest = min(price["read_on"] for price in document["prices"])
    assert oldest in document["warning"], "prices of years ago would seem to be of today"
    assert command.main(arguments, date.fromisoformat(oldest)) == 0
    assert json.loads(capsys.readouterr().out)["warning"] == ""


def test_the_price_of_a_gpu_node_ages_too(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = ComputePrices(**{name: replace(price, read_on=TODAY) for name, price in vars(compute_prices("us-east-1")).items()})  # fmt: skip
    monkeypatch.setattr(compute_command, "compute_prices", lambda region: fresh)
    assert compute_command.report(workload(), TODAY)["warning"] == ""
    assert "2026-07-20" in compute_command.report(workload(gpu=True), TODAY)["warning"]


def test_seldom_and_short_is_lambda_and_often_is_ecs() -> None:
    assert taken(workload(requests_per_second=0.01)) == "Lambda"
    assert taken(workload(requests_per_second=50, seconds=2)) == "ECS"


def test_eks_is_for_a_team_that_runs_kubernetes_already() -> None:
    assert taken(workload(stateful=True)) == "ECS"
    assert taken(workload(stateful=True, team_runs_kubernetes=True)) == "EKS"
    assert taken(workload(requests_per_second=0.01, team_runs_kubernetes=True)) == "Lambda"
    assert taken(workload(requests_per_second=50, seconds=2, team_runs_kubernetes=True)) == "EKS"
    theirs = by_name(workload(team_runs_kubernetes=True))
    assert theirs["EKS"].usd_month == theirs["ECS"].usd_month, "a cluster that is there would be paid twice"


def test_a_gpu_is_priced_by_the_cheapest_node_that_the_region_sells() -> None:
    ecs = by_name(workload(gpu=True, requests_per_second=0.1))["ECS"]
    assert "1 x g4dn.xlarge" in ecs.shape and ecs.usd_month == pytest.approx(0.526 * 730 + 16.425)
    larger = by_name(workload(gpu=True, memory_mib=20_000, requests_per_second=0.1))["ECS"]
    assert "1 x g4dn.2xlarge" in larger.shape, "the process would not fit the node's memory"
    faster = by_name(workload(gpu=True, vcpus=12, requests_per_second=0.1))["ECS"]
    assert "1 x g4dn.4xlarge" in faster.shape, "the process would have fewer processors than it needs"
    none = by_name(workload(gpu=True, vcpus=100, requests_per_second=0.1))["ECS"]
    assert none.usd_month is None and "100 vCPUs" in none.blockers[0]
    nowhere = by_name(workload(gpu=True, region="xx-nowhere-1"))["ECS"]
    assert nowhere.blockers and nowhere.usd_month is None


def test_a_job_is_paid_while_it_runs() -> None:
    night = workload(
        seconds=7200, memory_mib=8192, requests_per_second=30 / (730 * 3600), is_job=True, peak_factor=1
    )
    usd = by_name(night)["ECS"].usd_month
    assert usd == pytest.approx(60 * (8 * 0.04048 + 16 * 0.004445)), (
        "a job would be paid for around the clock"
    )


def test_the_smallest_task_that_holds_a_process_is_taken() -> None:
    assert fargate_size(workload(memory_mib=512, vcpus=0.25), 32_768) == (256, 512)
    assert fargate_size(workload(memory_mib=3000, vcpus=0.5), 32_768) == (512, 3072)
    assert fargate_size(workload(memory_mib=200_000, vcpus=1), 16_384) is None
    too_large = by_name(workload(memory_mib=200_000, vcpus=16))
    assert too_large["EKS"].blockers and not too_large["ECS"].blockers


@given(st.floats(min_value=0, max_value=1000), st.floats(min_value=0, max_value=1000), st.floats(min_value=0.01, max_value=900))  # fmt: skip
def test_more_requests_never_cost_less(one: float, other: float, seconds: float) -> None:
    few, many = (
        options(workload(requests_per_second=rate, seconds=seconds)) for rate in sorted((one, other))
    )
    for less, more in zip(few, many, strict=True):
        assert less.usd_month is not None and more.usd_month is not None
        assert less.usd_month <= more.usd_month and math.isfinite(more.usd_month)


def test_the_command_says_what_decides(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compute", "--seconds", "1200", "--memory-mib", "4096", "--runs-per-month", "30"]
    assert command.main(arguments, TODAY) == 0
    told = capsys.readouterr().out
    assert told.startswith(
        "Take ECS: Lambda is out (1,200 s are longer than the 900 s (15 minutes) of one invocation)"
    )
    assert (
        "Lambda: not possible" in told
        and "USD a month" in told
        and "Assumptions" in told
        and "Warning: The oldest of these prices" in told
    )
    assert command.main([*arguments, "--json"], TODAY) == 0
    assert json.loads(capsys.readouterr().out)["answer"] == "ECS"


def test_amounts_are_written_as_people_write_them() -> None:
    assert [amount(count) for count in (35_715.0, 12.0, 3.0, 0.0822, 0.00001)] == ["35,715", "12", "3", "0.082", "fewer than 0.001"]  # fmt: skip
    assert amount(0) == "0"


def test_what_none_of_them_holds_ends_with_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compute", "--seconds", "1", "--memory-mib", "1000000", "--requests-per-second", "1"]
    assert command.main(arguments, TODAY) == 1
    assert "No answer" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--seconds", "1"], ["--seconds", "1", "--memory-mib", "128"], ["--seconds", "0", "--memory-mib", "128", "--requests-per-second", "1"]])  # fmt: skip
def test_wrong_usage_is_told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(["compute", *arguments], TODAY)
    assert stopped.value.code == 2 and capsys.readouterr().err
