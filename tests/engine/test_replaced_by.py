"""What a change of inputs replaces: the provider's rules for plain values, lists, maps and blocks, and its conditions."""

from typing import Any

import pytest

from ops.replacements.facts import replaced_by

COMPUTE_ENVIRONMENT = "aws:batch/computeEnvironment:ComputeEnvironment"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
FILE_SYSTEM = "aws:efs/fileSystem:FileSystem"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
INVOCATION = "aws:lambda/invocation:Invocation"
LOAD_BALANCER = "aws:lb/loadBalancer:LoadBalancer"
SUBNET = "aws:ec2/subnet:Subnet"
TARGET_GROUP = "aws:lb/targetGroup:TargetGroup"
TASK_DEFINITION = "aws:ecs/taskDefinition:TaskDefinition"
VPC = "aws:ec2/vpc:Vpc"


def test_the_properties_that_hold_data_replace_only_when_they_change() -> None:
    old = {"encrypted": True, "performanceMode": "generalPurpose", "throughputMode": "elastic"}
    assert replaced_by(FILE_SYSTEM, old, old | {"performanceMode": "maxIO"}) == {"performanceMode"}
    assert not replaced_by(FILE_SYSTEM, old, old | {"throughputMode": "bursting"})


def test_a_property_that_aws_fills_in_is_kept_when_it_is_no_longer_given() -> None:
    assert not replaced_by(FILE_SYSTEM, {"encrypted": True, "kmsKeyId": "key"}, {"encrypted": True})
    assert replaced_by(FILE_SYSTEM, {"encrypted": True}, {"encrypted": True, "kmsKeyId": "key"}) == {
        "kmsKeyId"
    }
    root = {
        "rootDirectory": {"path": "/a", "creationInfo": {"ownerGid": 1, "ownerUid": 1}},
        "fileSystemId": "fs",
    }
    assert not replaced_by("aws:efs/accessPoint:AccessPoint", root, {"fileSystemId": "fs"})


def test_a_property_that_aws_does_not_fill_in_replaces_when_it_is_no_longer_given() -> None:
    old = {"targetType": "ip", "port": 80, "protocol": "HTTP"}
    assert replaced_by(TARGET_GROUP, old, {"targetType": "ip", "protocol": "HTTP"}) == {"port"}


def test_a_block_replaces_when_it_comes_or_goes_and_not_by_what_is_in_it() -> None:
    with_template = _compute({"launchTemplate": {"launchTemplateId": "lt-1", "version": "1"}})
    with_next = _compute({"launchTemplate": {"launchTemplateId": "lt-1", "version": "2"}})
    assert replaced_by(COMPUTE_ENVIRONMENT, _compute({}), with_template) == {
        "computeResources.launchTemplate"
    }
    assert not replaced_by(COMPUTE_ENVIRONMENT, with_template, with_next), (
        "new images would restart every queue"
    )


def test_an_item_more_in_a_list_of_blocks_replaces() -> None:
    one = {"family": "f", "volumes": [{"name": "a"}]}
    two = {"family": "f", "volumes": [{"name": "a"}, {"name": "b"}]}
    assert "volumes" in replaced_by(TASK_DEFINITION, one, two)
    assert replaced_by(TASK_DEFINITION, one, {"family": "f", "volumes": [{"name": "c"}]}) == {
        "volumes[0].name"
    }


def test_a_change_inside_a_map_or_a_list_of_values_replaces() -> None:
    old = {"functionName": "f", "input": "{}", "lifecycleScope": "CRUD", "triggers": {"collection": "a"}}
    assert replaced_by(INVOCATION, old, old | {"triggers": {"collection": "b"}}) == {"triggers.collection"}
    fargate = {"family": "f", "requiresCompatibilities": ["FARGATE"]}
    assert replaced_by(TASK_DEFINITION, fargate, {"family": "f", "requiresCompatibilities": ["EC2"]})


def test_an_empty_list_is_the_same_as_none() -> None:
    assert not replaced_by(TASK_DEFINITION, {"family": "f"}, {"family": "f", "volumes": []})


def test_a_name_does_not_stand_for_longer_names() -> None:
    assert not replaced_by(LOAD_BALANCER, {"nameX": "a"}, {"nameX": "b"})


def test_the_source_of_a_rule_may_change_within_its_kind_only() -> None:
    old = {"securityGroupId": "sg-1", "ipProtocol": "tcp", "cidrIpv4": "10.0.0.0/8"}
    rest = {key: value for key, value in old.items() if key != "cidrIpv4"}
    assert not replaced_by(INGRESS, old, rest | {"cidrIpv4": "10.1.0.0/16"})
    assert replaced_by(INGRESS, old, rest | {"prefixListId": "pl-1"}) == {"cidrIpv4", "prefixListId"}


def _compute(changes: dict[str, Any]) -> dict[str, Any]:
    resources = {
        "type": "EC2",
        "allocationStrategy": "BEST_FIT_PROGRESSIVE",
        "subnets": ["a"],
        "securityGroupIds": ["b"],
    }
    return {"type": "MANAGED", "computeResources": resources | changes}


