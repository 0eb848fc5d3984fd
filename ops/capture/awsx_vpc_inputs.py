"""Which inputs of `awsx.ec2.Vpc` the list of its children covers; everything else is refused."""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Network
from itertools import combinations
from typing import Any

DNS_INPUTS = ("enableDnsHostnames", "enableDnsSupport")

_STRATEGIES = ("subnetStrategy", "vpcEndpointStrategy")
_OTHER_INPUTS = ("availabilityZoneNames", "cidrBlock", "natGateways", "subnetSpecs", "vpcEndpointSpecs")
_NAT_GATEWAYS = [{"strategy": strategy} for strategy in ("None", "Single", "OnePerAz")]


def vpc_input_faults(inputs: Mapping[str, Any]) -> list[str]:
    """What is not covered in `inputs`, given as registered (camelCase): one clause per fault."""
    given = {key: value for key, value in inputs.items() if value is not None}
    zones = given.get("availabilityZoneNames", [])
    return [
        *_plain_faults(given),
        *_subnet_faults(given.get("subnetSpecs", []), len(zones)),
        *_endpoint_faults(given.get("vpcEndpointSpecs", [])),
    ]


def _plain_faults(inputs: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted(inputs.keys() - {*_OTHER_INPUTS, *_STRATEGIES, *DNS_INPUTS}):
        yield f"{key} is an input that is not covered"
    zones = inputs.get("availabilityZoneNames", [])
    if not zones or len(set(zones)) != len(zones):
        yield f"availabilityZoneNames is {zones}, but must name at least one zone, and each once"
    if "cidrBlock" not in inputs:
        yield "cidrBlock is not given"
    for key in _STRATEGIES:
        if inputs.get(key) != "Auto":
            yield f"{key} is {inputs.get(key)}, but must be Auto"
    nat_gateways = inputs.get("natGateways")
    if nat_gateways not in _NAT_GATEWAYS:
        yield f"natGateways is {nat_gateways}, but must be a strategy alone: None, Single or OnePerAz"


def _subnet_faults(specs: Sequence[Mapping[str, Any]], zone_count: int) -> Iterator[str]:
    if sorted(str(spec.get("type")) for spec in specs) != ["Private", "Public"]:
        yield "subnetSpecs must be one of type Public and one of type Private"
    for spec in specs:
        if spec.keys() != {"type", "name", "cidrBlocks"} or spec["name"] != str(spec["type"]).lower():
            yield f"subnetSpecs has {dict(spec)}, but must give type, its lower case as name, and cidrBlocks"
        elif len(spec["cidrBlocks"]) != zone_count:
            yield f"subnetSpecs has {len(spec['cidrBlocks'])} {spec['name']} blocks for {zone_count} zones"
    blocks = [IPv4Network(block) for spec in specs for block in spec.get("cidrBlocks", ())]
    yield from (f"the subnets {a} and {b} overlap" for a, b in combinations(blocks, 2) if a.overlaps(b))


def _endpoint_faults(specs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for spec in specs:
        if spec.keys() != {"serviceName", "vpcEndpointType"} or spec["vpcEndpointType"] != "Gateway":
            yield f"vpcEndpointSpecs has {dict(spec)}, but must give serviceName and vpcEndpointType Gateway"
