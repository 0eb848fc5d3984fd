"""Networks that do not fit together, and what cannot run without NAT, are refused with the way out."""

from typing import Any

import pytest

from typed_config import EXISTING_VPC, MULTI_NODE, PUBLIC, PUBLIC_SUBNETS, SUBNETS, faults_of

ZONES = [f"eu-central-1{letter}" for letter in "abcdefg"]

REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({"availabilityZones": None}, [
        'availabilityZones is not set: a network of our own needs its zones. Fix: list zones such as eu-central-1a and eu-central-1b, or set existingVpcId.',
    ]),
    ({"availabilityZones": ["eu-central-1a"]}, [
        "availabilityZones = eu-central-1a: the RAG service's load balancer needs two zones. Fix: add a zone, or set ragService to false.",
    ]),
    ({"availabilityZones": ["us-east-1a", "us-east-1b"]}, [
        'availabilityZones = us-east-1a, us-east-1b: must be zones of eu-central-1. Fix: use zones of eu-central-1, or change region.',
    ]),
    ({"availabilityZones": ZONES}, [
        'availabilityZones = eu-central-1a, eu-central-1b, eu-central-1c, eu-central-1d, eu-central-1e, eu-central-1f, eu-central-1g: the address plan holds at most 6 zones. Fix: remove zones from the end of the list.',
    ]),
    ({"existingSubnets": SUBNETS}, [
        'existingSubnets = subnet-a1, subnet-b1: belongs to an existing VPC. Fix: set existingVpcId, or remove existingSubnets.',
    ]),
    ({"existingVpcId": "vpc-1", "existingVpcCidr": "10.0.0.0/16"}, [
        'availabilityZones = eu-central-1a, eu-central-1b: an existing VPC brings its zones with its subnets. Fix: remove it, or existingVpcId.',
        'existingSubnets is not set: an existing VPC needs the subnets to use. Fix: list subnets, each with id, zone and tier.',
    ]),
    ({**EXISTING_VPC, "existingSubnets": SUBNETS[:1]}, [
        "existingSubnets = subnet-a1: the RAG service's load balancer needs private subnets in two zones. Fix: add a private subnet in another zone, or set ragService to false.",
    ]),
    ({**EXISTING_VPC, "existingSubnets": [*SUBNETS, SUBNETS[0]]}, [
        'existingSubnets = subnet-a1: is listed twice. Fix: list each subnet once.',
    ]),
    ({**EXISTING_VPC, "existingSubnets": [SUBNETS[0], {**SUBNETS[1], "tier": "public"}]}, [
        "existingSubnets = subnet-a1, subnet-b1: the RAG service's load balancer needs private subnets in two zones. Fix: add a private subnet in another zone, or set ragService to false.",
    ]),
    ({**EXISTING_VPC, "existingSubnets": [{**SUBNETS[0], "zone": "eu-west-1a"}, {**SUBNETS[1], "zone": "eu-west-1b"}]}, [
        'existingSubnets = eu-west-1a, eu-west-1b: must be zones of eu-central-1. Fix: use zones of eu-central-1, or change region.',
    ]),
    ({**EXISTING_VPC, "flowLogs": True}, [
        "flowLogs = true: an existing VPC's flow logs belong to its owner. Fix: set it to false, or remove existingVpcId.",
    ]),
    ({**EXISTING_VPC, "existingVpcCidr": ""}, [
        'existingVpcCidr is not set: callers are let in from an existing VPC by its IPv4 block. Fix: write the block that the VPC has, such as 10.0.0.0/16.',
    ]),
    ({**EXISTING_VPC, "existingVpcCidr": "10.0.0.1/16"}, [
        'existingVpcCidr = 10.0.0.1/16: must be an IPv4 block such as 10.0.0.0/16, or empty. Fix: change it, or remove it.',
    ]),
    ({**EXISTING_VPC, **PUBLIC}, [
        "existingSubnets = subnet-a1, subnet-b1: the RAG service's load balancer needs public subnets in two zones. Fix: add a public subnet in another zone, or set ragService to false.",
    ]),
    ({"natGateways": "none", "vectorPrivateEndpoint": True}, [
        'vectorPrivateEndpoint = true: puts the functions into a network without NAT, from where they cannot reach bedrock-runtime, sqs. Fix: add bedrock-runtime, sqs to interfaceEndpoints, or set natGateways to single.',
    ]),
    ({**EXISTING_VPC, "existingSubnets": PUBLIC_SUBNETS, "vectorPrivateEndpoint": True}, [
        'vectorPrivateEndpoint = true: puts the functions into a network without NAT, from where they cannot reach bedrock-runtime, sqs. Fix: add bedrock-runtime, sqs to interfaceEndpoints, or add private subnets to existingSubnets.',
    ]),
    ({"natGateways": "none", **MULTI_NODE}, [
        'trainingNodes = 2: containers of a multi-node job get no public address and cannot work without NAT. Fix: set natGateways to single, or set trainingNodes to 1.',
    ]),
    ({**EXISTING_VPC, "existingSubnets": PUBLIC_SUBNETS, **MULTI_NODE}, [
        'trainingNodes = 2: containers of a multi-node job get no public address and cannot work without NAT. Fix: add private subnets to existingSubnets, or set trainingNodes to 1.',
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "messages"), REFUSED, ids=range(len(REFUSED)))
def test_a_network_that_cannot_carry_the_stack_is_refused(
    changes: dict[str, Any], messages: list[str]
) -> None:
    assert faults_of(changes) == messages


