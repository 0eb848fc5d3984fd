"""The children of `awsx.ec2.Vpc`, which a recording shows as one resource, listed from its inputs.

Read from the component's source, repository pulumi/pulumi-awsx at commit e60adf3c (2026-08-20, after version
3.8.0), folder awsx/ec2: `vpc.ts` (`initialize`: children, parents, tags, routes, endpoints;
`compareSubnetSpecs`: public first), `subnetDistributorNew.ts` (`getSubnetSpecsExplicit`: blocks by zone) and
`subnetNaming.ts` (names by position).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ops.capture.awsx_vpc_inputs import DNS_INPUTS, vpc_input_faults

VPC = "aws:ec2/vpc:Vpc"
INTERNET_GATEWAY = "aws:ec2/internetGateway:InternetGateway"
SUBNET = "aws:ec2/subnet:Subnet"
ROUTE_TABLE = "aws:ec2/routeTable:RouteTable"
ROUTE_TABLE_ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
ROUTE = "aws:ec2/route:Route"
EIP = "aws:ec2/eip:Eip"
NAT_GATEWAY = "aws:ec2/natGateway:NatGateway"
VPC_ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"


@dataclass(frozen=True)
class ChildKey:
    """One child: its type token and its name, which is unique among the children of that type."""

    type: str
    name: str


@dataclass(frozen=True)
class Reference:
    """The value that a property of a child has once the child exists."""

    child: ChildKey
    property: str = "id"


@dataclass(frozen=True, kw_only=True)
class Child:
    """One resource that the component registers: inputs in camelCase, `Reference`s to its siblings."""

    key: ChildKey
    parent: ChildKey | None  # None: the component itself
    inputs: Mapping[str, Any]

    @property
    def depends_on(self) -> tuple[ChildKey, ...]:
        """The parent, if it is a child (set so in `vpc.ts`), and the children that inputs refer to."""
        referred = [child for value in self.inputs.values() for child in children_in(value)]
        return tuple(dict.fromkeys([self.parent, *referred] if self.parent else referred))


@dataclass(frozen=True, kw_only=True)
class VpcExpansion:
    """The children, each after those it depends on, and the component's outputs.

    In the outputs a `Reference` stands for an id and a `ChildKey` for the resource itself.
    """

    children: tuple[Child, ...]
    outputs: Mapping[str, Any]


def children_in(value: Any) -> list[ChildKey]:
    """The children that a value of an input or output comes from."""
    if isinstance(value, Reference):
        return [value.child]
    if isinstance(value, ChildKey):
        return [value]
    return [child for item in value for child in children_in(item)] if isinstance(value, list) else []


def expand_vpc(name: str, inputs: Mapping[str, Any]) -> VpcExpansion:
    """What the component `name` makes of `inputs`, given as registered (camelCase).

    Covers explicit zones, a Public and a Private layer with explicit blocks, the three NAT strategies and
    gateway endpoints, Auto for the other strategies. Raises ValueError naming every input outside of that.
    """
    faults = vpc_input_faults(inputs)
    if faults:
        raise ValueError(f"The children of awsx.ec2.Vpc {name} cannot be listed: {'; '.join(faults)}.")

    children = [_vpc(name, inputs), _internet_gateway(name)]
    for position in range(len(inputs["availabilityZoneNames"])):
        children += _public_layer(name, inputs, position)
        children += _private_layer(name, inputs, position)
    route_tables = [Reference(child.key) for child in children if child.key.type == ROUTE_TABLE]
    children += [_gateway_endpoint(name, spec, route_tables) for spec in inputs.get("vpcEndpointSpecs") or ()]
    return VpcExpansion(children=tuple(children), outputs=_outputs(children, inputs))


def _vpc(name: str, inputs: Mapping[str, Any]) -> Child:
    dns = {key: inputs[key] for key in DNS_INPUTS if inputs.get(key) is not None}
    tags = {"Name": name}
    return Child(
        key=ChildKey(VPC, name), parent=None, inputs={"cidrBlock": inputs["cidrBlock"], **dns, "tags": tags}
    )


def _internet_gateway(name: str) -> Child:
    vpc = ChildKey(VPC, name)
    inputs = {"vpcId": Reference(vpc), "tags": {"Name": name}}
    return Child(key=ChildKey(INTERNET_GATEWAY, name), parent=vpc, inputs=inputs)


def _public_layer(name: str, inputs: Mapping[str, Any], position: int) -> list[Child]:
    children = _subnet_with_route_table(name, inputs, "Public", position)
    subnet = children[0].key
    strategy = inputs["natGateways"]["strategy"]
    if strategy == "OnePerAz" or (strategy == "Single" and position == 0):
        children += _nat_gateway(f"{name}-{position + 1}", subnet)
    internet_gateway = Reference(ChildKey(INTERNET_GATEWAY, name))
    return [*children, _default_route(subnet.name, {"gatewayId": internet_gateway})]


def _private_layer(name: str, inputs: Mapping[str, Any], position: int) -> list[Child]:
    children = _subnet_with_route_table(name, inputs, "Private", position)
    strategy = inputs["natGateways"]["strategy"]
    if strategy == "None":
        return children
    nat_gateway = ChildKey(NAT_GATEWAY, f"{name}-1" if strategy == "Single" else f"{name}-{position + 1}")
    return [*children, _default_route(children[0].key.name, {"natGatewayId": Reference(nat_gateway)})]


def _subnet_with_route_table(name: str, inputs: Mapping[str, Any], layer: str, position: int) -> list[Child]:
    spec = next(spec for spec in inputs["subnetSpecs"] if spec["type"] == layer)
    subnet_name = f"{name}-{layer.lower()}-{position + 1}"
    vpc, subnet = ChildKey(VPC, name), ChildKey(SUBNET, subnet_name)
    route_table = ChildKey(ROUTE_TABLE, subnet_name)
    tags = {"Name": subnet_name, "SubnetType": layer}
    subnet_inputs = {
        "vpcId": Reference(vpc),
        "availabilityZone": inputs["availabilityZoneNames"][position],
        "cidrBlock": spec["cidrBlocks"][position],
        "mapPublicIpOnLaunch": layer == "Public",
        "assignIpv6AddressOnCreation": False,
        "tags": tags,
    }
    association_inputs = {"routeTableId": Reference(route_table), "subnetId": Reference(subnet)}
    return [
        Child(key=subnet, parent=vpc, inputs=subnet_inputs),
        Child(key=route_table, parent=subnet, inputs={"vpcId": Reference(vpc), "tags": tags}),
        Child(
            key=ChildKey(ROUTE_TABLE_ASSOCIATION, subnet_name), parent=route_table, inputs=association_inputs
        ),
    ]


def _nat_gateway(nat_name: str, subnet: ChildKey) -> list[Child]:
    eip, tags = ChildKey(EIP, nat_name), {"Name": nat_name}
    inputs = {"subnetId": Reference(subnet), "allocationId": Reference(eip, "allocationId"), "tags": tags}
    return [
        Child(key=eip, parent=subnet, inputs={"tags": tags}),
        Child(key=ChildKey(NAT_GATEWAY, nat_name), parent=subnet, inputs=inputs),
    ]


def _default_route(subnet_name: str, target: Mapping[str, Reference]) -> Child:
    route_table = ChildKey(ROUTE_TABLE, subnet_name)
    inputs = {"routeTableId": Reference(route_table), "destinationCidrBlock": "0.0.0.0/0", **target}
    return Child(key=ChildKey(ROUTE, subnet_name), parent=route_table, inputs=inputs)


def _gateway_endpoint(name: str, spec: Mapping[str, Any], route_tables: list[Reference]) -> Child:
    vpc = ChildKey(VPC, name)
    inputs = {**spec, "vpcId": Reference(vpc), "routeTableIds": route_tables, "tags": {"Name": name}}
    # The component names an endpoint after its service alone, without the VPC's name.
    return Child(key=ChildKey(VPC_ENDPOINT, spec["serviceName"]), parent=vpc, inputs=inputs)


def _outputs(children: Sequence[Child], inputs: Mapping[str, Any]) -> dict[str, Any]:
    def of_type(type_token: str) -> list[ChildKey]:
        return [child.key for child in children if child.key.type == type_token]

    subnets = [child for child in children if child.key.type == SUBNET]
    public = [child.key for child in subnets if child.inputs["mapPublicIpOnLaunch"]]
    private = [child.key for child in subnets if not child.inputs["mapPublicIpOnLaunch"]]
    return {
        "vpc": children[0].key,
        "vpcId": Reference(children[0].key),
        "internetGateway": of_type(INTERNET_GATEWAY)[0],
        "subnets": of_type(SUBNET),
        "publicSubnets": public,
        "publicSubnetIds": [Reference(subnet) for subnet in public],
        "privateSubnets": private,
        "privateSubnetIds": [Reference(subnet) for subnet in private],
        "isolatedSubnets": [],
        "isolatedSubnetIds": [],
        "subnetLayout": [dict(spec) for spec in inputs["subnetSpecs"]],
        "routeTables": of_type(ROUTE_TABLE),
        "routeTableAssociations": of_type(ROUTE_TABLE_ASSOCIATION),
        "routes": of_type(ROUTE),
        "natGateways": of_type(NAT_GATEWAY),
        "eips": of_type(EIP),
        "vpcEndpoints": of_type(VPC_ENDPOINT),
    }
