from ipaddress import IPv4Network, ip_network
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.address_plan import (
    DOCKER_BRIDGE,
    LARGEST_VPC_PREFIX,
    MAXIMUM_ZONES,
    PRIVATE_RANGES,
    SMALLEST_VPC_PREFIX,
    subnet_blocks,
    vpc_cidr_fault,
    zone_count_fault,
)

zone_counts = st.integers(min_value=1, max_value=MAXIMUM_ZONES)


@st.composite
def vpc_cidrs(draw: st.DrawFn) -> str:
    private_range = draw(st.sampled_from(PRIVATE_RANGES))
    address = draw(st.integers(int(private_range.network_address), int(private_range.broadcast_address)))
    prefix = draw(st.integers(LARGEST_VPC_PREFIX, SMALLEST_VPC_PREFIX))
    block = IPv4Network((address, prefix), strict=False)
    return "10.20.0.0/16" if block.overlaps(DOCKER_BRIDGE) else str(block)


@given(vpc_cidrs(), zone_counts)
def test_every_zone_has_one_public_and_one_private_block_inside_the_vpc(
    vpc_cidr: str, zone_count: int
) -> None:
    blocks = subnet_blocks(vpc_cidr, zone_count)

    assert (len(blocks.public), len(blocks.private)) == (zone_count, zone_count), (
        "a zone would have no subnet"
    )
    outside = [
        b for b in blocks.public + blocks.private if not IPv4Network(b).subnet_of(IPv4Network(vpc_cidr))
    ]
    assert outside == [], "AWS refuses a subnet outside its VPC"


@given(vpc_cidrs())
def test_no_two_subnets_share_an_address(vpc_cidr: str) -> None:
    blocks = subnet_blocks(vpc_cidr, MAXIMUM_ZONES)

    networks = [IPv4Network(block) for block in blocks.public + blocks.private]
    shared = [pair for pair in combinations(networks, 2) if pair[0].overlaps(pair[1])]
    assert shared == [], "AWS refuses overlapping subnets"


@given(vpc_cidrs(), st.integers(min_value=1, max_value=MAXIMUM_ZONES - 1))
def test_adding_a_zone_at_the_end_changes_no_existing_block(vpc_cidr: str, zone_count: int) -> None:
    before = subnet_blocks(vpc_cidr, zone_count)
    after = subnet_blocks(vpc_cidr, zone_count + 1)

    assert after.public[:zone_count] == before.public, "a public subnet in use would be replaced"
    assert after.private[:zone_count] == before.private, "a private subnet in use would be replaced"


@given(vpc_cidrs())
def test_subnets_are_large_enough_for_what_runs_in_them(vpc_cidr: str) -> None:
    blocks = subnet_blocks(vpc_cidr, MAXIMUM_ZONES)

    assert min(IPv4Network(b).num_addresses for b in blocks.private) >= 256, (
        "awsvpc tasks would run out of addresses"
    )
    assert max(IPv4Network(b).prefixlen for b in blocks.public) <= 27, "a load balancer needs a /27"


@given(vpc_cidrs())
def test_the_last_eighth_of_the_vpc_stays_free(vpc_cidr: str) -> None:
    blocks = subnet_blocks(vpc_cidr, MAXIMUM_ZONES)

    last_eighth = list(IPv4Network(vpc_cidr).subnets(prefixlen_diff=3))[-1]
    taken = [b for b in blocks.public + blocks.private if IPv4Network(b).overlaps(last_eighth)]
    assert taken == [], "no room is left for a network that the plan does not foresee"


def test_a_vpc_of_the_largest_size_has_exactly_these_blocks() -> None:
    blocks = subnet_blocks("10.20.0.0/16", 6)

    harm = "a changed block replaces the subnet and everything in it"
    assert blocks.public == (
        "10.20.0.0/22",
        "10.20.4.0/22",
        "10.20.8.0/22",
        "10.20.12.0/22",
        "10.20.16.0/22",
        "10.20.20.0/22",
    ), harm
    assert blocks.private == (
        "10.20.32.0/19",
        "10.20.64.0/19",
        "10.20.96.0/19",
        "10.20.128.0/19",
        "10.20.160.0/19",
        "10.20.192.0/19",
    ), harm


def test_a_vpc_of_the_smallest_size_has_exactly_these_blocks() -> None:
    blocks = subnet_blocks("192.168.16.0/20", 2)

    harm = "a changed block replaces the subnet and everything in it"
    assert blocks.public == ("192.168.16.0/26", "192.168.16.64/26"), harm
    assert blocks.private == ("192.168.18.0/23", "192.168.20.0/23"), harm


