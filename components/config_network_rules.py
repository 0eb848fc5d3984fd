"""Rules over the network's configuration keys, and what cannot run without NAT. Pure."""

from collections import Counter
from collections.abc import Iterator

from components.accelerators import find
from components.address_plan import MAXIMUM_ZONES, vpc_cidr_fault
from components.config_sections import NetworkConfig, Sections
from components.settings import Fault, fault

# An Application Load Balancer needs subnets in two zones.
# https://docs.aws.amazon.com/elasticloadbalancing/latest/application/application-load-balancers.html
BALANCER_ZONES = 2
# What the functions of this platform call besides S3, which has a gateway endpoint, and the collection, which has its own.
FUNCTION_ENDPOINTS = ("bedrock-runtime",)


def network_rules(sections: Sections) -> Iterator[Fault]:
    if sections.network.existing_vpc_id:
        yield from _existing_rules(sections)
    else:
        yield from _own_rules(sections)
    yield from _balancer_rules(sections)
    if not reaches_internet_privately(sections.network):
        yield from _without_nat_rules(sections)


def zones_of(network: NetworkConfig) -> tuple[str, ...]:
    """The zones in use, in the order of the configuration."""
    if not network.existing_vpc_id:
        return network.availability_zones
    return tuple(dict.fromkeys(subnet.zone for subnet in network.existing_subnets))


def reaches_internet_privately(network: NetworkConfig) -> bool:
    """Whether workloads sit in private subnets that reach the internet; otherwise they sit in public ones."""
    if network.existing_vpc_id:
        return any(subnet.tier == "private" for subnet in network.existing_subnets)
    return network.nat_gateways != "none"


def _own_rules(sections: Sections) -> Iterator[Fault]:
    network, region = sections.network, sections.general.region
    zones = network.availability_zones
    if not zones:
        yield fault("availabilityZones", (), "a network of our own needs its zones",
                    f"list zones such as {region}a and {region}b, or give existingVpcId", "existingVpcId")  # fmt: skip
    if len(zones) > MAXIMUM_ZONES:
        yield fault("availabilityZones", len(zones), f"the address plan holds at most {MAXIMUM_ZONES} zones",
                    "remove zones from the end of the list")  # fmt: skip
    yield from _zone_faults("availabilityZones", zones, region)
    if network.existing_subnets:
        yield fault("existingSubnets", len(network.existing_subnets), "belongs to an existing VPC",
                    "set existingVpcId, or remove existingSubnets", "existingVpcId")  # fmt: skip
    found = vpc_cidr_fault(network.vpc_cidr)
    if found:
        yield fault("vpcCidr", network.vpc_cidr, f"{found.problem}; allowed is {found.allowed}", found.fix)


def _zone_faults(key: str, zones: tuple[str, ...], region: str) -> Iterator[Fault]:
    for zone, count in Counter(zones).items():
        if count > 1:
            yield fault(key, zone, "is listed twice", "list each zone once")
        if zone[:-1] != region:
            yield fault(
                key, zone, f"is not a zone of {region}", f"use zones of {region}, or change region", "region"
            )


def _existing_rules(sections: Sections) -> Iterator[Fault]:
    network = sections.network
    if network.availability_zones:
        yield fault("availabilityZones", ", ".join(network.availability_zones), "an existing VPC brings its zones with its subnets",
                    "remove it, or existingVpcId", "existingVpcId")  # fmt: skip
    if not network.existing_subnets:
        yield fault("existingSubnets", (), "an existing VPC needs the subnets to use",
                    "list subnets, each with id, zone and tier", "existingVpcId")  # fmt: skip
    yield from _zone_faults("existingSubnets", zones_of(network), sections.general.region)
    for subnet_id, count in Counter(subnet.subnet_id for subnet in network.existing_subnets).items():
        if count > 1:
            yield fault("existingSubnets", subnet_id, "is listed twice", "list each subnet once")
    if network.flow_logs:
        yield fault("flowLogs", True, "an existing VPC's flow logs belong to its owner",
                    "set it to false, or remove existingVpcId", "existingVpcId")  # fmt: skip


def _balancer_rules(sections: Sections) -> Iterator[Fault]:
    network, service = sections.network, sections.rag_service
    if not service.enabled:
        return
    key = "existingSubnets" if network.existing_vpc_id else "availabilityZones"
    zones = zones_of(network)
    if len(set(zones)) < BALANCER_ZONES:
        yield fault(key, ", ".join(zones), "the RAG service's load balancer needs two zones",
                    "add a zone, or set ragService to false", "ragService")  # fmt: skip
    public = {subnet.zone for subnet in network.existing_subnets if subnet.tier == "public"}
    if network.existing_vpc_id and service.exposure == "public" and len(public) < BALANCER_ZONES:
        yield fault("existingSubnets", ", ".join(sorted(public)), "a public load balancer needs public subnets in two zones",
                    "add public subnets, or set exposure to internal", "exposure")  # fmt: skip


def _without_nat_rules(sections: Sections) -> Iterator[Fault]:
    """A public address is the only way out then: a Lambda in a VPC and a node with several interfaces get none.

    https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc-internet.html
    """
    key = "existingSubnets" if sections.network.existing_vpc_id else "natGateways"
    functions = sections.orchestrator.enabled or sections.ingestion.enabled
    missing = [name for name in FUNCTION_ENDPOINTS if name not in sections.network.interface_endpoints]
    if sections.vector_store.enabled and sections.vector_store.private_endpoint and functions and missing:
        yield fault("vectorPrivateEndpoint", True, f"puts the functions inside a network without NAT, from where they cannot reach {', '.join(missing)}",
                    f"add {', '.join(missing)} to interfaceEndpoints, or set natGateways to single", key, "interfaceEndpoints")  # fmt: skip
    training = sections.training
    if not training.enabled or training.nodes == 1:
        return
    for name in training.instance_types:
        accelerator = find(name)
        if accelerator and accelerator.efa_interfaces > 1:
            yield fault("trainingNodes", training.nodes, f"a node with several EFA interfaces ({name}) gets no public address and cannot work without NAT",
                        "set natGateways to single, or trainingNodes to 1", key, "trainingInstanceTypes")  # fmt: skip
