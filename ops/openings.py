"""What the security groups of a recording let in and out, one line per rule and peer. Pure.

Rules are read from rule resources, from the older ones that hold several addresses, and from a group's own lists.
"""

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ops.capture.recording import RecordedResource, Recording, Unknown

GROUPS = ("aws:ec2/securityGroup:SecurityGroup", "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup")
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
OLDER_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
PREFIX_LIST = "aws:ec2/managedPrefixList:ManagedPrefixList"
PREFIX_LIST_ENTRY = "aws:ec2/managedPrefixListEntry:ManagedPrefixListEntry"
ALL = "all"
EVERY_PORT = "every port"
# A range of public addresses at least this wide is the internet, whatever its owner meant: two halves make a whole.
WIDE_PREFIX = {4: 15, 6: 31}
# The property that names a peer, in each of the three forms of a rule; all but the first kind hold several.
CIDR_PROPERTIES = ("cidrIpv4", "cidrIpv6", "cidrBlocks", "ipv6CidrBlocks")
GROUP_PROPERTIES = ("referencedSecurityGroupId", "sourceSecurityGroupId", "securityGroups")
LIST_PROPERTIES = ("prefixListId", "prefixListIds")


class Direction(StrEnum):
    IN = "in"
    OUT = "out"


@dataclass(frozen=True, kw_only=True)
class Opening:
    """One peer that a security group lets through.

    `security_group` is the group's name in the program, or what the program knows of a group that it did not make.
    `protocol` is AWS's word, `all` for every one; the ports are None for every port (for ICMP they are type and code).
    `peer` is a range of addresses, a prefix list of somebody else, or the name of another group; a prefix list of the
    program's is as many openings as it has entries. `urn` is that of the rule, or of the
    group that holds it, and `group_urn` the group's, empty where the program did not make it.
    """

    security_group: str
    group_urn: str
    direction: Direction
    protocol: str
    from_port: int | None
    to_port: int | None
    peer: str
    urn: str

    @property
    def is_internet(self) -> bool:
        """Whether the peer is everybody, or so many public addresses that it might as well be."""
        return is_internet(self.peer)

    def ports(self) -> str:
        """The ports as a person writes them."""
        if self.from_port in (None, -1):
            return EVERY_PORT
        return (
            f"port {self.from_port}"
            if self.from_port == self.to_port
            else f"ports {self.from_port}-{self.to_port}"
        )

    def traffic(self) -> str:
        """Protocol and ports as a person writes them."""
        if self.protocol == ALL:
            return "every protocol and port"
        if self.protocol.startswith("icmp"):
            # It has no ports: AWS keeps the type in the place of the first, and -1 is every one.
            every = self.from_port in (None, -1)
            return f"{self.protocol} of {'every type' if every else f'type {self.from_port}'}"
        ports = self.ports()
        return f"every {self.protocol} port" if ports == EVERY_PORT else f"{self.protocol} {ports}"

    def __str__(self) -> str:
        way = "from" if self.direction is Direction.IN else "to"
        return f"{self.security_group} {self.direction} {self.traffic()} {way} {self.peer}"


def is_internet(addresses: str) -> bool:
    """Whether a range of addresses is the internet, or so much of it that it might as well be; no range is not."""
    try:
        network = ipaddress.ip_network(addresses, strict=False)
    except ValueError:
        return False
    # Some releases of Python call everything at once private, since its first and last addresses are.
    return network.prefixlen <= WIDE_PREFIX[network.version] and (
        network.prefixlen == 0 or not network.is_private
    )


def openings(recording: Recording) -> list[Opening]:
    """Every opening, in the order of the recording."""
    reader = _Reader(recording)
    return [opening for resource in recording.resources for opening in reader.openings_of(resource)]