@pytest.mark.parametrize(
    ("vpc_cidr", "problem", "fix"),
    [
        ("", "is no IPv4 block", "Write a block such as 10.20.0.0/16"),
        ("ten", "is no IPv4 block", "Write a block such as 10.20.0.0/16"),
        ("2001:db8::/56", "is no IPv4 block", "Write a block such as 10.20.0.0/16"),
        ("10.20.0.0/33", "is no IPv4 block", "Write a block such as 10.20.0.0/16"),
        ("10.20.0.0", "has the size /32", "Write for example 10.20.0.0/16"),
        ("10.0.0.0/8", "has the size /8", "Write for example 10.0.0.0/16"),
        ("10.20.0.0/15", "has the size /15", "Write for example 10.20.0.0/16"),
        ("10.20.0.0/21", "has the size /21", "Write for example 10.20.0.0/16"),
        ("10.20.0.1/16", "is not written as the start of its block", "Write 10.20.0.0/16"),
        ("10.20.0.0/255.255.0.0", "is not written as the start of its block", "Write 10.20.0.0/16"),
        ("0.0.0.0/0", "is public address space", "Write a block such as 10.20.0.0/16"),
        ("8.8.0.0/8", "is public address space", "Write a block such as 10.20.0.0/16"),
        ("8.8.0.0/16", "is public address space", "Write a block such as 10.20.0.0/16"),
        ("172.32.0.0/16", "is public address space", "Write a block such as 10.20.0.0/16"),
        ("100.128.0.0/16", "is public address space", "Write a block such as 10.20.0.0/16"),
        ("172.17.64.0/20", "is in the block of Docker's bridge", "Write another block such as 172.20.0.0/16"),
    ],
)
def test_a_block_without_a_plan_is_refused_with_the_fix(vpc_cidr: str, problem: str, fix: str) -> None:
    fault = vpc_cidr_fault(vpc_cidr)

    assert fault is not None, "AWS or a container would find the fault, long after the preview"
    assert fault.value == (vpc_cidr or '""'), "the person would search for the wrong value"
    assert fault.problem.startswith(problem), "the person would not learn what is wrong"
    assert fault.allowed == (
        "an IPv4 block from /16 to /20 inside 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, "
        "but not in 172.17.0.0/16"
    ), "the person would not learn what is allowed"
    assert fault.fix == fix, "the person would not learn what to write"


@pytest.mark.parametrize("vpc_cidr", ["10.20.0.0/16", "172.31.240.0/20", "192.168.0.0/16", "100.127.0.0/18"])
def test_private_and_shared_address_space_is_accepted(vpc_cidr: str) -> None:
    assert vpc_cidr_fault(vpc_cidr) is None, "a block that works would be refused"


@given(st.sampled_from(PRIVATE_RANGES), st.integers(min_value=0), st.integers(min_value=0, max_value=32))
def test_the_block_that_a_fault_proposes_is_accepted(
    private_range: IPv4Network, offset: int, prefix: int
) -> None:
    address = private_range.network_address + offset % private_range.num_addresses
    fault = vpc_cidr_fault(f"{address}/{prefix}")

    proposed = fault.fix.split()[-1] if fault else str(address) + f"/{prefix}"
    assert vpc_cidr_fault(proposed) is None, "the person would follow the fix and meet the next fault"


@given(
    st.text() | st.ip_addresses().map(str) | st.ip_addresses().map(lambda address: str(ip_network(address)))
)
def test_any_text_as_vpc_block_gives_a_fault_and_no_traceback(text: str) -> None:
    fault = vpc_cidr_fault(text)

    assert fault is not None, "a text that is no block of the allowed size would be accepted"
    assert fault.fix, "the person would not learn what to write"


@pytest.mark.parametrize(
    ("zone_count", "fix"),
    [
        (-1, "Add a zone to the list"),
        (0, "Add a zone to the list"),
        (7, "Remove zones from the end of the list"),
    ],
)
def test_a_number_of_zones_outside_the_plan_is_refused_with_the_fix(zone_count: int, fix: str) -> None:
    fault = zone_count_fault(zone_count)

    assert fault is not None, "a zone would be left without a subnet"
    assert (fault.value, fault.allowed, fault.fix) == (f"{zone_count} zones", "1 to 6 zones", fix)


@pytest.mark.parametrize("zone_count", [1, 6])
def test_one_to_six_zones_are_accepted(zone_count: int) -> None:
    assert zone_count_fault(zone_count) is None, "a number of zones that works would be refused"


def test_one_error_names_a_bad_block_and_a_bad_number_of_zones_together() -> None:
    with pytest.raises(ValueError) as error:
        subnet_blocks("8.8.0.0/16", 7)

    assert str(error.value) == (
        "8.8.0.0/16 is public address space. Allowed: an IPv4 block from /16 to /20 inside 10.0.0.0/8, "
        "172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, but not in 172.17.0.0/16. "
        "Write a block such as 10.20.0.0/16. "
        "7 zones do not fit the address plan. Allowed: 1 to 6 zones. Remove zones from the end of the list."
    ), "the person would fix one fault and meet the other in the next run"
