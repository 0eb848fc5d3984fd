from typing import Any

import pytest

from ops.capture.awsx_vpc import (
    EIP,
    INTERNET_GATEWAY,
    NAT_GATEWAY,
    ROUTE,
    ROUTE_TABLE,
    ROUTE_TABLE_ASSOCIATION,
    SUBNET,
    VPC,
    VPC_ENDPOINT,
    Child,
    ChildKey,
    Reference,
    VpcExpansion,
    expand_vpc,
)

S3 = "com.amazonaws.eu-west-1.s3"
DYNAMODB = "com.amazonaws.eu-west-1.dynamodb"


def vpc_inputs(zone_count: int = 2, strategy: str = "None", **changes: Any) -> dict[str, Any]:
    public = [f"10.20.{4 * position}.0/22" for position in range(zone_count)]
    private = [f"10.20.{32 + 32 * position}.0/19" for position in range(zone_count)]
    return {
        "availabilityZoneNames": [f"eu-west-1{letter}" for letter in "abcdef"[:zone_count]],
        "cidrBlock": "10.20.0.0/16",
        "enableDnsHostnames": True,
        "enableDnsSupport": True,
        "natGateways": {"strategy": strategy},
        "subnetSpecs": [
            {"type": "Public", "name": "public", "cidrBlocks": public},
            {"type": "Private", "name": "private", "cidrBlocks": private},
        ],
        "subnetStrategy": "Auto",
        "vpcEndpointSpecs": [{"serviceName": name, "vpcEndpointType": "Gateway"} for name in (S3, DYNAMODB)],
        "vpcEndpointStrategy": "Auto",
    } | changes


def expansion(zone_count: int = 2, strategy: str = "None") -> VpcExpansion:
    return expand_vpc("net", vpc_inputs(zone_count, strategy))


def by_key(expanded: VpcExpansion) -> dict[ChildKey, Child]:
    return {child.key: child for child in expanded.children}


# The counts and every name, parent, input, dependency and output were compared with a recording of the
# component's own source (commit e60adf3c) for one to three zones and each NAT strategy.
@pytest.mark.parametrize(
    ("zone_count", "strategy", "count"),
    [
        (1, "None", 11),
        (1, "Single", 14),
        (1, "OnePerAz", 14),
        (2, "None", 18),
        (2, "Single", 22),
        (2, "OnePerAz", 24),
        (3, "None", 25),
        (3, "Single", 30),
        (3, "OnePerAz", 34),
    ],
)
def test_the_component_has_as_many_children_as_the_real_one(
    zone_count: int, strategy: str, count: int
) -> None:
    children = expansion(zone_count, strategy).children

    assert len(children) == count, (
        "the preview would show another number of resources than the engine creates"
    )
    assert len({child.key for child in children}) == count, "two resources would share one URN"


def test_children_have_the_types_names_and_parents_of_the_real_component() -> None:
    vpc = ChildKey(VPC, "net")
    public = [ChildKey(SUBNET, f"net-public-{number}") for number in (1, 2)]
    private = [ChildKey(SUBNET, f"net-private-{number}") for number in (1, 2)]

    def layer(
        subnet: ChildKey, nat_gateway: list[tuple[ChildKey, ChildKey]]
    ) -> list[tuple[ChildKey, ChildKey]]:
        route_table = ChildKey(ROUTE_TABLE, subnet.name)
        return [
            (subnet, vpc),
            (route_table, subnet),
            (ChildKey(ROUTE_TABLE_ASSOCIATION, subnet.name), route_table),
            *nat_gateway,
            (ChildKey(ROUTE, subnet.name), route_table),
        ]

    children = [(child.key, child.parent) for child in expansion(2, "Single").children]

    assert children == [
        (vpc, None),
        (ChildKey(INTERNET_GATEWAY, "net"), vpc),
        *layer(public[0], [(ChildKey(EIP, "net-1"), public[0]), (ChildKey(NAT_GATEWAY, "net-1"), public[0])]),
        *layer(private[0], []),
        *layer(public[1], []),
        *layer(private[1], []),
        (ChildKey(VPC_ENDPOINT, S3), vpc),
        (ChildKey(VPC_ENDPOINT, DYNAMODB), vpc),
    ], "the URNs would differ from the engine's"


@pytest.mark.parametrize("strategy", ["None", "Single", "OnePerAz"])
def test_every_child_comes_after_what_it_depends_on(strategy: str) -> None:
    created: set[ChildKey] = set()
    for child in expansion(3, strategy).children:
        missing = [key for key in child.depends_on if key not in created]
        assert missing == [], f"{child.key} would be created before what it needs"
        created.add(child.key)


