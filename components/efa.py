"""Elastic Fabric Adapter: the network interfaces of a node and the devices that its containers see. Pure."""

from collections.abc import Iterator
from typing import Any

import pulumi

from components.accelerators import find
from components.gpu_node import NetworkInterface

# Its first network card carries IP only, so that it has one card more than EFA interfaces.
PRIMARY_CARD_WITHOUT_EFA = ("p6-b300.48xlarge",)


def efa_interfaces(instance_type: str) -> int:
    """How many EFA interfaces an instance type takes; none for a type that is not in the table."""
    entry = find(instance_type)
    return entry.efa_interfaces if entry else 0


def efa_network_interfaces(
    instance_type: str, security_group_id: pulumi.Input[str]
) -> list[NetworkInterface]:
    """One interface per network card. The first carries IP and, where its card can, EFA; the others EFA alone.

    AWS's guide puts the first card's EFA on an interface of its own. Both in one leaves a place on that card for
    the interface that ECS adds to the container of a multi-node job: a p5 has two places on a card.
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html
    """
    first = "interface" if instance_type in PRIMARY_CARD_WITHOUT_EFA else "efa"
    others = efa_interfaces(instance_type) - (first == "efa")
    types = [first, *["efa-only"] * others]
    return [_interface(card, kind, security_group_id) for card, kind in enumerate(types)]


def efa_devices(instance_type: str) -> list[dict[str, Any]]:
    """The devices of a Batch container, as https://docs.aws.amazon.com/batch/latest/userguide/efa.html asks for them."""
    return [
        {"hostPath": path, "containerPath": path, "permissions": ["READ", "WRITE", "MKNOD"]}
        for path in _device_paths(instance_type)
    ]


def _interface(card: int, interface_type: str, security_group_id: pulumi.Input[str]) -> NetworkInterface:
    return {
        "network_card_index": card,
        "device_index": 0,
        "interface_type": interface_type,
        "security_groups": [security_group_id],
        "delete_on_termination": "true",
    }


def _device_paths(instance_type: str) -> Iterator[str]:
    return (f"/dev/infiniband/uverbs{number}" for number in range(efa_interfaces(instance_type)))
