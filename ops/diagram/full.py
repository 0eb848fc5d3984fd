"""Every resource, below its component, and what it is built from. Pure."""

from ops.capture.recording import RecordedResource, Recording
from ops.diagram.mermaid import Chart, Group
from ops.diagram.world import World, key_of
from ops.preview_text import short_type

# Who may do what has a picture of its own.
LEFT_OUT = frozenset(
    {
        "aws:iam/rolePolicy:RolePolicy",
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        "aws:opensearch/serverlessAccessPolicy:ServerlessAccessPolicy",
    }
)
PROVIDERS = "pulumi:providers:"


def full_diagram(recording: Recording) -> str:
    """All resources but those that only grant something; an arrow leads from a resource to what its inputs come from."""
    world = World(recording)
    chart = Chart(direction="LR")
    shown = {
        item.urn: item
        for item in recording.resources
        if item.custom and item.type not in LEFT_OUT and not item.type.startswith(PROVIDERS)
    }
    for resource in shown.values():
        _frame(chart, world, resource).node(key_of(resource), resource.name, short_type(resource.type))
        for urns in resource.property_dependencies.values():
            for urn in urns & shown.keys():
                chart.edge(key_of(resource), key_of(shown[urn]))
    return chart.render()


def _frame(chart: Chart, world: World, resource: RecordedResource) -> Group:
    frame: Group = chart
    for component in reversed(world.around(resource)):
        frame = frame.group(f"in {component.name}", component.name)
    return frame
