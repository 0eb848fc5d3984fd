"""Rules over the network's configuration keys, and what cannot run without NAT. Pure."""

from collections import Counter
from collections.abc import Iterator

from components.address_plan import MAXIMUM_ZONES, vpc_cidr_fault
from components.config_sections import NetworkConfig, Sections
from components.settings import Fault, fault

# An Application Load Balancer needs subnets in two zones.
# https://docs.aws.amazon.com/elasticloadbalancing/latest/application/application-load-balancers.html
BALANCER_ZONES = 2
# What the functions of this platform call besides S3, which has a gateway endpoint, and the collection, which has its own.
FUNCTION_ENDPOINTS = ("bedrock-runtime",)
# Ingestion sends the parts of large documents to its queue.
INGESTION_ENDPOINTS = (*FUNCTION_ENDPOINTS, "sqs")


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
        near = region or "eu-central-1"
        yield fault("availabilityZones", (), "a network of our own needs its zones",
                    f"list zones such as {near}a and {near}b, or set existingVpcId", "existingVpcId")  # fmt: skip
    if len(zones) > MAXIMUM_ZONES:
        yield fault("availabilityZones", ", ".join(zones), f"the address plan holds at most {MAXIMUM_ZONES} zones",
                    "remove zones from the end of the list")  # fmt: skip
    yield from _zone_faults("availabilityZones", zones, region)
    if network.existing_subnets:
        yield fault("existingSubnets", ", ".join(subnet.subnet_id for subnet in network.existing_subnets),
                    "belongs to an existing VPC", "set existingVpcId, or remove existingSubnets", "existingVpcId")  # fmt: skip
    found = vpc_cidr_fault(network.vpc_cidr)
    if found:
        yield fault("vpcCidr", found.value, f"{found.problem}; allowed is {found.allowed}", _uncapitalized(found.fix), "existingVpcId")  # fmt: skip


def _uncapitalized(text: str) -> str:
    return text[:1].lower() + text[1:]


def _zone_faults(key: str, zones: tuple[str, ...], region: str) -> Iterator[Fault]:
    strangers = [zone for zone in zones if zone[:-1] != region]
    if strangers:
        yield fault(key, ", ".join(strangers), f"must be zones of {region}",
                    f"use zones of {region}, or change region", "region")  # fmt: skip


def _existing_rules(sections: Sections) -> Iterator[Fault]:
    network = sections.network
    if network.availability_zones:
        yield fault("availabilityZones", ", ".join(network.availability_zones), "an existing VPC brings its zones with its subnets",
                    "remove it, or existingVpcId")  # fmt: skip
    if not network.existing_subnets:
        yield fault("existingSubnets", (), "an existing VPC needs the subnets to use",
                    "list subnets, each with id, zone and tier")  # fmt: skip
    yield from _zone_faults("existingSubnets", zones_of(network), sections.general.region)
    for subnet_id, count in Counter(subnet.subnet_id for subnet in network.existing_subnets).items():
        if count > 1:
            yield fault("existingSubnets", subnet_id, "is listed twice", "list each subnet once")
    if not network.existing_vpc_cidr:
        yield fault("existingVpcCidr", "", "callers are let in from an existing VPC by its IPv4 block",
                    "write the block that the VPC has, such as 10.0.0.0/16")  # fmt: skip
    if network.flow_logs:
        yield fault("flowLogs", True, "an existing VPC's flow logs belong to its owner",
                    "set it to false, or remove existingVpcId")  # fmt: skip


def _balancer_rules(sections: Sections) -> Iterator[Fault]:
    """The balancer sits where the workloads do, or in public subnets when it is public."""
    network, service = sections.network, sections.rag_service
    zones = zones_of(network)
    if not service.enabled or not zones:
        return
    if not network.existing_vpc_id:
        if len(set(zones)) < BALANCER_ZONES:
            yield fault("availabilityZones", ", ".join(zones), "the RAG service's load balancer needs two zones",
                        "add a zone, or set ragService to false", "ragService")  # fmt: skip
        return
    private = service.exposure == "internal" and reaches_internet_privately(network)
    tier = "private" if private else "public"
    if len({subnet.zone for subnet in network.existing_subnets if subnet.tier == tier}) < BALANCER_ZONES:
        yield fault("existingSubnets", ", ".join(subnet.subnet_id for subnet in network.existing_subnets),
                    f"the RAG service's load balancer needs {tier} subnets in two zones",
                    f"add a {tier} subnet in another zone, or set ragService to false",
                    "ragService", "exposure")  # fmt: skip


def _without_nat_rules(sections: Sections) -> Iterator[Fault]:
    """A public address is the only way out then: a Lambda in a VPC and a node with several interfaces get none.

    https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc-internet.html
    """
    existing = bool(sections.network.existing_vpc_id)
    remedy = "add private subnets to existingSubnets" if existing else "set natGateways to single"
    functions = sections.orchestrator.enabled or sections.ingestion.enabled
    called = INGESTION_ENDPOINTS if sections.ingestion.enabled else FUNCTION_ENDPOINTS
    missing = [name for name in called if name not in sections.network.interface_endpoints]
    if sections.vector_store.enabled and sections.vector_store.private_endpoint and functions and missing:
        yield fault("vectorPrivateEndpoint", True, f"puts the functions into a network without NAT, from where they cannot reach {', '.join(missing)}",
                    f"add {', '.join(missing)} to interfaceEndpoints, or {remedy}",
                    "existingVpcId", "existingSubnets", "interfaceEndpoints", "vectorStore", "orchestrator", "ingestion")  # fmt: skip
    training = sections.training
    if training.enabled and training.nodes > 1:
        # https://docs.aws.amazon.com/batch/latest/userguide/mnp-ce.html
        yield fault("trainingNodes", training.nodes, "containers of a multi-node job get no public address and cannot work without NAT",
                    f"{remedy}, or set trainingNodes to 1", "existingVpcId", "existingSubnets")  # fmt: skip
