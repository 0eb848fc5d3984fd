"""Of which instance types and zones the market is asked: those that a stack uses on spot, or those that a person names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ops.preflight.account import Account
from ops.preflight.nodes import BatchShare, Nodes, all_nodes
from ops.preflight.offerings import zones_of
from ops.preflight.stack import Stack

# A sleeping stack's nodes are asked about as if it were awake.
AWAKE: Mapping[str, Any] = {"asleep": False}


class NothingToAskError(Exception):
    """There is no stack that uses spot capacity; the message says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Where:
    """`zones` is empty where every zone of the region is of interest; `who` names the groups of nodes."""

    region: str
    instance_types: tuple[str, ...]
    zones: tuple[str, ...] = ()
    who: tuple[str, ...] = ()


def where_of(stack: Stack, account: Account) -> Where:
    """The types and zones of all groups of a stack that take spot. An existing VPC's zones are asked of EC2."""
    groups = [nodes for nodes in all_nodes(stack) if takes_spot(nodes)]
    if not groups:
        raise NothingToAskError(
            f"Stack {stack.name} has no nodes on spot. Fix: name instance types with --types and a region with --region."
        )
    types = dict.fromkeys(name for nodes in groups for name in nodes.instance_types)
    subnets = {subnet for nodes in groups for subnet in nodes.subnet_ids}
    return Where(
        region=stack.region,
        instance_types=tuple(types),
        zones=tuple(zones_of(account, stack, sorted(subnets))),
        who=tuple(nodes.name for nodes in groups),
    )


def takes_spot(nodes: Nodes) -> bool:
    """Whether any of the nodes may be on spot."""
    share = nodes.share
    if isinstance(share, BatchShare):
        return share.spot
    return share.on_demand_percentage < 100 and share.maximum > share.on_demand_base
