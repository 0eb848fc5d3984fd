"""Rules over GPU fleets and training jobs: spot settings that AWS would ignore or refuse, and work that would be lost. Pure."""

from collections.abc import Iterator

from components.accelerators import Accelerator, find, fleet_faults
from components.config_gpu_sections import GpuFleetConfig
from components.config_sections import Sections
from components.settings import Fault, fault
from components.user_data import extra_script_fault

# The images' own snapshots; a smaller volume is refused when an instance starts. DLAMI release notes and the
# ECS-optimized AMI page, read 2026-12-01.
# Of a type's memory, what ECS registers at least: the kernel and the agent keep some.
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/memory-management.html
JOB_MEMORY_SHARE = 0.95
IMAGE_VOLUME_GIB = {"dlami": 75, "ecs-gpu": 30, "ecs-neuron": 30}
BOOT_SCRIPTS = {"dlami": "dlami", "ecs-gpu": "ecs", "ecs-neuron": "ecs"}


def fleet_rules(sections: Sections) -> Iterator[Fault]:
    fleets = sections.gpu.fleets
    for index, fleet in enumerate(fleets):
        place = f"gpuFleets[{index}]."
        if any(other.name == fleet.name for other in fleets[:index]):
            yield fault(
                f"{place}name",
                fleet.name,
                "is used by two fleets",
                "give each fleet its own name",
            )
        for found in fleet_faults(fleet.instance_types, sections.general.region, fleet.node_image):
            yield fault(f"{place}instanceTypes", found.value, found.allowed, found.fix, "region")
        for rule in (
            _purpose_rules,
            _size_rules,
            _spot_rules,
            _weight_rules,
            _cluster_rules,
            _end_rules,
            _capacity_block_rules,
        ):
            yield from rule(place, fleet)


def _purpose_rules(place: str, fleet: GpuFleetConfig) -> Iterator[Fault]:
    if (fleet.purpose == "training") == fleet.joins_cluster:
        wanted = "dlami" if fleet.purpose == "training" else "ecs-gpu or ecs-neuron"
        yield fault(f"{place}nodeImage", fleet.node_image, f"must be {wanted} for the purpose {fleet.purpose}",
                    f"use {wanted}, or change purpose")  # fmt: skip
    if fleet.purpose == "training" and fleet.runs_on_spot and not fleet.checkpoint_path:
        yield fault(f"{place}checkpointPath", "", "training on spot without checkpoints starts over at every interruption and costs more than on-demand",
                    "set it to a folder such as /mnt/shared-data/checkpoints/my-run, or onDemandPercentage to 100")  # fmt: skip


def _size_rules(place: str, fleet: GpuFleetConfig) -> Iterator[Fault]:
    if fleet.minimum > fleet.maximum:
        yield fault(f"{place}minimum", fleet.minimum, f"must not be above maximum ({fleet.maximum})",
                    "lower it, or raise maximum")  # fmt: skip
    if fleet.on_demand_base > fleet.maximum:
        yield fault(f"{place}onDemandBase", fleet.on_demand_base, f"must not be above maximum ({fleet.maximum})",
                    "lower it, or raise maximum")  # fmt: skip
    least = IMAGE_VOLUME_GIB[fleet.node_image]
    if fleet.volume_size_gib < least:
        yield fault(f"{place}volumeSizeGib", fleet.volume_size_gib, f"the image {fleet.node_image} needs at least {least} GiB",
                    f"use {least} or more")  # fmt: skip
    yield from _boot_script_rules(place, fleet)


def _boot_script_rules(place: str, fleet: GpuFleetConfig) -> Iterator[Fault]:
    found = extra_script_fault(BOOT_SCRIPTS[fleet.node_image], fleet.extra_boot_script)
    if found:
        problem, _, remedy = found.rstrip(".").rpartition(": ")
        letters = f"{len(fleet.extra_boot_script):,} characters of script"
        yield fault(f"{place}extraBootScript", letters, problem[:1].lower() + problem[1:], remedy)


def _spot_rules(place: str, fleet: GpuFleetConfig) -> Iterator[Fault]:
    """https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstancesDistribution.html"""
    if fleet.capacity_block_reservation_id:
        return
    if fleet.spot_pool_count and fleet.spot_allocation_strategy != "lowest-price":
        yield fault(f"{place}spotPoolCount", fleet.spot_pool_count, "is ignored unless spotAllocationStrategy is lowest-price",
                    "remove it")  # fmt: skip
    for key, value in (
        ("maximumPriceUsd", fleet.maximum_price_usd),
        ("capacityRebalancing", fleet.capacity_rebalancing and not fleet.joins_cluster),
    ):
        if value and not fleet.runs_on_spot:
            yield fault(f"{place}{key}", value, "is ignored, since no node of this fleet is a spot instance",
                        "remove it, or lower onDemandBase and onDemandPercentage")  # fmt: skip


def _weight_rules(place: str, fleet: GpuFleetConfig) -> Iterator[Fault]:
    if not fleet.weights or fleet.joins_cluster or fleet.capacity_block_reservation_id:
        return
    missing = sorted(set(fleet.instance_types) - set(fleet.weights))
    if missing:
        yield fault(f"{place}weights", fleet.weights, f"AWS wants a weight for every type or for none; missing: {', '.join(missing)}",
                    "add the missing weights, or remove weights")  # fmt: skip
    unused = sorted(set(fleet.weights) - set(fleet.instance_types))
    if unused:
        yield fault(f"{place}weights", fleet.weights, f"names types that the fleet does not use: {', '.join(unused)}",
                    "remove them, or add the types to instanceTypes")  # fmt: skip
    largest = max(fleet.weights.values())
    if largest > fleet.maximum:
        yield fault(f"{place}weights", fleet.weights, f"one instance of weight {largest} would exceed the fleet's maximum ({fleet.maximum})",
                    f"set maximum to {largest} or more; with weights it counts weight, not instances")  # fmt: skip


