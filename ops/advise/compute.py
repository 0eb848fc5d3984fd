"""Lambda, ECS or EKS for a workload: the limits that decide, and what each costs in a month. Pure.

Limits: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html and
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-cpu-memory-error.html, read 2026-12-02.
"""

import math
from dataclasses import dataclass, replace

from components.fargate import memory_sizes_mib
from ops.advise.compute_prices import MONTH_HOURS, MONTH_SECONDS, ComputePrices, compute_prices
from ops.advise.workload import (
    FARGATE_CPU_UNITS,
    GPU_FAMILIES,
    LAMBDA_MIB_PER_VCPU,
    Workload,
    fargate_size,
    gpu_node,
    tasks,
)

LAMBDA_SECONDS = 900
LAMBDA_MEMORY_MIB = 10_240
LAMBDA_CONCURRENT = 1000
LAMBDA_PAYLOAD_MIB = 6
# ECS takes up to 32 vCPUs for a Fargate task (components/fargate.py); a Fargate pod of EKS up to 16 with 120 GB.
# https://docs.aws.amazon.com/eks/latest/userguide/fargate-pod-configuration.html
EKS_POD_CPU_UNITS = 16_384


@dataclass(frozen=True, kw_only=True)
class Option:
    """One way to run it. `blockers` are limits that rule it out; without any it is possible. USD is None where it is not."""

    name: str
    blockers: tuple[str, ...]
    remarks: tuple[str, ...]
    usd_month: float | None
    shape: str


def options(workload: Workload) -> list[Option]:
    """Lambda, ECS and EKS, in this order."""
    prices = compute_prices(workload.region)
    return [_lambda(workload, prices), _ecs(workload, prices), _eks(workload, prices)]


def chosen(workload: Workload, found: list[Option]) -> tuple[Option | None, str]:
    """The option to take, and why."""
    by_name = {option.name: option for option in found if not option.blockers}
    cheapest = min(by_name.values(), key=lambda option: option.usd_month or 0.0, default=None)
    if cheapest is None:
        return None, "none of them holds it: make the process smaller, or split the work"
    if workload.team_runs_kubernetes and cheapest.name != "Lambda" and "EKS" in by_name:
        return by_name["EKS"], "the team runs Kubernetes already, so that it costs no more than ECS"
    if "Lambda" not in by_name:
        reason = (
            f"Lambda is out ({found[0].blockers[0]}), and ECS does the same as EKS without a cluster to run"
        )
        return cheapest, reason
    return cheapest, "the cheapest that holds it at this rate"


def _lambda(workload: Workload, prices: ComputePrices) -> Option:
    limits = (
        (workload.gpu, "functions have no GPU (only Lambda Managed Instances do)"),
        (workload.stateful, "a function keeps nothing between requests that it may rely on"),
        (workload.seconds > LAMBDA_SECONDS, f"{workload.seconds:,.0f} s are longer than the {LAMBDA_SECONDS} s (15 minutes) of one invocation"),
        (workload.memory_mib > LAMBDA_MEMORY_MIB, f"{workload.memory_mib:,} MiB are more than {LAMBDA_MEMORY_MIB:,}"),
        (workload.vcpus * LAMBDA_MIB_PER_VCPU > LAMBDA_MEMORY_MIB, f"{workload.vcpus:g} vCPUs are more than come with {LAMBDA_MEMORY_MIB:,} MiB (one per {LAMBDA_MIB_PER_VCPU:,})"),
        (workload.payload_mib > LAMBDA_PAYLOAD_MIB, f"{workload.payload_mib:g} MiB are more than a request or answer of {LAMBDA_PAYLOAD_MIB} MB; pass them through S3"),
    )  # fmt: skip
    blockers = tuple(text for is_over, text in limits if is_over)
    memory = max(128, workload.memory_mib, math.ceil(workload.vcpus * LAMBDA_MIB_PER_VCPU))
    remarks = []
    if workload.concurrent > LAMBDA_CONCURRENT:
        remarks.append(
            f"about {workload.concurrent:,.0f} at once in the busiest time are more than the {LAMBDA_CONCURRENT:,} that an account starts with: raise quota L-B99A9384 first"
        )
    requests = workload.requests_per_second * MONTH_SECONDS
    gb_seconds = requests * workload.seconds * memory / 1024
    usd = (
        requests / 1e6 * prices.lambda_million_requests.price_usd
        + gb_seconds * prices.lambda_gb_second.price_usd
    )
    return Option(name="Lambda", blockers=blockers, remarks=tuple(remarks), usd_month=None if blockers else usd,
                  shape=f"{memory:,} MiB, one request at a time each")  # fmt: skip


