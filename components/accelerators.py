"""The EC2 instance types with accelerators, where they are sold, and which of them may share a fleet."""

import csv
import difflib
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

# Written by `python -m ops.accelerators`; the first line names its sources.
TABLE = Path(__file__).with_suffix(".csv")

# The kind of accelerator whose driver is in the image. All of them are built for one architecture.
NODE_IMAGE_KINDS = {"ecs-gpu": "nvidia", "dlami": "nvidia", "ecs-neuron": "neuron"}
NODE_IMAGE_ARCHITECTURE = "x86_64"


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """One instance type. The fields are the columns of the table, in its order.

    `accelerator_kind` is `nvidia` or `neuron` (Inferentia and Trainium). A type with a part of a GPU has
    count 1 and the memory of that part. Memory is what EC2 reports: 22.35 GiB for a GPU sold as 24 GB.
    `regions` is sorted.
    """

    instance_type: str
    accelerator: str
    accelerator_kind: str
    accelerator_count: int
    accelerator_memory_gib_each: float
    accelerator_memory_gib_total: float
    vcpus: int
    memory_gib: float
    local_nvme_gb: int
    efa_interfaces: int
    architecture: str
    regions: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FleetFault:
    """What is wrong with the instance types of a fleet, for the person who typed them."""

    value: str
    allowed: str
    fix: str


def find(instance_type: str) -> Accelerator | None:
    """The entry of an instance type, or None for one that the table does not have."""
    return _table().get(instance_type)


def nearest(instance_type: str) -> str | None:
    """The known instance type that this one may be a misspelling of, or None where none comes close.

    The bar is high: a lower one takes p3.2xlarge, a type left out, for p4d.24xlarge at many times its price.
    """
    return next(iter(difflib.get_close_matches(instance_type.lower(), _table(), n=1, cutoff=0.85)), None)


def sold_in(region: str) -> frozenset[str]:
    """The accelerator instance types sold in a region; empty for a region that sells none."""
    return frozenset(entry.instance_type for entry in _table().values() if region in entry.regions)


def regions_selling(instance_type: str) -> tuple[str, ...]:
    """The regions that sell an instance type, sorted; empty for a type that the table does not have."""
    entry = find(instance_type)
    return entry.regions if entry else ()


def fleet_faults(instance_types: Sequence[str], region: str, node_image: str) -> list[FleetFault]:
    """Every reason why these instance types cannot be one fleet in this region on this node image.

    That the list is not empty and that `node_image` is a known one is for the caller to check: neither makes
    a fault here. A fleet of several kinds or architectures fits no image, so it is judged without its image.
    """
    names = list(dict.fromkeys(instance_types))
    entries = [entry for name in names if (entry := find(name))]
    unknown = [_unknown(name) for name in names if find(name) is None]
    unsold = [_not_sold(entry, region) for entry in entries if region not in entry.regions]
    mixed = _mixed_kinds(entries) + _mixed_architectures(entries)
    image = [] if mixed else _wrong_image(entries, region, node_image)
    return unknown + unsold + mixed + _mixed_memory(entries) + image


def _unknown(name: str) -> FleetFault:
    allowed = "must be an EC2 instance type with NVIDIA GPUs (Turing or newer), Inferentia or Trainium"
    guess = nearest(name)
    fix = f"use {guess} if that is what you meant" if guess else f"choose a type of components/{TABLE.name}"
    return FleetFault(value=name, allowed=allowed, fix=fix)


def _not_sold(entry: Accelerator, region: str) -> FleetFault:
    like = f"{entry.accelerator_kind} type with {entry.accelerator_memory_gib_each:g} GiB per accelerator"
    if alternatives := _alternatives(entry, region, entry.architecture):
        fix = f"use another {like} that {region} sells: {', '.join(alternatives)}"
    elif families := sorted({name.split(".")[0] for name in sold_in(region)}):
        fix = f"choose another region, or a family of {region} ({', '.join(families)}): it has no {like}"
    else:
        fix = f"choose another region: {region} sells no accelerator type"
    sold = ", ".join(entry.regions)
    allowed = f"must be sold in the region, or no node ever starts; {entry.instance_type} is sold in {sold}"
    return FleetFault(value=f"{entry.instance_type} in {region}", allowed=allowed, fix=fix)


def _mixed_kinds(entries: Sequence[Accelerator]) -> list[FleetFault]:
    kinds = _grouped(entries, lambda entry: entry.accelerator_kind)
    if len(kinds) < 2:
        return []
    allowed = "must be of one kind of accelerator: software built for one kind finds no device on the other"
    fleets = [f"{names} with node image {_images(kind)}" for kind, names in kinds.items()]
    return [
        FleetFault(value=_names(entries), allowed=allowed, fix=f"make a fleet for each: {'; '.join(fleets)}")
    ]