class _Reader:
    """Knows the groups of one recording by URN and by the ids that a known run has."""

    def __init__(self, recording: Recording) -> None:
        groups = [resource for resource in recording.resources if resource.type in GROUPS]
        self._by_urn = {group.urn: group for group in groups}
        self._by_id = {str(group.outputs.get("id")): group for group in groups if group.outputs.get("id")}
        self._lists = [item for item in recording.resources if item.type == PREFIX_LIST]
        self._entries = [item for item in recording.resources if item.type == PREFIX_LIST_ENTRY]

    def openings_of(self, resource: RecordedResource) -> Iterator[Opening]:
        if resource.type in (INGRESS, EGRESS):
            yield from self._rule(resource, Direction.IN if resource.type == INGRESS else Direction.OUT)
        elif resource.type == OLDER_RULE:
            inward = resource.inputs.get("type") == "ingress"
            yield from self._rule(resource, Direction.IN if inward else Direction.OUT)
        elif resource.type in GROUPS:
            for direction, key in ((Direction.IN, "ingress"), (Direction.OUT, "egress")):
                for rule in _listed(resource.inputs.get(key)):
                    if isinstance(rule, Mapping):
                        yield from self._opened(resource, resource, direction, rule)

    def _rule(self, resource: RecordedResource, direction: Direction) -> Iterator[Opening]:
        group = self._group(resource, "securityGroupId", resource.inputs.get("securityGroupId"))
        yield from self._opened(resource, group, direction, resource.inputs)

    def _opened(
        self,
        resource: RecordedResource,
        group: RecordedResource | str,
        direction: Direction,
        rule: Mapping[str, Any],
    ) -> Iterator[Opening]:
        protocol = str(rule.get("ipProtocol", rule.get("protocol")))
        every = protocol in ("-1", ALL)
        for peer in self._peers(resource, group, rule):
            yield Opening(
                security_group=group if isinstance(group, str) else group.name,
                group_urn="" if isinstance(group, str) else group.urn,
                direction=direction,
                protocol=ALL if every else protocol,
                from_port=None if every else _port(rule.get("fromPort")),
                to_port=None if every else _port(rule.get("toPort")),
                peer=peer,
                urn=resource.urn,
            )

    def _peers(
        self, resource: RecordedResource, group: RecordedResource | str, rule: Mapping[str, Any]
    ) -> Iterator[str]:
        for key in CIDR_PROPERTIES:
            yield from (str(value) for value in _listed(rule.get(key)))
        for key in LIST_PROPERTIES:
            for value in _listed(rule.get(key)):
                yield from self._ranges(resource, key, value) or [str(value)]
        for key in GROUP_PROPERTIES:
            for value in _listed(rule.get(key)):
                peer = self._group(resource, key, value)
                yield peer if isinstance(peer, str) else peer.name
        if rule.get("self"):
            yield group if isinstance(group, str) else group.name

    def _ranges(self, resource: RecordedResource, key: str, value: Any) -> list[str]:
        """The addresses in a prefix list of the program's; empty for another's."""
        sources = resource.property_dependencies.get(key, ())
        known = [item for item in self._lists if item.outputs.get("id") == value or item.urn in sources]
        entries = [entry for item in known for entry in _listed(item.inputs.get("entries"))]
        for item in known:
            entries += [
                entry.inputs
                for entry in self._entries
                if item.urn in entry.property_dependencies.get("prefixListId", ())
                or entry.inputs.get("prefixListId") == item.outputs.get("id", "")
            ]
        return [str(entry.get("cidr")) for entry in entries if isinstance(entry, Mapping)]

    def _group(self, resource: RecordedResource, key: str, value: Any) -> RecordedResource | str:
        """The group that a property names: by id where it is known, else by where the value comes from."""
        if not isinstance(value, Unknown) and str(value) in self._by_id:
            return self._by_id[str(value)]
        for urn in resource.property_dependencies.get(key, ()):
            if urn in self._by_urn:
                return self._by_urn[urn]
        return str(value)


def _listed(value: Any) -> list[Any]:
    if value is None or value == "":
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _port(value: Any) -> int | None:
    return int(value) if isinstance(value, int | str) and str(value).lstrip("-").isdigit() else None
