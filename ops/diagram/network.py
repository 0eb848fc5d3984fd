"""Zones, subnets, ways out, endpoints, and what security groups let through. Pure."""

import itertools

from ops.capture.recording import RecordedResource, Recording
from ops.diagram.mermaid import DOTTED, Chart, Group
from ops.diagram.world import NAT_GATEWAY, SUBNET, VPC, World, class_of, key_of
from ops.openings import ALL, Direction, Opening, openings

ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
ROUTE = "aws:ec2/route:Route"
ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
ROUTE_TABLE = "aws:ec2/routeTable:RouteTable"
GATEWAYS = frozenset({NAT_GATEWAY, "aws:ec2/internetGateway:InternetGateway"})
INTERNET = "the internet"
ANYWHERE = frozenset({"0.0.0.0/0", "::/0"})
# What is placed in subnets and is no part of the network itself.
NETWORK_TYPES = frozenset({NAT_GATEWAY, ENDPOINT, ROUTE, ASSOCIATION, ROUTE_TABLE})


def network_diagram(recording: Recording) -> str:
    """Subnets with their routes out, and what every security group lets in and out.

    A dotted arrow leads from what is placed in subnets to them, and from an endpoint to its security group.
    """
    world = World(recording)
    chart = Chart(direction="TB")
    frames = {
        item.urn: chart.group(f"vpc {item.name}", f"{item.name}: {item.inputs.get('cidrBlock')}")
        for item in recording.of_type(VPC)
    }
    inside = next(iter(frames.values()), chart)
    _subnets(recording, inside)
    _ways_out(world, chart, inside)
    _endpoints(recording, chart, inside)
    _placed(world, chart)
    for opening in openings(recording):
        _opening(world, chart, opening)
    return chart.render()


def _subnets(recording: Recording, inside: Group) -> None:
    for subnet in recording.of_type(SUBNET):
        tier = _tier(subnet)
        zone, block = subnet.inputs.get("availabilityZone"), subnet.inputs.get("cidrBlock")
        inside.group(tier, tier).node(key_of(subnet), subnet.name, str(zone), str(block))


def _tier(subnet: RecordedResource) -> str:
    return "public subnets" if subnet.inputs.get("mapPublicIpOnLaunch") else "private subnets"


def _ways_out(world: World, chart: Chart, inside: Group) -> None:
    """Subnets to the gateway of their default route; a NAT gateway lies in a subnet itself."""
    subnets: dict[str, set[str]] = {}
    for item in world.recording.of_type(ASSOCIATION):
        for table in item.property_dependencies.get("routeTableId", ()):
            subnets.setdefault(table, set()).update(item.property_dependencies.get("subnetId", ()))
    for route in world.recording.of_type(ROUTE):
        gateways = [
            world.by_urn[urn]
            for urns in route.property_dependencies.values()
            for urn in urns
            if world.by_urn[urn].type in GATEWAYS
        ]
        block = route.inputs.get("destinationCidrBlock") or route.inputs.get("destinationIpv6CidrBlock")
        for table in route.property_dependencies.get("routeTableId", ()):
            for gateway, subnet in itertools.product(gateways, subnets.get(table, ())):
                inside.node(key_of(gateway), gateway.name, class_of(gateway), shape="round")
                chart.edge(key_of(world.by_urn[subnet]), key_of(gateway), str(block))
    for gateway in world.recording.of_type(NAT_GATEWAY):
        for urn in gateway.property_dependencies.get("subnetId", ()):
            chart.edge(key_of(gateway), key_of(world.by_urn[urn]), "lies in", line=DOTTED)


def _endpoints(recording: Recording, chart: Chart, inside: Group) -> None:
    for endpoint in recording.of_type(ENDPOINT):
        service = str(endpoint.inputs.get("serviceName")).split(".", 3)[-1]
        kind = str(endpoint.inputs.get("vpcEndpointType", "Gateway"))
        group = inside.group("endpoints", "endpoints of AWS services")
        group.node(f"endpoint {service}", service, kind)
        for urn in endpoint.property_dependencies.get("securityGroupIds", ()):
            chart.edge(f"endpoint {service}", f"group {urn.rpartition('::')[2]}", line=DOTTED)


def _placed(world: World, chart: Chart) -> None:
    """Components to the subnets that their resources are placed in: to the frame where it is all of a tier."""
    tiers: dict[str, set[str]] = {}
    for subnet in world.recording.of_type(SUBNET):
        tiers.setdefault(_tier(subnet), set()).add(subnet.urn)
    for owner, urns in sorted(_places(world).items()):
        chart.node(f"component {owner}", owner)
        for tier, members in sorted(tiers.items()):
            there = urns & members
            ends = [tier] if there == members else [key_of(world.by_urn[urn]) for urn in sorted(there)]
            for end in ends:
                chart.edge(f"component {owner}", end, line=DOTTED)


def _places(world: World) -> dict[str, set[str]]:
    """The subnets in which the resources of each component are placed."""
    found: dict[str, set[str]] = {}
    for resource in world.recording.resources:
        owner = world.top(resource)
        if resource.type in NETWORK_TYPES or owner is None:
            continue
        for urns in resource.property_dependencies.values():
            subnets = {urn for urn in urns if world.by_urn[urn].type == SUBNET}
            if subnets:
                found.setdefault(owner.name, set()).update(subnets)
    return found


def _opening(world: World, chart: Chart, opening: Opening) -> None:
    own = _group_node(world, chart, opening.security_group, opening.group_urn)
    peer = _peer(world, chart, opening)
    ports = "everything" if opening.protocol == ALL else f"{opening.protocol} {opening.ports()}"
    if opening.direction is Direction.IN:
        chart.edge(peer, own, ports)
    else:
        chart.edge(own, peer, ports)


def _group_node(world: World, chart: Chart, name: str, urn: str) -> str:
    owner = world.top(world.by_urn[urn]) if urn in world.by_urn else None
    frame = chart.group("security groups", "security groups")
    return frame.node(f"group {name}", name, owner.name if owner else "", shape="round")


def _peer(world: World, chart: Chart, opening: Opening) -> str:
    groups = {item.name: item.urn for item in world.recording.of_type("aws:ec2/securityGroup:SecurityGroup")}
    if opening.peer in groups:
        return _group_node(world, chart, opening.peer, groups[opening.peer])
    text = INTERNET if opening.peer in ANYWHERE else opening.peer
    return chart.node(f"peer {text}", text, shape="outside")
