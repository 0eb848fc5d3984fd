"""Pictures of a stack as text for mermaid, each a function of one recording."""

from ops.diagram.component import component_diagram
from ops.diagram.data_flow import data_flow_diagram
from ops.diagram.full import full_diagram
from ops.diagram.network import network_diagram
from ops.diagram.permission import permission_diagram

__all__ = [
    "component_diagram",
    "data_flow_diagram",
    "full_diagram",
    "network_diagram",
    "permission_diagram",
]
