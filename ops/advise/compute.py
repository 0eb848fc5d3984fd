"""Lambda, ECS or EKS for a workload: the limits that decide, and what each costs in a month. Pure.

Limits: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html and
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-cpu-memory-error.html, read 2026-12-02.
"""

import math
from dataclasses import dataclass

from components.accelerators import find, fleet_faults
from components.fargate import memory_sizes_mib
from ops.advise.compute_prices import (
    EKS_CLUSTER_USD_HOUR,
    FARGATE_USD_GB_HOUR,
    FARGATE_USD_VCPU_HOUR,
    LAMBDA_USD_GB_SECOND,
    LAMBDA_USD_REQUEST,
    LOAD_BALANCER_USD_HOUR,
    MONTH_HOURS,
    MONTH_SECONDS,
)
from ops.instance_prices import InstancePrice, nearest_price

LAMBDA_SECONDS = 900
LAMBDA_MEMORY_MIB = 10_240
LAMBDA_CONCURRENT = 1000
LAMBDA_PAYLOAD_MIB = 6
LAMBDA_MIB_PER_VCPU = 1769
# ECS takes up to 32 vCPUs for a Fargate task (components/fargate.py); a Fargate pod of EKS up to 16 with 120 GB.
# https://docs.aws.amazon.com/eks/latest/userguide/fargate-pod-configuration.html
EKS_POD_CPU_UNITS = 16_384
FARGATE_CPU_UNITS = (256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768)
GPU_TYPES = ("g6.xlarge", "g5.xlarge", "g4dn.xlarge", "g6e.xlarge")
# A task is not planned to be busier than this, or a burst waits.
BUSY_SHARE = 0.7


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Rates are means over a month; `peak_factor` times the mean is the busiest time."""

    seconds: float
    memory_mib: int
    requests_per_second: float
    region: str
    peak_factor: float = 3.0
    vcpus: float = 0.0
    requests_per_process: int = 8
    payload_mib: float = 0.1
    is_job: bool = False
    gpu: bool = False
    stateful: bool = False
    team_runs_kubernetes: bool = False

    @property
    def concurrent(self) -> float:
        """Requests at work in the busiest time (Little's law)."""
        return self.requests_per_second * self.peak_factor * self.seconds

    @property
    def processor(self) -> float:
        """vCPUs of one process: as many as Lambda gives with the memory unless told."""
        return self.vcpus or max(0.25, self.memory_mib / LAMBDA_MIB_PER_VCPU)


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
    return [_lambda(workload), _ecs(workload), _eks(workload)]


def chosen(workload: Workload, found: list[Option]) -> tuple[Option | None, str]:
    """The option to take, and why."""
    by_name = {option.name: option for option in found if not option.blockers}
    cheapest = min(by_name.values(), key=lambda option: option.usd_month or 0.0, default=None)
    if cheapest is None:
        return None, "none of them holds it: make the process smaller, or split the work"
    if (
        workload.team_runs_kubernetes
        and "EKS" in by_name
        and (workload.stateful or workload.gpu or "Lambda" not in by_name)
    ):
        return by_name[
            "EKS"
        ], "the team runs Kubernetes already, and what it costs beyond ECS is the cluster, which is there"
    if "Lambda" not in by_name:
        return by_name.get(
            "ECS", cheapest
        ), f"Lambda is out ({found[0].blockers[0]}), and ECS does the same as EKS without a cluster to run"
    if cheapest.name == "EKS":
        cheapest = by_name.get("ECS", cheapest)
    return cheapest, "the cheapest that holds it at this rate"


def _lambda(workload: Workload) -> Option:
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
    usd = requests * (LAMBDA_USD_REQUEST + workload.seconds * memory / 1024 * LAMBDA_USD_GB_SECOND)
    return Option(name="Lambda", blockers=blockers, remarks=tuple(remarks), usd_month=None if blockers else usd,
                  shape=f"{memory:,} MiB arm64, one request at a time each")  # fmt: skip


def _ecs(workload: Workload) -> Option:
    if workload.gpu:
        return _on_gpu_nodes(workload, "ECS", 0.0)
    return _on_fargate(workload, "ECS", FARGATE_CPU_UNITS[-1], 0.0)


def _eks(workload: Workload) -> Option:
    cluster = EKS_CLUSTER_USD_HOUR * MONTH_HOURS
    option = (
        _on_gpu_nodes(workload, "EKS", cluster)
        if workload.gpu
        else _on_fargate(workload, "EKS", EKS_POD_CPU_UNITS, cluster)
    )
    remarks = [f"{cluster:,.2f} USD of it are the cluster (six times that in extended support)"]
    if not workload.team_runs_kubernetes:
        remarks.append("somebody has to run Kubernetes: upgrades of the cluster every year, add-ons, access")
    return Option(name=option.name, blockers=option.blockers, remarks=(*option.remarks, *remarks),
                  usd_month=option.usd_month, shape=option.shape)  # fmt: skip


def tasks(workload: Workload) -> float:
    """Tasks that run on average: at least one for a service, none between the runs of a job."""
    at_work = workload.requests_per_second * workload.seconds
    if workload.is_job:
        return at_work
    return float(max(1, math.ceil(at_work / (workload.requests_per_process * BUSY_SHARE))))


def fargate_size(workload: Workload, most_cpu_units: int) -> tuple[int, int] | None:
    """The smallest task that holds a process; None where none does."""
    for cpu_units in FARGATE_CPU_UNITS:
        for memory_mib in memory_sizes_mib(cpu_units):
            if (
                cpu_units >= workload.processor * 1024
                and memory_mib >= workload.memory_mib
                and cpu_units <= most_cpu_units
            ):
                return cpu_units, memory_mib
    return None


def _on_fargate(workload: Workload, name: str, most_cpu_units: int, fixed_usd: float) -> Option:
    size = fargate_size(workload, most_cpu_units)
    if size is None:
        largest = memory_sizes_mib(most_cpu_units)[-1]
        blocker = f"{workload.processor:.3g} vCPUs with {workload.memory_mib:,} MiB are more than a Fargate task of {most_cpu_units // 1024} vCPUs and {largest:,} MiB; use EC2 nodes"
        return Option(name=name, blockers=(blocker,), remarks=(), usd_month=None, shape="")
    cpu_units, memory_mib = size
    hourly = cpu_units / 1024 * FARGATE_USD_VCPU_HOUR + memory_mib / 1024 * FARGATE_USD_GB_HOUR
    count, balancer = tasks(workload), 0.0 if workload.is_job else LOAD_BALANCER_USD_HOUR * MONTH_HOURS
    usd = fixed_usd + balancer + count * hourly * MONTH_HOURS
    shape = f"{count:.3g} x {cpu_units / 1024:g} vCPU, {memory_mib:,} MiB on Fargate (x86)" + (
        " with a load balancer" if balancer else ", on average"
    )
    return Option(name=name, blockers=(), remarks=(), usd_month=usd, shape=shape)


def _on_gpu_nodes(workload: Workload, name: str, fixed_usd: float) -> Option:
    """The cheapest node with one GPU that the region sells and whose memory holds the process."""
    able = [
        price
        for kind in GPU_TYPES
        if (price := _gpu_price(kind, workload)) and price.on_demand_usd_hour is not None
    ]
    cheapest = min(able, key=lambda price: price.on_demand_usd_hour or 0.0, default=None)
    if cheapest is None:
        return Option(name=name, blockers=(f"no node with one GPU and {workload.memory_mib:,} MiB that {workload.region} sells ({', '.join(GPU_TYPES)}): see python -m ops advise gpu",),
                      remarks=(), usd_month=None, shape="")  # fmt: skip
    count, balancer = tasks(workload), 0.0 if workload.is_job else LOAD_BALANCER_USD_HOUR * MONTH_HOURS
    usd = fixed_usd + balancer + count * (cheapest.on_demand_usd_hour or 0.0) * MONTH_HOURS
    remarks = ("Fargate has no GPU, so nodes are EC2 instances; python -m ops advise gpu chooses by model",)
    shape = f"{count:.3g} x {cheapest.instance_type} on demand at the price of {cheapest.region}"
    return Option(name=name, blockers=(), remarks=remarks, usd_month=usd, shape=shape)


def _gpu_price(instance_type: str, workload: Workload) -> InstancePrice | None:
    entry = find(instance_type)
    sold = not fleet_faults([instance_type], workload.region, "ecs-gpu")
    holds = entry is not None and entry.memory_gib * 1024 * 0.875 >= workload.memory_mib
    return nearest_price(instance_type, workload.region) if sold and holds else None
