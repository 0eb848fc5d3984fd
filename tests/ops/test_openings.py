"""What security groups let through is read from every form that a rule has."""

from dataclasses import replace
from typing import Any

import pytest

from ops.capture.recording import RecordedResource, Recording
from ops.openings import (
    EGRESS,
    GROUPS,
    INGRESS,
    OLDER_RULE,
    PREFIX_LIST,
    PREFIX_LIST_ENTRY,
    Direction,
    Opening,
    openings,
)
from recordings import STACKS, previewed, recorded


def _told(recording: Recording) -> list[str]:
    return [str(item) for item in openings(recording)]


def _resource(type_token: str, name: str, **inputs: Any) -> RecordedResource:
    return RecordedResource(
        urn=f"urn::{type_token}::{name}", type=type_token, name=name, parent=None, inputs=inputs,
        outputs={"id": f"sg-{name}"} if type_token in GROUPS else {},
    )  # fmt: skip


def _of(*resources: RecordedResource) -> list[Opening]:
    return openings(replace(recorded("dev"), resources=resources))


def test_the_openings_of_production_are_these(prod: Recording) -> None:
    told = _told(prod)
    assert [line for line in told if " in " in line] == [
        "network-endpoints in tcp port 443 from 10.20.0.0/16",
        "shared-files-mount-targets in tcp port 2049 from gpu-research-nodes",
        "shared-files-mount-targets in tcp port 2049 from training-capacity-nodes",
        "training-capacity-nodes in every protocol and port from training-capacity-nodes",
        "vector-store-private-group in tcp port 443 from 10.20.0.0/16",
        "rag-tasks in tcp port 8000 from rag-balancer-group",
        "rag-balancer-group in tcp port 443 from 0.0.0.0/0",
        "rag-balancer-group in tcp port 80 from 0.0.0.0/0",
    ]
    assert "gpu-research-nodes out every protocol and port to 0.0.0.0/0" in told


@pytest.mark.parametrize("stack", STACKS)
def test_a_first_preview_tells_the_same_openings(stack: str) -> None:
    assert _told(previewed(stack)) == _told(recorded(stack)), "a change report would show openings that stay"


def test_every_rule_of_the_program_is_an_opening(platform: Recording) -> None:
    rules = {item.urn for item in platform.resources if item.type in (INGRESS, EGRESS)}
    assert {item.urn for item in openings(platform)} == rules, "a rule that is not read opens unseen"


def test_the_lists_of_a_group_itself_are_read() -> None:
    rule = {
        "protocol": "tcp",
        "fromPort": 22,
        "toPort": 22,
        "cidrBlocks": ["0.0.0.0/0", "10.0.0.0/8"],
        "self": True,
    }
    found = _of(_resource(GROUPS[0], "own", ingress=[rule], egress=[{**rule, "protocol": "-1"}]))
    assert [str(item) for item in found] == [
        "own in tcp port 22 from 0.0.0.0/0",
        "own in tcp port 22 from 10.0.0.0/8",
        "own in tcp port 22 from own",
        "own out every protocol and port to 0.0.0.0/0",
        "own out every protocol and port to 10.0.0.0/8",
        "own out every protocol and port to own",
    ]


def test_an_older_rule_with_several_peers_is_several_openings() -> None:
    group = _resource(GROUPS[0], "web")
    rule = _resource(OLDER_RULE, "old", type="ingress", protocol="udp", fromPort=1, toPort=9, securityGroupId="sg-web",
                     cidrBlocks=["10.0.0.0/8"], sourceSecurityGroupId="sg-unknown", prefixListIds=["pl-1"])  # fmt: skip
    found = _of(group, rule)
    assert {item.peer for item in found} == {"10.0.0.0/8", "sg-unknown", "pl-1"}
    assert {(item.security_group, item.direction, item.ports()) for item in found} == {
        ("web", Direction.IN, "ports 1-9")
    }


def test_a_group_that_the_program_did_not_make_keeps_its_id() -> None:
    (item,) = _of(
        _resource(
            INGRESS, "r", securityGroupId="sg-1", ipProtocol="tcp", fromPort=5, toPort=5, cidrIpv6="::/0"
        )
    )
    assert (item.security_group, item.group_urn, item.peer) == ("sg-1", "", "::/0")


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        ("0.0.0.0/0", True), ("::/0", True), ("0.0.0.0/1", True), ("128.0.0.0/1", True), ("2000::/3", True),
        ("8.0.0.0/8", True), ("10.0.0.0/8", False), ("172.16.0.0/12", False), ("203.0.113.7/32", False),
        ("52.94.0.0/22", False), ("pl-1", False), ("rag-tasks", False),
    ],
)  # fmt: skip
def test_the_internet_is_told_from_a_network(peer: str, expected: bool) -> None:
    item = Opening(security_group="g", group_urn="", direction=Direction.IN, protocol="tcp", from_port=1, to_port=1,
                   peer=peer, urn="")  # fmt: skip
    assert item.is_internet is expected


def test_a_prefix_list_of_the_program_is_as_many_openings_as_it_has_entries() -> None:
    made = _resource(PREFIX_LIST, "ours", entries=[{"cidr": "10.0.0.0/8"}])
    made = replace(made, outputs={"id": "pl-ours"})
    entry = _resource(PREFIX_LIST_ENTRY, "more", prefixListId="pl-ours", cidr="0.0.0.0/0")
    other = _resource(PREFIX_LIST_ENTRY, "other", prefixListId="pl-other", cidr="::/0")
    rule = _resource(INGRESS, "r", securityGroupId="sg-1", ipProtocol="tcp", fromPort=5, toPort=5, prefixListId="pl-ours")  # fmt: skip
    assert [item.peer for item in _of(made, entry, other, rule)] == ["10.0.0.0/8", "0.0.0.0/0"]


@pytest.mark.parametrize(
    ("protocol", "ports", "told"),
    [
        ("all", (None, None), "every protocol and port"),
        ("tcp", (-1, -1), "every tcp port"),
        ("tcp", (22, 22), "tcp port 22"),
        ("icmp", (8, -1), "icmp of type 8"),
        ("icmpv6", (-1, -1), "icmpv6 of every type"),
    ],
)
def test_traffic_is_told_in_words_that_fit_its_protocol(
    protocol: str, ports: tuple[int | None, int | None], told: str
) -> None:
    opening = replace(openings(recorded("dev"))[0], protocol=protocol, from_port=ports[0], to_port=ports[1])
    assert opening.traffic() == told
