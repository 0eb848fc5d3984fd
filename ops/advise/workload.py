"""A workload: how much of it is at work at once, and the smallest task and the cheapest GPU node that hold it. Pure."""

import math
from dataclasses import dataclass

from components.accelerators import find, fleet_faults, sold_in
from components.fargate import memory_sizes_mib
from ops.advise.fits import HOST_SHARE
from ops.instance_prices import InstancePrice, nearest_price

LAMBDA_MIB_PER_VCPU = 1769
FARGATE_CPU_UNITS = (256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768)
GPU_FAMILIES = ("g4dn", "g5", "g6", "g6e")
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


def gpu_node(workload: Workload) -> InstancePrice | None:
    """The cheapest node with one GPU that the region sells and that holds the process."""
    names = [name for name in sorted(sold_in(workload.region)) if name.split(".")[0] in GPU_FAMILIES]
    able = [
        price
        for name in names
        if (price := _gpu_price(name, workload)) and price.on_demand_usd_hour is not None
    ]
    return min(able, key=lambda price: price.on_demand_usd_hour or 0.0, default=None)


def _gpu_price(instance_type: str, workload: Workload) -> InstancePrice | None:
    entry = find(instance_type)
    sold = not fleet_faults([instance_type], workload.region, "ecs-gpu")
    holds = (
        entry is not None
        and entry.accelerator_count == 1
        and entry.memory_gib * 1024 * HOST_SHARE >= workload.memory_mib
        and entry.vcpus >= workload.vcpus
    )
    return nearest_price(instance_type, workload.region) if sold and holds else None
