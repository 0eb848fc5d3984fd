"""Which instance types of a region hold what is asked, on how many accelerators and nodes. Pure but for the tables."""

import math
from dataclasses import dataclass

from components.accelerators import NODE_IMAGE_KINDS, Accelerator, find, fleet_faults, sold_in
from ops.advise.hardware import chip_of, peak_flops
from ops.advise.memory import GIB, Need
from ops.advise.question import UTILISATION, Question
from ops.instance_prices import InstancePrice, nearest_price

# vLLM takes 90 percent of the memory unless told otherwise; the rest is the driver's, and what does not fit together.
USABLE_SHARE = 0.9
# The most that `trainingNodes` takes.
MOST_NODES = 64
# Sharding over nodes lives on the network between them: four interfaces of EFA are 400 Gbit/s or more.
LEAST_EFA_INTERFACES = 4
DAY_HOURS = 24
# Nodes that were counted to end just in time may be late by what floats round.
ROUNDING = 1.001
# Of a host's memory; the rest is the system's: a job that asks for all of it never starts.
HOST_SHARE = 0.875


@dataclass(frozen=True, kw_only=True)
class Fit:
    """An instance type that holds it: so many nodes, and on each so many accelerators at work."""

    entry: Accelerator
    nodes: int
    accelerators: int
    each_bytes: float
    price: InstancePrice | None

    @property
    def name(self) -> str:
        return f"{self.nodes} x {self.entry.instance_type}" if self.nodes > 1 else self.entry.instance_type

    @property
    def usd_hour(self) -> float | None:
        """On demand, all nodes."""
        usd = self.price.on_demand_usd_hour if self.price else None
        return None if usd is None else usd * self.nodes

    @property
    def spot_usd_hour(self) -> tuple[float, float] | None:
        """Cheapest and dearest zone; None for several nodes, which Batch does not run on spot."""
        price = self.price
        if (
            self.nodes > 1
            or not price
            or price.spot_minimum_usd_hour is None
            or price.spot_maximum_usd_hour is None
        ):
            return None
        return price.spot_minimum_usd_hour, price.spot_maximum_usd_hour

    def hours(self, question: Question) -> float | None:
        """Of a training whose tokens are known, on chips whose speed is known."""
        operations, peak = question.operations(), peak_flops(self.entry)
        if operations is None or peak is None:
            return None
        return operations / (peak * self.nodes * UTILISATION) / 3600


def usable_bytes(entry: Accelerator) -> float:
    """Of one accelerator."""
    return entry.accelerator_memory_gib_each * GIB * USABLE_SHARE


def fits(question: Question) -> list[Fit]:
    """Every type of the region that holds it, cheapest on demand first; those without a known price are last."""
    need = question.need()
    found = [
        fit
        for name in sorted(sold_in(question.region))
        if (entry := find(name)) and (fit := fit_of(entry, question, need))
    ]
    return sorted(found, key=lambda fit: (fit.usd_hour is None, fit.usd_hour or 0, fit.entry.instance_type))


def fit_of(entry: Accelerator, question: Question, need: Need, *, anywhere: bool = False) -> Fit | None:
    """How this type holds it; None where it does not, or (unless `anywhere`) where this platform could not run it."""
    if not anywhere and not runs_here(entry, question):
        return None
    size = _training_size(entry, question, need) if question.trains else _serving_size(entry, question, need)
    if size is None:
        return None
    nodes, accelerators = size
    return Fit(
        entry=entry,
        nodes=nodes,
        accelerators=accelerators,
        each_bytes=need.each_bytes(nodes * accelerators),
        price=nearest_price(entry.instance_type, question.region),
    )


def runs_here(entry: Accelerator, question: Question) -> bool:
    """Whether the platform's images and the task's software run on the type: training needs NVIDIA GPUs with bf16."""
    chip = chip_of(entry)
    if question.trains:
        images, able = ["ecs-gpu"], chip.bf16_tflops != 0
    else:
        images = [
            image
            for image, kind in NODE_IMAGE_KINDS.items()
            if kind == entry.accelerator_kind and image != "dlami"
        ]
        able = chip.serves_llms
    sold = not fleet_faults([entry.instance_type], question.region, images[0]) if images else False
    return able and sold


def _serving_size(entry: Accelerator, question: Question, need: Need) -> tuple[int, int] | None:
    """One node, on as few of its accelerators as hold it; tensor parallelism wants a power of two or all.

    vLLM refuses GPUs among which the query heads cannot be shared alike; Neuron fills up what is missing.
    """
    heads = question.model.architecture.heads if entry.accelerator_kind == "nvidia" else 0
    powers = [2**power for power in range(entry.accelerator_count.bit_length())]
    for count in dict.fromkeys([*powers, entry.accelerator_count]):
        if heads % count == 0 and need.each_bytes(count) <= usable_bytes(entry):
            return 1, count
    return None


def _training_size(entry: Accelerator, question: Question, need: Need) -> tuple[int, int] | None:
    """All accelerators of as few nodes as hold it, and as end in time; several nodes need a fast network."""
    most = MOST_NODES if entry.efa_interfaces >= LEAST_EFA_INTERFACES else 1
    count = entry.accelerator_count
    for_memory = (n for n in range(1, most + 1) if need.each_bytes(n * count) <= usable_bytes(entry))
    nodes = next(for_memory, None)
    if nodes is None:
        return None
    in_time = _nodes_in_time(entry, question)
    if in_time is None:
        return None
    return max(nodes, min(in_time, most)), count


def _nodes_in_time(entry: Accelerator, question: Question) -> int | None:
    """One where no time is asked for or no tokens are told; None where the speed is not known."""
    operations, days = question.operations(), question.wanted_days()
    if operations is None or days is None:
        return 1
    peak = peak_flops(entry)
    if peak is None:
        return None
    return math.ceil(operations / (peak * UTILISATION * days * DAY_HOURS * 3600))


def is_late(fit: Fit, question: Question) -> bool:
    """Whether even so many nodes take longer than asked."""
    hours, days = fit.hours(question), question.wanted_days()
    return hours is not None and days is not None and hours > days * DAY_HOURS * ROUNDING