def _ecs(workload: Workload, prices: ComputePrices) -> Option:
    if workload.gpu:
        return _on_gpu_nodes(workload, "ECS", prices, 0.0)
    return _on_fargate(workload, "ECS", prices, FARGATE_CPU_UNITS[-1], 0.0)


def _eks(workload: Workload, prices: ComputePrices) -> Option:
    """The cluster is paid for by what needs it, unless it is there anyway."""
    cluster = 0.0 if workload.team_runs_kubernetes else prices.eks_cluster_hour.price_usd * MONTH_HOURS
    option = (
        _on_gpu_nodes(workload, "EKS", prices, cluster)
        if workload.gpu
        else _on_fargate(workload, "EKS", prices, EKS_POD_CPU_UNITS, cluster)
    )
    remarks = (
        ("without the cluster, which the team has already",)
        if workload.team_runs_kubernetes
        else (
            f"{cluster:,.2f} USD of it are the cluster (six times that in extended support)",
            "somebody has to run Kubernetes: upgrades of the cluster every year, add-ons, access",
        )
    )
    return replace(option, remarks=(*option.remarks, *remarks))


def _on_fargate(workload: Workload, name: str, prices: ComputePrices, most_cpu_units: int, fixed_usd: float) -> Option:  # fmt: skip
    size = fargate_size(workload, most_cpu_units)
    if size is None:
        largest = memory_sizes_mib(most_cpu_units)[-1]
        blocker = f"{workload.processor:.3g} vCPUs with {workload.memory_mib:,} MiB are more than a Fargate task of {most_cpu_units // 1024} vCPUs and {largest:,} MiB; use EC2 nodes"
        return Option(name=name, blockers=(blocker,), remarks=(), usd_month=None, shape="")
    cpu_units, memory_mib = size
    hourly = (
        cpu_units / 1024 * prices.fargate_vcpu_hour.price_usd
        + memory_mib / 1024 * prices.fargate_gb_hour.price_usd
    )
    count, balancer = tasks(workload), _balancer_usd(workload, prices)
    usd = fixed_usd + balancer + count * hourly * MONTH_HOURS
    shape = f"{amount(count)} x {cpu_units / 1024:g} vCPU, {memory_mib:,} MiB on Fargate (x86)" + (
        " with a load balancer" if balancer else ", on average"
    )
    return Option(name=name, blockers=(), remarks=(), usd_month=usd, shape=shape)


def _balancer_usd(workload: Workload, prices: ComputePrices) -> float:
    """A month of a load balancer, which a job needs none of."""
    return 0.0 if workload.is_job else prices.load_balancer_hour.price_usd * MONTH_HOURS


def amount(count: float) -> str:
    """As people write it: 0.082, 3 or 35,715."""
    if count >= 10:
        return f"{count:,.0f}"
    return "fewer than 0.001" if 0 < count < 0.001 else f"{count:.2g}"


def _on_gpu_nodes(workload: Workload, name: str, prices: ComputePrices, fixed_usd: float) -> Option:
    cheapest = gpu_node(workload)
    if cheapest is None:
        needed = f"{workload.memory_mib:,} MiB" + (f" and {workload.vcpus:g} vCPUs" if workload.vcpus else "")
        return Option(name=name, blockers=(f"no node with one GPU, {needed} that {workload.region} sells ({', '.join(GPU_FAMILIES)}): see python -m ops advise gpu",),
                      remarks=(), usd_month=None, shape="")  # fmt: skip
    count, balancer = tasks(workload), _balancer_usd(workload, prices)
    usd = fixed_usd + balancer + count * (cheapest.on_demand_usd_hour or 0.0) * MONTH_HOURS
    remarks = ("Fargate has no GPU, so nodes are EC2 instances; python -m ops advise gpu chooses by model",)
    shape = f"{amount(count)} x {cheapest.instance_type} on demand at the price of {cheapest.region} ({cheapest.on_demand_read_on})"
    return Option(name=name, blockers=(), remarks=remarks, usd_month=usd, shape=shape)