def test_a_child_depends_on_its_parent_and_on_what_its_inputs_name() -> None:
    children = by_key(expansion(1, "Single"))
    tables = [ChildKey(ROUTE_TABLE, f"net-{layer}-1") for layer in ("public", "private")]

    harm = "the recorded dependencies would differ from the engine's"
    assert children[ChildKey(VPC, "net")].depends_on == (), harm
    assert children[ChildKey(EIP, "net-1")].depends_on == (ChildKey(SUBNET, "net-public-1"),), harm
    assert children[ChildKey(ROUTE_TABLE_ASSOCIATION, "net-public-1")].depends_on == (
        tables[0],
        ChildKey(SUBNET, "net-public-1"),
    ), harm
    assert children[ChildKey(VPC_ENDPOINT, S3)].depends_on == (ChildKey(VPC, "net"), *tables), harm


def test_the_vpc_and_its_subnets_carry_the_given_blocks_zones_and_name_tags() -> None:
    children = by_key(expansion())
    vpc = ChildKey(VPC, "net")

    harm = "the preview would show other settings than the engine applies"
    assert children[vpc].inputs == {
        "cidrBlock": "10.20.0.0/16",
        "enableDnsHostnames": True,
        "enableDnsSupport": True,
        "tags": {"Name": "net"},
    }, harm
    assert children[ChildKey(INTERNET_GATEWAY, "net")].inputs == {
        "vpcId": Reference(vpc),
        "tags": {"Name": "net"},
    }, harm
    assert children[ChildKey(SUBNET, "net-public-2")].inputs == {
        "vpcId": Reference(vpc),
        "availabilityZone": "eu-west-1b",
        "cidrBlock": "10.20.4.0/22",
        "mapPublicIpOnLaunch": True,
        "assignIpv6AddressOnCreation": False,
        "tags": {"Name": "net-public-2", "SubnetType": "Public"},
    }, harm
    assert children[ChildKey(SUBNET, "net-private-2")].inputs == {
        "vpcId": Reference(vpc),
        "availabilityZone": "eu-west-1b",
        "cidrBlock": "10.20.64.0/19",
        "mapPublicIpOnLaunch": False,
        "assignIpv6AddressOnCreation": False,
        "tags": {"Name": "net-private-2", "SubnetType": "Private"},
    }, harm
    assert children[ChildKey(ROUTE_TABLE, "net-private-2")].inputs == {
        "vpcId": Reference(vpc),
        "tags": {"Name": "net-private-2", "SubnetType": "Private"},
    }, harm


def test_a_dns_setting_that_is_not_given_is_left_to_aws() -> None:
    expanded = expand_vpc("net", vpc_inputs(enableDnsHostnames=None, enableDnsSupport=None))

    assert expanded.children[0].inputs.keys() == {"cidrBlock", "tags"}, (
        "an input would appear that nobody gave"
    )


def test_public_subnets_reach_the_internet_through_the_internet_gateway() -> None:
    route = by_key(expansion())[ChildKey(ROUTE, "net-public-1")]

    assert route.inputs == {
        "routeTableId": Reference(ChildKey(ROUTE_TABLE, "net-public-1")),
        "destinationCidrBlock": "0.0.0.0/0",
        "gatewayId": Reference(ChildKey(INTERNET_GATEWAY, "net")),
    }, "the preview would show a public subnet without its way out"


@pytest.mark.parametrize(
    ("strategy", "nat_of_private_1", "nat_of_private_2"),
    [("Single", "net-1", "net-1"), ("OnePerAz", "net-1", "net-2")],
)
def test_private_subnets_leave_through_the_nat_gateway_of_the_strategy(
    strategy: str, nat_of_private_1: str, nat_of_private_2: str
) -> None:
    children = by_key(expansion(2, strategy))

    targets = [children[ChildKey(ROUTE, f"net-private-{n}")].inputs["natGatewayId"] for n in (1, 2)]
    expected = [Reference(ChildKey(NAT_GATEWAY, name)) for name in (nat_of_private_1, nat_of_private_2)]
    assert targets == expected, "a zone would be shown with another way out than it has"


def test_a_nat_gateway_stands_in_a_public_subnet_with_its_own_address() -> None:
    children = by_key(expansion(2, "OnePerAz"))

    harm = "the cost and the picture of the NAT gateway would be wrong"
    assert children[ChildKey(EIP, "net-2")].inputs == {"tags": {"Name": "net-2"}}, harm
    assert children[ChildKey(NAT_GATEWAY, "net-2")].inputs == {
        "subnetId": Reference(ChildKey(SUBNET, "net-public-2")),
        "allocationId": Reference(ChildKey(EIP, "net-2"), "allocationId"),
        "tags": {"Name": "net-2"},
    }, harm