def _mixed_architectures(entries: Sequence[Accelerator]) -> list[FleetFault]:
    architectures = _grouped(entries, lambda entry: entry.architecture)
    if len(architectures) < 2:
        return []
    allowed = "must be of one processor architecture: the fleet's machine image boots on one only"
    others = ", ".join(names for key, names in architectures.items() if key != NODE_IMAGE_ARCHITECTURE)
    fix = f"leave out {others}: the node images are {NODE_IMAGE_ARCHITECTURE}"
    return [FleetFault(value=_names(entries), allowed=allowed, fix=fix)]


def _mixed_memory(entries: Sequence[Accelerator]) -> list[FleetFault]:
    """Compared within a kind, and exactly: EC2 reports the same figure for an A10G (g5) and an L4 (g6)."""
    allowed = (
        "must have equal memory per accelerator: a job that fits the larger runs out of memory on the smaller"
    )
    faults = []
    for kind in dict.fromkeys(entry.accelerator_kind for entry in entries):
        same_kind = [entry for entry in entries if entry.accelerator_kind == kind]
        by_size = sorted(same_kind, key=lambda entry: entry.accelerator_memory_gib_each)
        sizes = _grouped(by_size, lambda entry: f"{entry.accelerator_memory_gib_each:g} GiB")
        if len(sizes) > 1:
            fleets = "; ".join(f"{names} ({size})" for size, names in sizes.items())
            fix = f"make a fleet for each: {fleets}"
            faults.append(FleetFault(value=_names(same_kind), allowed=allowed, fix=fix))
    return faults


def _wrong_image(entries: Sequence[Accelerator], region: str, node_image: str) -> list[FleetFault]:
    """The entries share one kind and one architecture."""
    image_kind = NODE_IMAGE_KINDS.get(node_image)
    if not entries or image_kind is None:
        return []
    kind, architecture = entries[0].accelerator_kind, entries[0].architecture
    if architecture != NODE_IMAGE_ARCHITECTURE:
        alternatives = _alternatives(entries[0], region, NODE_IMAGE_ARCHITECTURE)
        allowed = f"must be {NODE_IMAGE_ARCHITECTURE}: the node images do not boot on {architecture}"
        instead = ", ".join(alternatives) or f"{NODE_IMAGE_ARCHITECTURE} types"
        fix = f"use {instead} with node image {_images(kind)}"
    elif kind != image_kind:
        allowed = f"must be {image_kind} types: the image has no driver for {kind}, so a job finds no device"
        fix = f"set the node image to {_images(kind)}, or choose {image_kind} types"
    else:
        return []
    return [FleetFault(value=f"{_names(entries)} with node image {node_image}", allowed=allowed, fix=fix)]


def _alternatives(entry: Accelerator, region: str, architecture: str) -> list[str]:
    """Up to three types of the same kind and accelerator memory that the region sells, most similar first."""

    def is_like(other: Accelerator) -> bool:
        same_kind = other.accelerator_kind == entry.accelerator_kind
        same_memory = other.accelerator_memory_gib_each == entry.accelerator_memory_gib_each
        return same_kind and same_memory and other.architecture == architecture and region in other.regions

    def distance(other: Accelerator) -> tuple[int, int, str]:
        counts_apart = abs(other.accelerator_count - entry.accelerator_count)
        return counts_apart, abs(other.vcpus - entry.vcpus), other.instance_type

    return [other.instance_type for other in sorted(filter(is_like, _table().values()), key=distance)[:3]]


def _grouped(entries: Sequence[Accelerator], key: Callable[[Accelerator], str]) -> dict[str, str]:
    """The listed names of the entries under each key, keys in the order in which they first come."""
    keys = dict.fromkeys(map(key, entries))
    return {each: _names([entry for entry in entries if key(entry) == each]) for each in keys}


def _images(kind: str) -> str:
    return " or ".join(image for image, image_kind in NODE_IMAGE_KINDS.items() if image_kind == kind)


def _names(entries: Sequence[Accelerator]) -> str:
    return ", ".join(entry.instance_type for entry in entries)


@functools.cache
def _table() -> dict[str, Accelerator]:
    with TABLE.open(encoding="utf-8", newline="") as lines:
        next(lines)
        return {row["instance_type"]: _entry(row) for row in csv.DictReader(lines)}


def _entry(row: dict[str, str]) -> Accelerator:
    return Accelerator(
        instance_type=row["instance_type"],
        accelerator=row["accelerator"],
        accelerator_kind=row["accelerator_kind"],
        accelerator_count=int(row["accelerator_count"]),
        accelerator_memory_gib_each=float(row["accelerator_memory_gib_each"]),
        accelerator_memory_gib_total=float(row["accelerator_memory_gib_total"]),
        vcpus=int(row["vcpus"]),
        memory_gib=float(row["memory_gib"]),
        local_nvme_gb=int(row["local_nvme_gb"]),
        efa_interfaces=int(row["efa_interfaces"]),
        architecture=row["architecture"],
        regions=tuple(row["regions"].split()),
    )