@pytest.mark.parametrize(
    ("type_token", "old", "new", "expected"),
    [
        (COMPUTE_ENVIRONMENT, _compute({}), _compute({"subnets": ["c"]}), False),
        (COMPUTE_ENVIRONMENT, _compute({}), _compute({"allocationStrategy": "BEST_FIT"}), True),
        (
            COMPUTE_ENVIRONMENT,
            _compute({"allocationStrategy": "BEST_FIT"}),
            _compute({"allocationStrategy": "BEST_FIT", "subnets": ["c"]}),
            True,
        ),
        (
            COMPUTE_ENVIRONMENT,
            _compute({"type": "FARGATE", "allocationStrategy": ""}),
            _compute({"type": "FARGATE", "allocationStrategy": "", "subnets": ["c"]}),
            False,
        ),
        (
            COMPUTE_ENVIRONMENT,
            _compute({}) | {"serviceRole": "arn:aws:iam::111122223333:role/own"},
            _compute({"ec2KeyPair": "key"}) | {"serviceRole": "arn:aws:iam::111122223333:role/own"},
            True,
        ),
        (
            INVOCATION,
            {"input": "a", "lifecycleScope": "CRUD"},
            {"input": "b", "lifecycleScope": "CRUD"},
            False,
        ),
        (INVOCATION, {"input": "a"}, {"input": "b"}, True),
        (VPC, {"instanceTenancy": "dedicated"}, {"instanceTenancy": "default"}, False),
        (VPC, {"instanceTenancy": "dedicated"}, {}, False),
        (VPC, {}, {"instanceTenancy": "dedicated"}, True),
        (SUBNET, {"ipv6CidrBlock": "a"}, {"ipv6CidrBlock": "b"}, False),
        (
            SUBNET,
            {"ipv6CidrBlock": "a", "assignIpv6AddressOnCreation": True},
            {"ipv6CidrBlock": "b", "assignIpv6AddressOnCreation": True},
            True,
        ),
        (
            ENDPOINT,
            {"vpcEndpointType": "Interface", "privateDnsEnabled": True},
            {"vpcEndpointType": "Interface", "privateDnsEnabled": False},
            False,
        ),
        (ENDPOINT, {}, {"privateDnsEnabled": True}, True),
        (
            "aws:ec2/natGateway:NatGateway",
            {"connectivityType": "private"},
            {"connectivityType": "private", "secondaryPrivateIpAddressCount": 2},
            True,
        ),
        ("aws:ec2/natGateway:NatGateway", {}, {"secondaryPrivateIpAddressCount": 2}, False),
        ("aws:s3/bucketVersioning:BucketVersioning", {}, {"expectedBucketOwner": "111122223333"}, False),
        ("aws:s3/bucketVersioning:BucketVersioning", {"expectedBucketOwner": "111122223333"}, {}, True),
        (LOAD_BALANCER, {"subnets": ["a", "b"]}, {"subnets": ["a", "c"]}, False),
        (LOAD_BALANCER, {"securityGroups": ["a"]}, {}, False),
        (
            LOAD_BALANCER,
            {"subnetMappings": [{"subnetId": "a"}]},
            {"subnetMappings": [{"subnetId": "b"}]},
            True,
        ),
        (
            LOAD_BALANCER,
            {"subnetMappings": [{"subnetId": "a"}, {"subnetId": "b"}]},
            {"subnetMappings": [{"subnetId": "a"}]},
            False,
        ),
    ],
)
def test_a_condition_decides(
    type_token: str, old: dict[str, Any], new: dict[str, Any], expected: bool
) -> None:
    assert bool(replaced_by(type_token, old, new)) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"subnets": ["a", "b"]}, {"subnets": ["a", "c"]}, True),
        ({"subnets": ["a"]}, {"subnets": ["a", "b"]}, False),
        ({"securityGroups": ["a"]}, {"securityGroups": ["b"]}, False),
        ({}, {"securityGroups": ["a"]}, True),
        ({"secondaryIpsAutoAssignedPerSubnet": 2}, {"secondaryIpsAutoAssignedPerSubnet": 1}, True),
        ({"secondaryIpsAutoAssignedPerSubnet": 1}, {"secondaryIpsAutoAssignedPerSubnet": 2}, False),
        (
            {"subnetMappings": [{"subnetId": "a"}, {"subnetId": "b"}]},
            {"subnetMappings": [{"subnetId": "a"}]},
            True,
        ),
        (
            {"subnetMappings": [{"subnetId": "a"}]},
            {"subnetMappings": [{"subnetId": "a"}, {"subnetId": "b"}]},
            False,
        ),
    ],
)
def test_a_network_load_balancer_only_grows_in_place(
    old: dict[str, Any], new: dict[str, Any], expected: bool
) -> None:
    network = {"loadBalancerType": "network"}
    assert bool(replaced_by(LOAD_BALANCER, network | old, network | new)) is expected


def test_a_gateway_load_balancer_maps_its_subnets_in_place() -> None:
    old = {"loadBalancerType": "gateway", "subnetMappings": [{"subnetId": "a"}]}
    assert not replaced_by(LOAD_BALANCER, old, old | {"subnetMappings": [{"subnetId": "b"}]})