@pytest.mark.parametrize("left_out", ["orchestrator", "ingestion"])
def test_one_function_is_enough_to_need_a_way_to_the_models(left_out: str) -> None:
    faults = faults_of({"natGateways": "none", "vectorPrivateEndpoint": True, left_out: False})
    assert [fault.split(" ")[0] for fault in faults] == ["vectorPrivateEndpoint"], "its calls would time out"


@pytest.mark.parametrize(
    "changes",
    [
        {"availabilityZones": ZONES[:6]},
        {"availabilityZones": ZONES[:1], "ragService": False},
        EXISTING_VPC,
        {**EXISTING_VPC, "existingVpcCidr": "52.0.0.0/28"},
        {**EXISTING_VPC, "existingSubnets": PUBLIC_SUBNETS},
        {**EXISTING_VPC, **PUBLIC, "existingSubnets": [SUBNETS[0], *PUBLIC_SUBNETS]},
        {**EXISTING_VPC, "existingSubnets": SUBNETS[:1], "ragService": False},
        {"natGateways": "none"},
        {
            "natGateways": "none",
            "vectorPrivateEndpoint": True,
            "interfaceEndpoints": ["bedrock-runtime", "sqs"],
        },
        {
            "natGateways": "none",
            "vectorPrivateEndpoint": True,
            "interfaceEndpoints": ["bedrock-runtime"],
            "ingestion": False,
        },
        {"natGateways": "none", "vectorPrivateEndpoint": True, "orchestrator": False, "ingestion": False},
        {"natGateways": "none", **MULTI_NODE, "trainingNodes": 1},
        {"natGateways": "onePerZone", **MULTI_NODE, "vectorPrivateEndpoint": True},
        {**EXISTING_VPC, **MULTI_NODE},
    ],
)
def test_a_network_that_carries_the_stack_is_not_refused(changes: dict[str, Any]) -> None:
    assert faults_of(changes) == []


def test_zones_are_reported_once_for_all() -> None:
    faults = faults_of({"availabilityZones": ["us-east-1a", "eu-central-1b", "us-east-1c"]})
    assert faults == [
        "availabilityZones = us-east-1a, us-east-1c: must be zones of eu-central-1. "
        "Fix: use zones of eu-central-1, or change region."
    ]


def test_zones_are_asked_for_also_when_the_region_is_missing() -> None:
    assert faults_of({"region": None, "availabilityZones": None}) == [
        "region is not set: it is required. Fix: set it; it must be a region such as eu-central-1.",
        "availabilityZones is not set: a network of our own needs its zones. "
        "Fix: list zones such as eu-central-1a and eu-central-1b, or set existingVpcId.",
    ]
