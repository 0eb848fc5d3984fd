"""Which role may do what with which thing. Pure."""

from ops.capture.recording import RecordedResource, Recording
from ops.diagram.mermaid import Chart, Group
from ops.diagram.words import shortened
from ops.diagram.world import World
from ops.permissions import ROLE, Permission, permissions
from ops.preview_access import Names

ANYTHING = "anything"


def permission_diagram(recording: Recording) -> str:
    """Roles with the service that takes them, and an arrow with the actions to each thing; conditions are not shown.

    Everything that a role may reach inside one thing is one arrow; a prohibition is an arrow that says `not`.
    """
    world, names = World(recording), Names(recording)
    chart = Chart()
    takers = _takers(recording)
    arrows: dict[tuple[str, str, str], set[str]] = {}
    for permission in permissions(recording):
        if permission.kind == "trust":
            continue
        for principal in permission.principals:
            source = _principal(chart, world, names, takers, principal)
            for target in _targets(chart, world, names, permission):
                key = (source, target, "" if permission.effect == "Allow" else "not ")
                arrows.setdefault(key, set()).update(permission.actions)
    for (source, target, negation), actions in arrows.items():
        chart.edge(source, target, f"{negation}{shortened(actions)}".strip())
    return chart.render()


def _takers(recording: Recording) -> dict[str, str]:
    """Who may take each role, by its URN."""
    return {
        permission.urn: permission.principal.replace(".amazonaws.com", "")
        for permission in permissions(recording)
        if permission.kind == "trust"
    }


def _targets(chart: Chart, world: World, names: Names, permission: Permission) -> list[str]:
    if permission.kind == "resource" and "*" in permission.resources:
        # In the policy of a thing, such as a key, `*` is the thing itself.
        return [_known(chart, world, world.by_urn[permission.urn])]
    things = (permission.managed_policy,) if permission.managed_policy else permission.resources
    return [_thing(chart, world, names, thing) for thing in things]


def _principal(chart: Chart, world: World, names: Names, takers: dict[str, str], principal: str) -> str:
    place = world.place(principal)
    if place and place.resource.type == ROLE:
        role = place.resource
        return _frame(chart, world, role).node(
            f"role {role.name}", role.name, takers.get(role.urn, ""), shape="round"
        )
    text = "anybody" if principal == "*" else names.of(principal).removesuffix(".amazonaws.com")
    return chart.node(f"who {text}", text, shape="outside")


def _thing(chart: Chart, world: World, names: Names, thing: str) -> str:
    place = world.place(thing)
    if place:
        return _known(chart, world, place.resource)
    text = ANYTHING if thing == "*" else world.told(names.of(thing))
    return chart.node(f"other {text}", text, shape="outside")


def _known(chart: Chart, world: World, resource: RecordedResource) -> str:
    return _frame(chart, world, resource).node(f"thing {resource.name}", resource.name)


def _frame(chart: Chart, world: World, resource: RecordedResource) -> Group:
    owner = world.top(resource)
    return chart.group(f"in {owner.name}", owner.name) if owner else chart
