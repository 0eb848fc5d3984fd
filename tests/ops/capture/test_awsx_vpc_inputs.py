from typing import Any

import pytest

from ops.capture.awsx_vpc import expand_vpc
from ops.capture.awsx_vpc_inputs import vpc_input_faults

PUBLIC = {"type": "Public", "name": "public", "cidrBlocks": ["10.20.0.0/22", "10.20.4.0/22"]}
PRIVATE = {"type": "Private", "name": "private", "cidrBlocks": ["10.20.32.0/19", "10.20.64.0/19"]}

VPC_INPUTS = {
    "availabilityZoneNames": ["eu-west-1a", "eu-west-1b"],
    "cidrBlock": "10.20.0.0/16",
    "natGateways": {"strategy": "None"},
    "subnetSpecs": [PUBLIC, PRIVATE],
    "subnetStrategy": "Auto",
    "vpcEndpointSpecs": [{"serviceName": "s3", "vpcEndpointType": "Gateway"}],
    "vpcEndpointStrategy": "Auto",
}


@pytest.mark.parametrize("strategy", ["None", "Single", "OnePerAz"])
def test_each_nat_strategy_is_covered(strategy: str) -> None:
    faults = vpc_input_faults(VPC_INPUTS | {"natGateways": {"strategy": strategy}})

    assert faults == [], "a network that the program can build would have no preview"


def test_an_input_that_is_registered_without_a_value_counts_as_not_given() -> None:
    assert vpc_input_faults(VPC_INPUTS | {"tags": None}) == [], "an input that nobody gave would be refused"


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"tags": {"team": "ml"}}, "tags is an input that is not covered"),
        ({"numberOfAvailabilityZones": 2}, "numberOfAvailabilityZones is an input that is not covered"),
        (
            {"availabilityZoneNames": None},
            "availabilityZoneNames is [], but must name at least one zone, and each once",
        ),
        (
            {"availabilityZoneNames": ["eu-west-1a", "eu-west-1a"]},
            "availabilityZoneNames is ['eu-west-1a', 'eu-west-1a'], "
            "but must name at least one zone, and each once",
        ),
        ({"cidrBlock": None}, "cidrBlock is not given"),
        ({"subnetStrategy": None}, "subnetStrategy is None, but must be Auto"),
        ({"vpcEndpointStrategy": "Legacy"}, "vpcEndpointStrategy is Legacy, but must be Auto"),
        (
            {"natGateways": None},
            "natGateways is None, but must be a strategy alone: None, Single or OnePerAz",
        ),
        (
            {"natGateways": {"strategy": "Single", "elasticIpAllocationIds": ["eipalloc-1"]}},
            "natGateways is {'strategy': 'Single', 'elasticIpAllocationIds': ['eipalloc-1']}, "
            "but must be a strategy alone: None, Single or OnePerAz",
        ),
        ({"subnetSpecs": None}, "subnetSpecs must be one of type Public and one of type Private"),
        ({"subnetSpecs": [PUBLIC]}, "subnetSpecs must be one of type Public and one of type Private"),
        (
            {"subnetSpecs": [PUBLIC, PRIVATE | {"name": "gpu"}]},
            f"subnetSpecs has {PRIVATE | {'name': 'gpu'}}, "
            "but must give type, its lower case as name, and cidrBlocks",
        ),
        (
            {"subnetSpecs": [PUBLIC, {"type": "Private", "name": "private", "cidrMask": 20}]},
            "subnetSpecs has {'type': 'Private', 'name': 'private', 'cidrMask': 20}, "
            "but must give type, its lower case as name, and cidrBlocks",
        ),
        (
            {"subnetSpecs": [PUBLIC, PRIVATE | {"cidrBlocks": ["10.20.32.0/19"]}]},
            "subnetSpecs has 1 private blocks for 2 zones",
        ),
        (
            {"subnetSpecs": [PUBLIC, PRIVATE | {"cidrBlocks": ["10.20.4.0/24", "10.20.64.0/19"]}]},
            "the subnets 10.20.4.0/22 and 10.20.4.0/24 overlap",
        ),
        (
            {"vpcEndpointSpecs": [{"serviceName": "sqs", "vpcEndpointType": "Interface"}]},
            "vpcEndpointSpecs has {'serviceName': 'sqs', 'vpcEndpointType': 'Interface'}, "
            "but must give serviceName and vpcEndpointType Gateway",
        ),
        (
            {"vpcEndpointSpecs": [{"serviceName": "s3"}]},
            "vpcEndpointSpecs has {'serviceName': 's3'}, "
            "but must give serviceName and vpcEndpointType Gateway",
        ),
    ],
)
def test_inputs_whose_children_are_not_known_are_refused_by_name(changes: dict[str, Any], fault: str) -> None:
    harm = "the preview would show children that the engine does not create"
    assert fault in vpc_input_faults(VPC_INPUTS | changes), harm


def test_one_error_names_every_input_that_is_not_covered() -> None:
    with pytest.raises(ValueError) as error:
        expand_vpc("net", VPC_INPUTS | {"subnetStrategy": "Legacy", "region": "eu-west-1"})

    assert str(error.value) == (
        "The children of awsx.ec2.Vpc net cannot be listed: region is an input that is not covered; "
        "subnetStrategy is Legacy, but must be Auto."
    ), "the person would fix one input and meet the other in the next run"
