"""Which block of the VPC belongs to which subnet: a fixed plan, so that one more zone never moves a subnet.

The first eighth of the VPC is cut into eighths again for the public subnets, the next six are the private
subnets, and the last eighth stays free for a network that this plan does not foresee.
"""

from dataclasses import dataclass
from ipaddress import IPv4Network

# us-east-1 has six zones, more than any other region (AWS page "AWS Regions and Availability Zones").
MAXIMUM_ZONES = 6

# AWS takes VPCs from /16 to /28 (Amazon VPC user guide, "VPC CIDR blocks"). A /20 still gives every private
# subnet 512 addresses and every public subnet 64, of which AWS keeps five; a load balancer needs a /27.
LARGEST_VPC_PREFIX = 16
SMALLEST_VPC_PREFIX = 20

# RFC 1918 and RFC 6598. AWS accepts public ranges too, but then the real owners' addresses cannot be reached.
PRIVATE_RANGES = tuple(
    IPv4Network(block) for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
)

# Docker gives its default bridge this block, so a container in bridge mode cannot reach a VPC that uses it.
DOCKER_BRIDGE = IPv4Network("172.17.0.0/16")

_BITS_OF_AN_EIGHTH = 3

_ALLOWED_VPC_CIDR = (
    f"an IPv4 block from /{LARGEST_VPC_PREFIX} to /{SMALLEST_VPC_PREFIX} inside "
    f"{', '.join(str(block) for block in PRIVATE_RANGES)}, but not in {DOCKER_BRIDGE}"
)


@dataclass(frozen=True, kw_only=True)
class SubnetBlocks:
    """The CIDR blocks of a VPC's subnets; the index is the position of the zone in the list of zones."""

    public: tuple[str, ...]
    private: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AddressFault:
    """One reason why there is no plan, in the parts that a report of config faults shows."""

    value: str
    problem: str
    allowed: str
    fix: str

    def __str__(self) -> str:
        return f"{self.value} {self.problem}. Allowed: {self.allowed}. {self.fix}."


def subnet_blocks(vpc_cidr: str, zone_count: int) -> SubnetBlocks:
    """The public and the private block of every zone.

    The blocks lie inside the VPC, never overlap, and depend on the VPC and the zone's position only, not on
    `zone_count`. Raises ValueError naming value, allowed values and fix where there is no plan.
    """
    faults = [fault for fault in (vpc_cidr_fault(vpc_cidr), zone_count_fault(zone_count)) if fault]
    if faults:
        raise ValueError(" ".join(str(fault) for fault in faults))

    eighths = list(IPv4Network(vpc_cidr).subnets(prefixlen_diff=_BITS_OF_AN_EIGHTH))
    public = list(eighths[0].subnets(prefixlen_diff=_BITS_OF_AN_EIGHTH))
    private = eighths[1:]
    return SubnetBlocks(
        public=tuple(str(block) for block in public[:zone_count]),
        private=tuple(str(block) for block in private[:zone_count]),
    )


def vpc_cidr_fault(vpc_cidr: str) -> AddressFault | None:
    """Why `vpc_cidr` cannot be the VPC's block, or None where it can."""
    try:
        block = IPv4Network(vpc_cidr, strict=False)
    except ValueError:
        return _vpc_cidr_fault(vpc_cidr, "is no IPv4 block", "Write a block such as 10.20.0.0/16")

    if not any(block.subnet_of(private_range) for private_range in PRIVATE_RANGES):
        return _vpc_cidr_fault(vpc_cidr, "is public address space", "Write a block such as 10.20.0.0/16")
    if block.subnet_of(DOCKER_BRIDGE):
        problem = "is in the block of Docker's bridge, so containers in bridge mode could not reach the VPC"
        return _vpc_cidr_fault(vpc_cidr, problem, "Write another block such as 172.20.0.0/16")
    if not LARGEST_VPC_PREFIX <= block.prefixlen <= SMALLEST_VPC_PREFIX:
        same_start = IPv4Network((block.network_address, LARGEST_VPC_PREFIX), strict=False)
        return _vpc_cidr_fault(
            vpc_cidr, f"has the size /{block.prefixlen}", f"Write for example {same_start}"
        )
    if vpc_cidr != str(block):
        return _vpc_cidr_fault(vpc_cidr, "is not written as the start of its block", f"Write {block}")
    return None


def zone_count_fault(zone_count: int) -> AddressFault | None:
    """Why the plan has no blocks for `zone_count` zones, or None where it has."""
    if 1 <= zone_count <= MAXIMUM_ZONES:
        return None
    return AddressFault(
        value=f"{zone_count} zones",
        problem="do not fit the address plan",
        allowed=f"1 to {MAXIMUM_ZONES} zones",
        fix="Add a zone to the list" if zone_count < 1 else "Remove zones from the end of the list",
    )


def _vpc_cidr_fault(vpc_cidr: str, problem: str, fix: str) -> AddressFault:
    return AddressFault(value=vpc_cidr or '""', problem=problem, allowed=_ALLOWED_VPC_CIDR, fix=fix)
