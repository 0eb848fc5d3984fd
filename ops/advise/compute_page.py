"""Writes docs/compute.md, the comparison of Lambda, ECS and EKS, from the limits and prices that `ops advise compute` uses.

`python -m ops.advise.compute_page` writes the page; a test compares it.
"""

from components.fargate import memory_sizes_mib
from ops.advise.compute import (
    EKS_POD_CPU_UNITS,
    LAMBDA_CONCURRENT,
    LAMBDA_MEMORY_MIB,
    LAMBDA_PAYLOAD_MIB,
    LAMBDA_SECONDS,
    Option,
    chosen,
    options,
)
from ops.advise.compute_prices import MONTH_HOURS, MONTH_SECONDS, compute_prices
from ops.advise.workload import FARGATE_CPU_UNITS, LAMBDA_MIB_PER_VCPU, Workload
from ops.capture.program import PROJECT_ROOT
from ops.instance_prices import REFERENCE_REGION as REGION

PAGE = PROJECT_ROOT / "docs" / "compute.md"
PRICES = compute_prices(REGION)
HEAD = f"""# Lambda, ECS or EKS

`python -m ops advise compute` answers for one workload, with the limits that decide and the monthly price of each:

```sh
python -m ops advise compute --seconds 8 --memory-mib 1024 --requests-per-second 0.5
```

This page is made from the same data by `python -m ops.advise.compute_page`. Prices are of {REGION}, the oldest
of {min(price.read_on for price in PRICES)}, on x86; a month is {MONTH_HOURS} hours. Which accelerator a model needs: `python -m ops advise gpu`.

"""
# What the table of prices compares, each with its words.
WORKLOADS = (
    ("a webhook: 0.2 s, 512 MiB, one a second", Workload(seconds=0.2, memory_mib=512, requests_per_second=1, region=REGION)),
    ("questions to documents: 8 s, 1 GiB, a hundred a day", Workload(seconds=8, memory_mib=1024, requests_per_second=100 / 86_400, region=REGION)),
    ("questions to documents: 8 s, 1 GiB, one a second", Workload(seconds=8, memory_mib=1024, requests_per_second=1, region=REGION)),
    ("questions to documents: 8 s, 1 GiB, 60 a second", Workload(seconds=8, memory_mib=1024, requests_per_second=60, region=REGION)),
    ("a job of two hours each night, 8 GiB", Workload(seconds=7200, memory_mib=8192, requests_per_second=30 / MONTH_SECONDS, region=REGION, peak_factor=1, is_job=True)),
    ("a model on one GPU: 2 s, 12 GiB, one a second", Workload(seconds=2, memory_mib=12_288, requests_per_second=1, region=REGION, gpu=True)),
)  # fmt: skip


def render() -> str:
    """The whole page."""
    return HEAD + "\n".join(
        ["## What decides", "", *_limits(), "", "## What it costs in a month, USD", "", *_prices(), ""]
    )


def _limits() -> list[str]:
    ecs, eks = FARGATE_CPU_UNITS[-1], EKS_POD_CPU_UNITS
    rows = (
        ("", "Lambda", "ECS", "EKS"),
        ("---",) * 4,
        ("longest run", f"{LAMBDA_SECONDS // 60} minutes", "no limit", "no limit"),
        ("memory", f"{LAMBDA_MEMORY_MIB:,} MiB", *(f"{memory_sizes_mib(units)[-1]:,} MiB on Fargate, more on EC2" for units in (ecs, eks))),
        ("processors", f"one vCPU per {LAMBDA_MIB_PER_VCPU:,} MiB", *(f"{units // 1024} vCPU on Fargate, more on EC2" for units in (ecs, eks))),
        ("GPU", "none (only Lambda Managed Instances)", "on EC2 nodes, none on Fargate", "on EC2 nodes, none on Fargate"),
        ("at once", f"{LAMBDA_CONCURRENT:,} in an account, until raised; one request each", "as many as tasks take", "as many as pods take"),
        ("request or answer", f"{LAMBDA_PAYLOAD_MIB} MB", "no limit", "no limit"),
        ("state between requests", "none to rely on", "memory, disk, EFS", "memory, disk, volumes"),
        ("idle", "costs nothing", "at least one task", "at least the cluster and one pod"),
        ("to run", "a function", "services and tasks", "a Kubernetes cluster, its upgrades and add-ons"),
        ("price", f"{PRICES.lambda_gb_second.price_usd * 3600:.4f} per GB and hour at work, {PRICES.lambda_million_requests.price_usd:.2f} per million requests",
         f"{PRICES.fargate_vcpu_hour.price_usd} per vCPU and hour, {PRICES.fargate_gb_hour.price_usd} per GB and hour",
         f"as ECS, and {PRICES.eks_cluster_hour.price_usd * MONTH_HOURS:,.0f} a month for the cluster"),
    )  # fmt: skip
    return [_line(row) for row in rows]


def _prices() -> list[str]:
    lines = [_line(("workload", "Lambda", "ECS", "EKS", "take")), _line(("---",) * 5)]
    for words, workload in WORKLOADS:
        found = options(workload)
        answer, _ = chosen(workload, found)
        lines.append(_line((words, *map(_usd, found), answer.name if answer else "none")))
    return lines


def _usd(option: Option) -> str:
    return f"{option.usd_month:,.2f}" if option.usd_month is not None else f"no: {option.blockers[0]}"


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
