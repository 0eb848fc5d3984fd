"""Writes docs/configuration.md from the program's own declarations: every key, its type, default, range and meaning.

`python -m ops.configuration_page` writes the page; a test compares it.
"""

from collections.abc import Iterator
from dataclasses import MISSING
from typing import Any, get_args, get_origin, get_type_hints

import yaml

from components.config import section_types
from components.settings import default_of, describe, settings_of, shown_default
from ops.capture.program import PROJECT_ROOT

PAGE = PROJECT_ROOT / "docs" / "configuration.md"
HEAD = """# Configuration

Every key of the namespace `ai-platform`, with its default. A stack file holds only what differs. This page is made from
the program by `python -m ops.configuration_page`.
"""

# What the keys inside lists mean; Pulumi.yaml has a place for those of the first level only.
NESTED_MEANINGS = {
    "id": "Its id: a subnet's, or one of your own for a rule.",
    "zone": "Zone in which the subnet lies.",
    "tier": "Whether the subnet reaches the internet directly (public) or by way of NAT (private).",
    "prefix": "Folder that the rule is for; empty for the whole lake.",
    "minimumSizeBytes": "Size from which on an object falls under the rule; 0 for every object.",
    "transitions": "Moves to cheaper storage classes, by age.",
    "expireDays": "Age at which objects are deleted; -1 keeps them.",
    "days": "Age of an object at the move.",
    "storageClass": "Class that it moves to.",
    "name": "Name of the fleet, part of its group's name.",
    "purpose": "training: nodes that people log in to; inference: nodes on which ECS runs tasks.",
    "instanceTypes": "Types that the group chooses from; the more, the calmer on spot.",
    "weights": "How much of the fleet's size one instance of each type counts for; empty counts instances.",
    "nodeImage": "dlami (Deep Learning AMI), ecs-gpu or ecs-neuron.",
    "minimum": "Fewest nodes.",
    "maximum": "Most nodes, or most weight.",
    "onDemandBase": "Nodes that are always on demand, before any on spot.",
    "onDemandPercentage": "Share of on-demand nodes above the base; 0 is all spot.",
    "spotAllocationStrategy": "How the group chooses among spot pools.",
    "spotPoolCount": "Pools to spread over, with lowest-price only; 0 leaves it to AWS.",
    "maximumPriceUsd": "Highest spot price per hour; empty is the on-demand price. AWS advises against one.",
    "volumeSizeGib": "Root volume of a node.",
    "capacityBlockReservationId": "Prepaid Capacity Block that the fleet runs in instead of spot.",
    "checkpointPath": "Folder for checkpoints, told to nodes as CHECKPOINT_FOLDER; training on spot needs one.",
    "capacityRebalancing": "Starts a new node as soon as AWS expects to take one back.",
    "instanceRefresh": "Replaces running nodes after a change of their template.",
    "idleMinutes": "Ends a dlami node on which no GPU was used and nobody typed for this long; 0 is never.",
    "maximumLifeHours": "Ends a dlami node at this age, whatever it does; 0 is never.",
    "extraBootScript": "Shell script that runs on a node once the platform's own boot is done.",
}


def render() -> str:
    """The whole page."""
    project = yaml.safe_load((PROJECT_ROOT / "Pulumi.yaml").read_text(encoding="utf-8"))
    parts = [HEAD]
    for cls in section_types().values():
        title = (cls.__doc__ or "").strip().splitlines()[0]
        rows = [_row(cls, key, project["config"][key]["description"]) for key in settings_of(cls)]
        parts.append(
            f"## {title.rstrip('.')}\n\n| key | type | default | allowed | meaning |\n|---|---|---|---|---|\n"
            + "".join(rows)
        )
        parts += [_nested(key, item_cls) for key, item_cls in _nested_classes(cls)]
    return "\n".join(parts)


def _row(cls: Any, key: str, meaning: str) -> str:
    item, hint = settings_of(cls)[key], get_type_hints(cls)[settings_of(cls)[key].name]
    default = "required" if default_of(item) is MISSING else f"`{shown_default(item)}`"
    if len(default) > 60:
        default = "see `Pulumi.yaml`"
    cells = (
        f"`{key}`",
        describe(hint),
        default,
        item.metadata["allowed"].text.removeprefix("must be "),
        meaning,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _nested_classes(cls: Any) -> Iterator[tuple[str, Any]]:
    """The settings objects inside lists, at any depth."""
    for key, item in settings_of(cls).items():
        hint = get_type_hints(cls)[item.name]
        if get_origin(hint) is tuple and get_args(hint)[0] is not str:
            yield key, get_args(hint)[0]
            yield from _nested_classes(get_args(hint)[0])


def _nested(key: str, cls: Any) -> str:
    meaning = (cls.__doc__ or "").strip().splitlines()[0]
    rows = [_row(cls, name, NESTED_MEANINGS[name]) for name in settings_of(cls)]
    return (
        f"### Each of `{key}`\n\n{meaning}\n\n| key | type | default | allowed | meaning |\n|---|---|---|---|---|\n"
        + "".join(rows)
    )


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
