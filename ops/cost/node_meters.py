"""Accelerator nodes: fleets by what they always keep and by the hours used, training jobs by their hours."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.accelerators import find
from ops.capture.recording import RecordedResource
from ops.cost.charge import MONTH_HOURS, Charge, Free, Item, Meter, Rates, Unknown
from ops.cost.task_meters import SERVICE, providers, task_limits

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
CAPACITY_PROVIDER = "aws:ecs/capacityProvider:CapacityProvider"
# What costs more above: operations a second, and MB a second. https://aws.amazon.com/ebs/pricing/
INCLUDED_IN_GP3 = {"iops": 3000, "throughput": 125}
CAPACITY_BLOCK = "a Capacity Block is paid for in advance, at the price of the day on which it is reserved"


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """Hours of nodes of one launch template in an idle and in a busy month, and the share of them on spot."""

    instance_types: Sequence[str]
    template: RecordedResource | None
    idle_hours: float
    busy_hours: float
    spot_share: float


def group(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    mixed = resource.inputs.get("mixedInstancesPolicy") or {}
    template = _template(resource, "mixedInstancesPolicy" if mixed else "launchTemplate", rates)
    market = (template.inputs.get("instanceMarketOptions") or {}) if template else {}
    if market.get("marketType") == "capacity-block":
        yield Unknown(CAPACITY_BLOCK)
        return
    overrides = (mixed.get("launchTemplate") or {}).get("overrides") or ()
    types = [item["instanceType"] for item in overrides] or [
        str(template.inputs.get("instanceType")) if template else ""
    ]
    # The sizes of a group with weights are not nodes but weight, of which a node of each type brings its own.
    weight = float(overrides[0].get("weightedCapacity") or 1) if overrides else 1.0
    kept = _kept_hours(resource, weight, rates)
    extra = rates.usage.fleet_hours if resource.inputs.get("maxSize") else 0
    at_once = max(rates.usage.fleet_nodes, math.ceil(kept / MONTH_HOURS)) or 1
    spot = spot_share(mixed.get("instancesDistribution"), at_once * weight) if mixed else 0.0
    nodes = Nodes(
        instance_types=types,
        template=template,
        idle_hours=kept,
        busy_hours=kept + extra,
        spot_share=spot,
    )
    yield from _priced(nodes, rates)


def spot_share(distribution: Mapping[str, Any] | None, size: float) -> float:
    """The part of a group of such a size, above zero, that is on spot. What a group does not say is AWS's default: all on demand.

    https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstancesDistribution.html
    """
    said = distribution or {}
    base = float(said.get("onDemandBaseCapacity") or 0)
    percentage = said.get("onDemandPercentageAboveBaseCapacity")
    above = max(0.0, size - base)
    return above * (100 - float(100 if percentage is None else percentage)) / 100 / size


def _kept_hours(resource: RecordedResource, weight: float, rates: Rates) -> float:
    """Node hours of a month that the group's minimum keeps, and beyond it the fewest tasks of a service, one a node."""
    least = math.ceil(float(resource.inputs.get("minSize") or 0) / weight)
    hours = least * MONTH_HOURS
    for service in _services_on(resource, rates):
        target = rates.index.scaling_of(service)
        opened = (
            rates.usage.opening_hours if target and rates.index.has_opening_hours(target) else MONTH_HOURS
        )
        hours += max(0.0, task_limits(service, rates)[0] - least) * min(opened, MONTH_HOURS)
    return hours


def _services_on(resource: RecordedResource, rates: Rates) -> Iterator[RecordedResource]:
    """The ECS services whose tasks run on nodes of a group."""
    names = {
        provider.outputs.get("name")
        for provider in rates.index.of_type(CAPACITY_PROVIDER)
        if (provider.inputs.get("autoScalingGroupProvider") or {}).get("autoScalingGroupArn")
        == resource.outputs.get("arn")
    }
    return (service for service in rates.index.of_type(SERVICE) if names & set(providers(service)))


def compute_environment(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    """Nodes that AWS Batch starts for jobs, and ends after them."""
    said = resource.inputs.get("computeResources") or {}
    if resource.inputs.get("state") == "DISABLED":
        yield Free("it is disabled: no job starts a node")
        return
    types = list(said.get("instanceTypes") or ())
    usage = rates.usage
    spot = said.get("type") == "SPOT"
    multi_node = bool(said.get("placementGroup"))
    hours = usage.training_multi_node_hours if multi_node else usage.training_on_demand_hours
    entry = find(types[0]) if types else None
    least = float(said.get("minVcpus") or 0)
    if least and entry is None:
        yield Unknown(f"how many nodes {least:g} vCPU are is not known")
        return
    kept = math.ceil(least / entry.vcpus) * MONTH_HOURS if entry else 0
    nodes = Nodes(
        instance_types=types,
        template=_template(resource, "computeResources", rates),
        idle_hours=kept,
        busy_hours=kept + (usage.training_spot_hours if spot else hours),
        spot_share=float(spot),
    )
    yield from _priced(nodes, rates)


def _template(resource: RecordedResource, property_name: str, rates: Rates) -> RecordedResource | None:
    """The launch template that a property names. A recording has no ids of resources, but knows what they depend on."""
    urns = resource.property_dependencies.get(property_name, frozenset())
    found = [rates.index.by_urn[urn] for urn in sorted(urns) if urn in rates.index.by_urn]
    return next((item for item in found if item.type == TEMPLATE), None)


def _priced(nodes: Nodes, rates: Rates) -> Iterator[Item]:
    """The first type of a list stands for all of them: AWS chooses by capacity, and which it takes cannot be known."""
    for spot, share in ((False, 1 - nodes.spot_share), (True, nodes.spot_share)):
        if not share:
            continue
        known = (rates.prices.node(name, rates.index.region, spot=spot) for name in nodes.instance_types)
        price = next(filter(None, known), None)
        if price is None:
            yield Unknown(f"no price of {', '.join(nodes.instance_types) or 'its instance type'}")
            return
        yield Charge(
            what=f"node {price.what}",
            price=price,
            idle=nodes.idle_hours * share,
            busy=nodes.busy_hours * share,
        )
    if nodes.template is None:
        yield Unknown("its launch template is not in the recording: disks and addresses are not priced")
        return
    yield from _disks(nodes.template, nodes.idle_hours, nodes.busy_hours, rates)


def _disks(template: RecordedResource, idle: float, busy: float, rates: Rates) -> Iterator[Item]:
    """Disks and public addresses of nodes, which live as long as they do."""
    disks = [mapping.get("ebs") or {} for mapping in template.inputs.get("blockDeviceMappings") or ()]
    if not all(disk.get("volumeSize") for disk in disks or [{}]):
        yield Unknown("its nodes have disks as large as their image says, which the recording does not tell")
    for disk in disks:
        months = float(disk.get("volumeSize") or 0) / MONTH_HOURS
        kind = str(disk.get("volumeType"))
        yield rates.charge("EBS", kind, idle * months, busy * months, "disk of the nodes")
        if any(float(disk.get(key) or 0) > most for key, most in INCLUDED_IN_GP3.items()):
            yield Unknown("its disks are faster than what a gp3 disk brings along, which costs extra")
    interfaces = template.inputs.get("networkInterfaces") or ()
    if any(str(item.get("associatePublicIpAddress")).lower() == "true" for item in interfaces):
        yield rates.charge("VPC", "public IPv4 address", idle, busy, "public IPv4 address of the nodes")


METERS: dict[str, Meter] = {
    "aws:autoscaling/group:Group": group,
    "aws:batch/computeEnvironment:ComputeEnvironment": compute_environment,
}