def _cluster_rules(place: str, fleet: GpuFleetConfig) -> Iterator[Fault]:
    """ECS counts instances, and hears nothing of a rebalance, so that it would lose running tasks."""
    if not fleet.joins_cluster or fleet.capacity_block_reservation_id:
        return
    if fleet.weights:
        yield fault(f"{place}weights", fleet.weights, "ECS counts the instances of a fleet that it manages, so weights mislead its scaling",
                    "remove weights")  # fmt: skip
    if fleet.capacity_rebalancing:
        yield fault(f"{place}capacityRebalancing", True, "a fleet that ECS manages would lose tasks without draining",
                    "remove it")  # fmt: skip


def _end_rules(place: str, fleet: GpuFleetConfig) -> Iterator[Fault]:
    """A node that ends itself asks its group for one node fewer, which a group at its minimum refuses."""
    for key, value in (("idleMinutes", fleet.idle_minutes), ("maximumLifeHours", fleet.maximum_life_hours)):
        if not value:
            continue
        if fleet.joins_cluster:
            yield fault(f"{place}{key}", value, "is for dlami nodes, since ECS itself ends nodes without tasks",
                        "remove it")  # fmt: skip
        elif fleet.capacity_block_reservation_id:
            yield fault(
                f"{place}{key}", value, "saves nothing in a Capacity Block, which is prepaid", "remove it"
            )
        elif fleet.minimum:
            yield fault(f"{place}{key}", value, f"ends no node while minimum is {fleet.minimum}, since the group keeps as many",
                        "set minimum to 0, or remove it")  # fmt: skip


def _capacity_block_rules(place: str, fleet: GpuFleetConfig) -> Iterator[Fault]:
    """A Capacity Block holds one instance type, prepaid.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html
    """
    if not fleet.capacity_block_reservation_id:
        return
    if len(fleet.instance_types) > 1:
        yield fault(f"{place}instanceTypes", ", ".join(fleet.instance_types), "a Capacity Block holds one instance type",
                    "list only the type of the reservation")  # fmt: skip
    for key, value in (("weights", fleet.weights), ("onDemandBase", fleet.on_demand_base),
                       ("onDemandPercentage", fleet.on_demand_percentage), ("spotPoolCount", fleet.spot_pool_count),
                       ("maximumPriceUsd", fleet.maximum_price_usd), ("capacityRebalancing", fleet.capacity_rebalancing)):  # fmt: skip
        if value:
            yield fault(
                f"{place}{key}", value, "means nothing for a Capacity Block, which is prepaid", "remove it"
            )


def training_rules(sections: Sections) -> Iterator[Fault]:
    training = sections.training
    if not training.enabled:
        return
    if not training.image:
        yield fault(
            "trainingImage",
            "",
            "training jobs need a container image",
            "name one, or set training to false",
        )
    if not training.instance_types:
        yield fault("trainingInstanceTypes", (), "training jobs need instance types",
                    "list types such as g5.2xlarge, or set training to false")  # fmt: skip
    for found in fleet_faults(training.instance_types, sections.general.region, "ecs-gpu"):
        yield fault("trainingInstanceTypes", found.value, found.allowed, found.fix, "region")
    if training.spot_submissions >= training.submissions:
        yield fault("trainingSpotSubmissions", training.spot_submissions, f"must be below trainingSubmissions ({training.submissions}), or a run would never reach on-demand",
                    "lower it, or raise trainingSubmissions", "trainingSubmissions")  # fmt: skip
    entries = [entry for entry in map(find, training.instance_types) if entry]
    if entries:
        yield from _job_rules(sections, entries)
    if training.nodes > 1:
        yield from _node_rules(entries)


def _job_rules(sections: Sections, entries: list[Accelerator]) -> Iterator[Fault]:
    training = sections.training
    needed = training.nodes * min(entry.vcpus for entry in entries)
    if training.maximum_vcpus < needed:
        yield fault("trainingMaximumVcpus", training.maximum_vcpus, f"is below the instances of one job ({needed} vCPUs), so none would ever start",
                    f"use {needed} or more")  # fmt: skip
    fits = [entry for entry in entries
            if entry.accelerator_count >= training.job_gpus and entry.vcpus >= training.job_vcpus
            and entry.memory_gib * 1024 * JOB_MEMORY_SHARE >= training.job_memory_mib]  # fmt: skip
    if not fits:
        asked = f"{training.job_gpus} GPUs, {training.job_vcpus} vCPUs, {training.job_memory_mib} MiB"
        yield fault("trainingInstanceTypes", ", ".join(training.instance_types), f"no type holds one job ({asked}; some memory is the host's own)",
                    "list a larger type, or lower trainingJobGpus, trainingJobVcpus or trainingJobMemoryMib",
                    "trainingJobVcpus", "trainingJobMemoryMib")  # fmt: skip


def _node_rules(entries: list[Accelerator]) -> Iterator[Fault]:
    slow = [entry.instance_type for entry in entries if entry.efa_interfaces == 0]
    if slow:
        yield fault("trainingInstanceTypes", ", ".join(slow), "has no EFA, so a multi-node job would wait for its network",
                    "list a type with EFA such as p4d.24xlarge, or set trainingNodes to 1")  # fmt: skip
    elif len(entries) > 1:
        yield fault("trainingInstanceTypes", ", ".join(entry.instance_type for entry in entries),
                    "must be one type when trainingNodes is above 1, since all nodes of a job are alike",
                    "list one type, or set trainingNodes to 1")  # fmt: skip
