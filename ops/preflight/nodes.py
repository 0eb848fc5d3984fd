"""The groups of nodes of a stack: how many vCPUs of which limit each can take, in which subnets."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.accelerators import find
from ops.capture.recording import RecordedResource
from ops.preflight.account import UnansweredError
from ops.preflight.quota_codes import QuotaCode, vcpu_quota
from ops.preflight.stack import Stack

GROUP = "aws:autoscaling/group:Group"
COMPUTE_ENVIRONMENT = "aws:batch/computeEnvironment:ComputeEnvironment"


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """One Auto Scaling group or compute environment."""

    name: str
    instance_types: tuple[str, ...]
    subnet_ids: tuple[str, ...]
    share: "FleetShare | BatchShare"

    def demands(self) -> Iterator["VcpuDemand"]:
        """The most vCPUs that the nodes take of each limit: any type may be the one that starts."""
        most: dict[QuotaCode, VcpuDemand] = {}
        for instance_type in self.instance_types:
            for spot in (True, False):
                code = vcpu_quota(instance_type, spot=spot)
                vcpus, words = self.share.vcpus(instance_type, spot=spot)
                if code and vcpus > (most[code].vcpus if code in most else 0):
                    most[code] = VcpuDemand(code=code, spot=spot, vcpus=vcpus, words=f"{self.name} ({words})")
        yield from most.values()


@dataclass(frozen=True, kw_only=True)
class VcpuDemand:
    code: QuotaCode
    spot: bool
    vcpus: int
    words: str


@dataclass(frozen=True, kw_only=True)
class FleetShare:
    """An Auto Scaling group: nodes, or units where types have weights, split into on-demand and spot."""

    maximum: int
    on_demand_base: int
    on_demand_percentage: float
    weights: Mapping[str, int]

    def vcpus(self, instance_type: str, *, spot: bool) -> tuple[int, str]:
        """Each side's share is rounded up, since Auto Scaling rounds one of them."""
        base = min(self.on_demand_base, self.maximum)
        part = (100 - self.on_demand_percentage if spot else self.on_demand_percentage) / 100
        units = math.ceil((self.maximum - base) * part) + (0 if spot else base)
        count = math.ceil(units / self.weights.get(instance_type, 1))
        return count * vcpus_of(instance_type), f"{count} x {instance_type}"


@dataclass(frozen=True, kw_only=True)
class BatchShare:
    """A compute environment: so many vCPUs in whole nodes, on spot or on demand.

    Batch may pass its maximum by a part of one node, never by more.
    https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeResource.html
    """

    maximum_vcpus: int
    spot: bool

    def vcpus(self, instance_type: str, *, spot: bool) -> tuple[int, str]:
        if spot != self.spot:
            return 0, ""
        each = vcpus_of(instance_type)
        count = math.ceil(self.maximum_vcpus / each)
        return count * each, f"{count} x {instance_type} for up to {self.maximum_vcpus} vCPUs"


def vcpus_of(instance_type: str) -> int:
    """The vCPUs of a type. Raises UnansweredError for one that the table of accelerators does not have."""
    entry = find(instance_type)
    if entry is None:
        raise UnansweredError(
            f"The vCPUs of {instance_type} are not in components/accelerators.csv. Renew the table with `python -m ops.accelerators`."
        )
    return entry.vcpus


def all_nodes(stack: Stack) -> list[Nodes]:
    """Every group that may start nodes of limits; a compute environment that is switched off starts none.

    A group without a mix of instances lives on a Capacity Block, which has no part in the limits.
    """
    fleets = [_fleet(group) for group in stack.of_type(GROUP) if group.inputs.get("mixedInstancesPolicy")]
    environments = [
        _environment(item)
        for item in stack.of_type(COMPUTE_ENVIRONMENT)
        if item.inputs.get("state") != "DISABLED"
    ]
    return [*fleets, *environments]


def _fleet(group: RecordedResource) -> Nodes:
    policy = group.inputs["mixedInstancesPolicy"]
    shares, overrides = policy["instancesDistribution"], policy["launchTemplate"]["overrides"]
    return Nodes(
        name=group.name,
        instance_types=tuple(item["instanceType"] for item in overrides),
        subnet_ids=tuple(group.inputs["vpcZoneIdentifiers"]),
        share=FleetShare(
            maximum=int(group.inputs["maxSize"]),
            on_demand_base=int(shares["onDemandBaseCapacity"]),
            on_demand_percentage=shares["onDemandPercentageAboveBaseCapacity"],
            weights={item["instanceType"]: int(item.get("weightedCapacity") or 1) for item in overrides},
        ),
    )


def _environment(environment: RecordedResource) -> Nodes:
    resources: Mapping[str, Any] = environment.inputs["computeResources"]
    return Nodes(
        name=environment.name,
        instance_types=tuple(resources["instanceTypes"]),
        subnet_ids=tuple(resources["subnets"]),
        share=BatchShare(maximum_vcpus=int(resources["maxVcpus"]), spot=resources["type"] == "SPOT"),
    )
