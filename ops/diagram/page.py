"""Where the pictures are kept: `docs/architecture.md`, and a block in the README. Pure besides reading and writing these."""

import re
from collections.abc import Mapping
from pathlib import Path

from ops.capture.recording import Recording
from ops.diagram import (
    component_diagram,
    data_flow_diagram,
    full_diagram,
    network_diagram,
    permission_diagram,
)
from ops.github.text import fenced

# The stack with the most in it, and those whose networks differ from it.
STACK = "prod"
STACKS = ("dev", "staging", "prod")
BLOCK = re.compile(r"(<!-- components prod -->\n```mermaid\n).*?(```\n)", flags=re.DOTALL)
HEAD = """# Architecture

The pictures are made from what the program registers for a stack: `make diagrams` writes them anew, and a test fails
where they no longer are what the program builds. Sorted text makes a changed picture a changed architecture.
Another stack's: `python -m ops diagram --stack dev`.
"""
COMPONENTS = """
## Components

What `__main__.py` puts together in the stack `prod`. A solid arrow says what one does with another, a dotted one leads to
what a component is built on; what lies inside of the network has a place in its subnets.
"""
DATA_FLOW = """
## Data flow

Where the stack `prod` keeps data and who moves it; arrows go the way that the data goes.
"""
PERMISSIONS = """
## Permissions

Which role may do what with which thing in the stack `prod`, and which services take the roles. Conditions and the paths
inside of a bucket are left out: `python -m ops preview --stack prod` shows them.
"""
NETWORK = """
## Network of the stack `{stack}`

Subnets with their ways out, and what the security groups let through. A dotted arrow leads from a component to the
subnets that it is placed in, and from an endpoint to its security group.
"""
FULL = """
## Every resource

All of the stack `prod` but what only grants something. An arrow leads from a resource to what its inputs come from.
"""


class MissingBlock(Exception):
    """The README has lost the place of its picture; the message is for the person who runs the command."""


def page(recordings: Mapping[str, Recording]) -> str:
    """The text of `docs/architecture.md`."""
    main = recordings[STACK]
    parts = [HEAD, COMPONENTS, _block(component_diagram(main)), DATA_FLOW, _block(data_flow_diagram(main))]
    for stack in STACKS:
        parts += [NETWORK.format(stack=stack), _block(network_diagram(recordings[stack]))]
    parts += [PERMISSIONS, _block(permission_diagram(main)), FULL, _block(full_diagram(main))]
    return "".join(parts)


def _block(chart: str) -> str:
    return f"\n{fenced(chart, 'mermaid')}"


def readme(text: str, recordings: Mapping[str, Recording]) -> str:
    """The README's text with its block made anew; raises MissingBlock where it has lost its marker."""
    if not BLOCK.search(text):
        raise MissingBlock("README.md has no block after `<!-- components prod -->`. Fix: put it back.")
    chart = component_diagram(recordings[STACK])
    return BLOCK.sub(lambda found: f"{found[1]}{chart}{found[2]}", text)


def write(root: Path, recordings: Mapping[str, Recording]) -> list[Path]:
    """Writes both files and returns those that changed."""
    texts = {
        root / "docs" / "architecture.md": page(recordings),
        root / "README.md": readme((root / "README.md").read_text(encoding="utf-8"), recordings),
    }
    changed = [path for path, text in texts.items() if not path.exists() or path.read_text("utf-8") != text]
    for path in changed:
        path.write_text(texts[path], encoding="utf-8")
    return changed