def test_without_nat_private_subnets_exist_and_have_no_way_out() -> None:
    keys = by_key(expansion(2, "None")).keys()

    assert ChildKey(SUBNET, "net-private-1") in keys, "a stack without NAT would lose its private subnets"
    assert ChildKey(ROUTE, "net-private-1") not in keys, (
        "a route would point to a gateway that does not exist"
    )


@pytest.mark.parametrize("strategy", ["Single", "OnePerAz"])
def test_switching_nat_on_and_off_only_adds_and_removes_nat_gateways_and_their_routes(strategy: str) -> None:
    without, with_nat = by_key(expansion(2, "None")), by_key(expansion(2, strategy))

    assert {key: with_nat.get(key) for key in without} == without, (
        "a stack that sleeps would replace its network"
    )
    assert {key.type for key in with_nat.keys() - without.keys()} == {EIP, NAT_GATEWAY, ROUTE}, (
        "a stack that sleeps would lose more than its NAT gateways"
    )


def test_gateway_endpoints_serve_every_route_table_of_the_vpc() -> None:
    children = by_key(expansion(2))
    names = ("net-public-1", "net-private-1", "net-public-2", "net-private-2")

    assert children[ChildKey(VPC_ENDPOINT, S3)].inputs == {
        "serviceName": S3,
        "vpcEndpointType": "Gateway",
        "vpcId": Reference(ChildKey(VPC, "net")),
        "routeTableIds": [Reference(ChildKey(ROUTE_TABLE, name)) for name in names],
        "tags": {"Name": "net"},
    }, "traffic to S3 would be shown through the NAT gateway, and cost accordingly"


@pytest.mark.parametrize("strategy", ["None", "Single", "OnePerAz"])
def test_a_third_zone_changes_no_existing_child_but_the_route_tables_of_the_endpoints(strategy: str) -> None:
    two, three = by_key(expansion(2, strategy)), by_key(expansion(3, strategy))

    changed = {key for key, child in two.items() if three.get(key) != child}
    assert changed == {ChildKey(VPC_ENDPOINT, S3), ChildKey(VPC_ENDPOINT, DYNAMODB)}, (
        "adding a zone would touch a subnet in use"
    )
    for key in changed:
        before, after = dict(two[key].inputs), dict(three[key].inputs)
        assert after.pop("routeTableIds")[:4] == before.pop("routeTableIds"), "a route table would be dropped"
        assert after == before, "more than the route tables of an endpoint would change"


def test_outputs_name_the_children_as_the_real_component_does() -> None:
    public = [ChildKey(SUBNET, "net-public-1"), ChildKey(SUBNET, "net-public-2")]
    private = [ChildKey(SUBNET, "net-private-1"), ChildKey(SUBNET, "net-private-2")]
    names = ["net-public-1", "net-private-1", "net-public-2", "net-private-2"]

    assert expansion(2, "OnePerAz").outputs == {
        "vpc": ChildKey(VPC, "net"),
        "vpcId": Reference(ChildKey(VPC, "net")),
        "internetGateway": ChildKey(INTERNET_GATEWAY, "net"),
        "subnets": [ChildKey(SUBNET, name) for name in names],
        "publicSubnets": public,
        "publicSubnetIds": [Reference(subnet) for subnet in public],
        "privateSubnets": private,
        "privateSubnetIds": [Reference(subnet) for subnet in private],
        "isolatedSubnets": [],
        "isolatedSubnetIds": [],
        "subnetLayout": vpc_inputs()["subnetSpecs"],
        "routeTables": [ChildKey(ROUTE_TABLE, name) for name in names],
        "routeTableAssociations": [ChildKey(ROUTE_TABLE_ASSOCIATION, name) for name in names],
        "routes": [ChildKey(ROUTE, name) for name in names],
        "natGateways": [ChildKey(NAT_GATEWAY, "net-1"), ChildKey(NAT_GATEWAY, "net-2")],
        "eips": [ChildKey(EIP, "net-1"), ChildKey(EIP, "net-2")],
        "vpcEndpoints": [ChildKey(VPC_ENDPOINT, S3), ChildKey(VPC_ENDPOINT, DYNAMODB)],
    }, "a component that reads an output would get a value that the engine does not give"


def test_a_vpc_without_endpoint_specs_has_no_endpoints() -> None:
    expanded = expand_vpc("net", vpc_inputs(vpcEndpointSpecs=None))

    assert expanded.outputs["vpcEndpoints"] == [], "an endpoint would appear that nobody asked for"
    assert len(expanded.children) == 16, "only the two endpoints were left out"
