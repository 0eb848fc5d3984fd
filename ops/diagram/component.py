"""The components of the platform and what passes between them: the picture of the README. Pure."""

from ops.capture.recording import RecordedResource, Recording
from ops.diagram.flows import NOTIFICATION, acts, entries, events
from ops.diagram.mermaid import DOTTED, Chart
from ops.diagram.words import service_of
from ops.diagram.world import NAT_GATEWAY, SUBNET, VPC, World, class_of

# What hangs under one component and is about another one: the arrows show it.
GRANTS = frozenset(
    {
        NOTIFICATION,
        "aws:iam/rolePolicy:RolePolicy",
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        "aws:opensearch/serverlessAccessPolicy:ServerlessAccessPolicy",
        "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
    }
)


def component_diagram(recording: Recording) -> str:
    """The components of `__main__.py`: those with a place in the network's subnets lie inside of it.

    Solid arrows say what is done to whom and what comes in; a dotted one leads to what a component is built on.
    """
    world = World(recording)
    chart = Chart()
    shown = _draw(world, chart)
    told = _told(world, shown)
    for (source, target), words in told.items():
        if target not in shown:
            chart.node(target, target, shape="outside")
        chart.edge(source, target, ", ".join(sorted(words)))
    for entry in entries(world):
        owner = world.top(entry.resource)
        if owner:
            chart.node(entry.who, entry.who, shape="outside")
            chart.edge(entry.who, owner.name, entry.how)
    joined = {*told, *((target, source) for source, target in told)}
    for source, target in _built_on(world, shown) - joined:
        chart.edge(source, target, line=DOTTED)
    return chart.render()


def _draw(world: World, chart: Chart) -> set[str]:
    """Draws the components and returns their names; those that consist of grants alone are told by the arrows."""
    services: dict[str, set[str]] = {}
    placed: dict[str, str] = {}
    for resource in world.recording.resources:
        owner = world.top(resource)
        if owner is None or not resource.custom or resource.type in GRANTS:
            continue
        services.setdefault(owner.name, set()).update(filter(None, [service_of(resource.type)]))
        for urns in resource.property_dependencies.values():
            subnets = [world.by_urn[urn] for urn in urns if world.by_urn[urn].type == SUBNET]
            network = world.top(subnets[0]) if subnets else None
            if network:
                placed[owner.name] = network.name
    frames = set(placed.values())
    for component in world.components():
        if component.name in services and component.name not in frames:
            frame = placed.get(component.name)
            group = chart.group(frame, _network_label(world, frame)) if frame else chart
            group.node(
                component.name,
                component.name,
                ", ".join(sorted(services[component.name])) or class_of(component),
            )
    return {*services} - frames


def _network_label(world: World, name: str) -> str:
    """The network's name, block, zones and NAT."""
    recording = world.recording
    blocks = sorted(str(item.inputs.get("cidrBlock")) for item in recording.of_type(VPC))
    zones = {item.inputs.get("availabilityZone") for item in recording.of_type(SUBNET)}
    gateways = len(recording.of_type(NAT_GATEWAY))
    nat = f"{gateways} NAT gateway{'s' if gateways > 1 else ''}" if gateways else "no NAT gateway"
    return f"{name}: {', '.join(blocks)}, {len(zones)} zones, {nat}"


def _told(world: World, shown: set[str]) -> dict[tuple[str, str], set[str]]:
    """What passes between two components, or from one to a service outside."""
    told: dict[tuple[str, str], set[str]] = {}
    for act in acts(world):
        target = _name(world, act.place.resource) if act.place else act.outside
        _tell(told, _name(world, act.role), target, act.verb)
    for event in events(world):
        _tell(told, _name(world, event.source.resource), _name(world, event.target.resource), event.what)
    return {
        (source, target): words
        for (source, target), words in told.items()
        if source in shown and (target in shown or ":" not in target)
    }


def _tell(told: dict[tuple[str, str], set[str]], source: str, target: str, word: str) -> None:
    if source and target and source != target:
        told.setdefault((source, target), set()).add(word)


def _name(world: World, resource: RecordedResource) -> str:
    owner = world.top(resource)
    return owner.name if owner else ""


def _built_on(world: World, shown: set[str]) -> set[tuple[str, str]]:
    """Components whose resources need those of another one, the network apart."""
    found: set[tuple[str, str]] = set()
    for resource in world.recording.resources:
        if resource.type in GRANTS:
            continue
        source = _name(world, resource)
        for urns in resource.property_dependencies.values():
            found |= {(source, _name(world, world.by_urn[urn])) for urn in urns}
    return {(source, target) for source, target in found if source != target and {source, target} <= shown}
