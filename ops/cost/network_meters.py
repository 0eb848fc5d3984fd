"""Networks and what enters them: gateways, addresses, endpoints and load balancers."""

from collections.abc import Iterator

from ops.capture.recording import RecordedResource
from ops.cost.charge import Free, Item, Meter, Rates, Unknown

NAT_GATEWAY = "aws:ec2/natGateway:NatGateway"
# New connections of a second that one capacity unit holds; it also holds a GB in an hour. A question is one connection.
# https://aws.amazon.com/elasticloadbalancing/pricing/
CONNECTIONS_PER_UNIT_HOUR = 25 * 3600
GB_PER_QUESTION = 0.00002
IN_NO_ZONE = "it names no subnets, and costs by the zone"


def _zones(resource: RecordedResource, *keys: str) -> int:
    """In how many zones something stands: as many as it names subnets; 0 where it names none that are known."""
    return max(
        len(value) if isinstance(value := resource.inputs.get(key), list | tuple) else 0 for key in keys
    )


def nat_gateway(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    count = len(rates.index.of_type(NAT_GATEWAY))
    yield rates.always("VPC", "NAT gateway")
    yield rates.charge("VPC", "NAT gateway data", 0, rates.usage.nat_gb / count)


def public_address(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    yield rates.always("VPC", "public IPv4 address")


def vpc_endpoint(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    kind = resource.inputs.get("vpcEndpointType", "Gateway")
    if kind == "Gateway":
        yield Free("gateway endpoints cost nothing, by the hour or by the GB")
    elif kind == "Interface":
        yield from _interface_endpoint(resource, rates)
    else:
        yield Unknown(f"no meter for an endpoint of type {kind}")


def _interface_endpoint(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    zones = _zones(resource, "subnetIds")
    if not zones:
        yield Unknown(IN_NO_ZONE)
        return
    yield rates.always("VPC", "interface endpoint", zones, f"interface endpoint in {zones} zones")
    yield rates.charge("VPC", "interface endpoint data", 0, rates.usage.endpoint_gb)


def collection_endpoint(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    """OpenSearch Serverless makes its endpoint of PrivateLink, and AWS bills it as one.

    https://docs.aws.amazon.com/opensearch-service/latest/developerguide/serverless-vpc.html
    """
    yield from _interface_endpoint(resource, rates)


def internet_gateway(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    """It costs nothing itself; what leaves through it does."""
    yield rates.charge("VPC", "data out to the internet", 0, rates.usage.internet_gb)


def load_balancer(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    if resource.inputs.get("loadBalancerType", "application") != "application":
        yield Unknown("no meter for a load balancer that is no application load balancer")
        return
    yield rates.always("ELB", "application load balancer")
    if not resource.inputs.get("internal"):
        zones = _zones(resource, "subnets", "subnetMappings")
        yield (
            rates.always("VPC", "public IPv4 address", zones, f"public IPv4 address in {zones} zones")
            if zones
            else Unknown(IN_NO_ZONE)
        )
    questions = rates.usage.api_questions
    units = max(questions / CONNECTIONS_PER_UNIT_HOUR, questions * GB_PER_QUESTION)
    yield rates.charge("ELB", "capacity unit", 0, units)


METERS: dict[str, Meter] = {
    NAT_GATEWAY: nat_gateway,
    "aws:ec2/eip:Eip": public_address,
    "aws:ec2/internetGateway:InternetGateway": internet_gateway,
    "aws:ec2/vpcEndpoint:VpcEndpoint": vpc_endpoint,
    "aws:lb/loadBalancer:LoadBalancer": load_balancer,
    "aws:opensearch/serverlessVpcEndpoint:ServerlessVpcEndpoint": collection_endpoint,
}
