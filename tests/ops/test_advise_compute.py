"""`ops advise compute`: the limits that decide, the prices, and the page made from them."""

import json
import math
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.advise import command, compute_page
from ops.advise.compute import Option, Workload, chosen, fargate_size, options

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
    """Lambda: a million requests of 1 s and 1 GB on arm64 are 13.33 + 0.20; Fargate: 1 vCPU and 2 GB for a month are 29.55 + 6.49."""
    found = by_name(workload(requests_per_second=1e6 / (730 * 3600), requests_per_process=8))
    assert found["Lambda"].usd_month == pytest.approx(13.3334 + 0.20)
    assert found["ECS"].usd_month == pytest.approx(0.04048 * 730 + 2 * 0.004445 * 730 + 16.425)
    assert (found["EKS"].usd_month or 0) - (found["ECS"].usd_month or 0) == pytest.approx(73.0)


def test_seldom_and_short_is_lambda_and_often_is_ecs() -> None:
    assert taken(workload(requests_per_second=0.01)) == "Lambda"
    assert taken(workload(requests_per_second=50, seconds=2)) == "ECS"


def test_eks_is_for_a_team_that_runs_kubernetes_already() -> None:
    assert taken(workload(stateful=True)) == "ECS"
    assert taken(workload(stateful=True, team_runs_kubernetes=True)) == "EKS"
    assert taken(workload(requests_per_second=0.01, team_runs_kubernetes=True)) == "Lambda"


def test_a_gpu_is_priced_by_the_cheapest_node_that_the_region_sells() -> None:
    ecs = by_name(workload(gpu=True, requests_per_second=0.1))["ECS"]
    assert "1 x g4dn.xlarge" in ecs.shape and ecs.usd_month == pytest.approx(0.526 * 730 + 16.425)
    larger = by_name(workload(gpu=True, memory_mib=20_000, requests_per_second=0.1))["ECS"]
    assert "g6e.xlarge" in larger.shape, "the process would not fit the node's memory"
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
        and "Warning" not in told
    )
    assert command.main([*arguments, "--json"], date(2027, 6, 1)) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["answer"] == "ECS" and "AWS changes them" in document["warning"]


def test_what_none_of_them_holds_ends_with_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compute", "--seconds", "1", "--memory-mib", "1000000", "--requests-per-second", "1"]
    assert command.main(arguments, TODAY) == 1
    assert "No answer" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--seconds", "1"], ["--seconds", "1", "--memory-mib", "128"], ["--seconds", "0", "--memory-mib", "128", "--requests-per-second", "1"]])  # fmt: skip
def test_wrong_usage_is_told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(["compute", *arguments], TODAY)
    assert stopped.value.code == 2 and capsys.readouterr().err


def test_the_page_is_made_from_the_program() -> None:
    page = compute_page.PAGE.read_text(encoding="utf-8")
    assert page == compute_page.render(), "run `python -m ops.advise.compute_page`"
