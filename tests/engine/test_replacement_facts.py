"""The replacement facts cover what the program registers, name real properties and differ from CloudFormation as listed."""

import ast
import csv
import importlib
import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args, get_origin

import pulumi
import pulumi_aws
import pytest
from pulumi import _types

from ops.capture import awsx_vpc
from ops.capture.program import PROJECT_ROOT
from ops.capture.recording import Recording
from tests.engine.replacement_conditions import CONDITIONS
from tests.engine.replacement_facts import (
    FACTS,
    PROVIDER,
    REPLACING,
    ReplacedWhen,
    replaced_by,
    replacing_properties,
)

BUCKET = "aws:s3/bucket:Bucket"
COLLECTION = "aws:opensearch/serverlessCollection:ServerlessCollection"
COMPUTE_ENVIRONMENT = "aws:batch/computeEnvironment:ComputeEnvironment"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
FILE_SYSTEM = "aws:efs/fileSystem:FileSystem"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
INVOCATION = "aws:lambda/invocation:Invocation"
LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
LOAD_BALANCER = "aws:lb/loadBalancer:LoadBalancer"
REPOSITORY = "aws:ecr/repository:Repository"
SERVICE = "aws:ecs/service:Service"
SUBNET = "aws:ec2/subnet:Subnet"
TARGET_GROUP = "aws:lb/targetGroup:TargetGroup"
TASK_DEFINITION = "aws:ecs/taskDefinition:TaskDefinition"
VPC = "aws:ec2/vpc:Vpc"

DIFFERENCES = Path(__file__).with_name("replacement_differences.csv")
CLOUDFORMATION_SERVICES = {
    "appautoscaling": "ApplicationAutoScaling",
    "autoscaling": "AutoScaling",
    "batch": "Batch",
    "budgets": "Budgets",
    "cloudwatch": "Logs",
    "ec2": "EC2",
    "ecr": "ECR",
    "ecs": "ECS",
    "efs": "EFS",
    "iam": "IAM",
    "lambda": "Lambda",
    "lb": "ElasticLoadBalancingV2",
    "opensearch": "OpenSearchServerless",
    "s3": "S3",
    "sqs": "SQS",
    "vpc": "EC2",
}
CLOUDFORMATION_NAMES = {
    "ClusterCapacityProviders": "ClusterCapacityProviderAssociations",
    "Eip": "EIP",
    "FunctionEventInvokeConfig": "EventInvokeConfig",
    "FunctionUrl": "Url",
    "Group": "AutoScalingGroup",
    "Policy": "ScalingPolicy",
    "RouteTableAssociation": "SubnetRouteTableAssociation",
    "SecurityGroupEgressRule": "SecurityGroupEgress",
    "SecurityGroupIngressRule": "SecurityGroupIngress",
    "Target": "ScalableTarget",
    "Vpc": "VPC",
    "VpcEndpoint": "VPCEndpoint",
}
# CloudFormation sets these on another resource, or has nothing like them.
WITHOUT_COUNTERPART = {
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
    "aws:ecr/lifecyclePolicy:LifecyclePolicy",
    "aws:efs/backupPolicy:BackupPolicy",
    "aws:efs/fileSystemPolicy:FileSystemPolicy",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    INVOCATION,
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
    "aws:s3/bucketNotification:BucketNotification",
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls",
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
    "aws:s3/bucketVersioning:BucketVersioning",
    "aws:sqs/redriveAllowPolicy:RedriveAllowPolicy",
}


def test_every_type_that_a_stack_registers_has_facts(platform: Recording) -> None:
    registered = {resource.type for resource in platform.resources if resource.type.startswith("aws:")}
    assert not registered - FACTS.keys(), "no change would ever seem to replace these"


def test_every_type_that_the_source_can_register_has_facts() -> None:
    written = {token for path in PROJECT_ROOT.glob("components/*.py") for token in _types_made_in(path)}
    of_the_vpc = {
        value for value in vars(awsx_vpc).values() if isinstance(value, str) and value.startswith("aws:")
    }
    assert len(written) > 50 and len(of_the_vpc) > 5
    assert not (written | of_the_vpc) - FACTS.keys(), "no stack registers these yet, but a setting may"


def _types_made_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Attribute)
            and ast.unparse(node).startswith("aws.")
            and node.attr[0].isupper()
        ):
            _, module, name = ast.unparse(node).split(".")
            made = getattr(getattr(pulumi_aws, module), name)
            if isinstance(made, type) and issubclass(made, pulumi.CustomResource):
                yield vars(made)["pulumi_type"]


@pytest.mark.parametrize("type_token", FACTS)
def test_every_property_is_an_input_of_the_sdk(type_token: str) -> None:
    inputs = _inputs_of(type_token)
    unknown = [name for name in replacing_properties(type_token) if not _is_input(inputs, name)]
    assert not unknown, "a misspelt property never replaces anything"


def _inputs_of(type_token: str) -> type:
    _, path, name = type_token.split(":")
    package = path.split("/")[0].replace("lambda", "lambda_")
    module = importlib.import_module(
        getattr(importlib.import_module(f"pulumi_aws.{package}"), name).__module__
    )
    # The SDK renames the inputs where a nested type has the name already.
    return getattr(module, f"{name}InitArgs", None) or getattr(module, f"{name}Args")


def _is_input(inputs: type, path: str) -> bool:
    name, _, rest = path.partition(".")
    types = _types.input_type_types(inputs)
    if name.removesuffix("[]") not in types:
        return False
    hint = types[name.removesuffix("[]")]
    if not rest:
        return not name.endswith("[]")
    nested = [part for part in _parts_of(hint) if isinstance(part, type) and _types.is_input_type(part)]
    is_list = any("Sequence" in str(part) for part in _parts_of(hint))
    return name.endswith("[]") == is_list and any(_is_input(part, rest) for part in nested)


def _parts_of(hint: Any) -> Iterator[Any]:
    yield get_origin(hint) or hint
    for part in get_args(hint):
        yield from _parts_of(part)


def test_every_fact_names_its_place_in_the_provider() -> None:
    place = re.compile(rf"{re.escape(PROVIDER)} internal/(service|provider)/\w+ \w+")
    without = [source for facts in REPLACING.values() for source in facts.values() if not place.match(source)]
    assert not without, "nobody could check these"


def test_the_facts_use_exactly_the_conditions_that_there_are() -> None:
    used = {fact.only_if for facts in FACTS.values() for fact in facts.values()} - {""}
    assert used == CONDITIONS.keys()


def test_a_type_without_facts_is_refused_by_name() -> None:
    with pytest.raises(LookupError, match="aws:rds/cluster:Cluster"):
        replacing_properties("aws:rds/cluster:Cluster")


@cache
def _create_only(type_token: str) -> frozenset[str]:
    """CloudFormation's create-only paths, those that depend on the change included; cfn-lint ships its schemas."""
    schemas = files("cfnlint") / "data" / "schemas"
    file_names = json.loads((schemas / "providers" / "us-east-1.json").read_text(encoding="utf-8"))
    file_name = file_names[_cloudformation_type(type_token)]
    schema = json.loads((schemas / "resources" / f"{file_name}.json").read_text(encoding="utf-8"))
    paths = schema.get("createOnlyProperties", []) + schema.get("conditionalCreateOnlyProperties", [])
    return frozenset(path.removeprefix("/properties/").replace("/*", "").replace("/", ".") for path in paths)


def _cloudformation_type(type_token: str) -> str:
    _, path, name = type_token.split(":")
    plain = name.removeprefix("Serverless")
    return f"AWS::{CLOUDFORMATION_SERVICES[path.split('/')[0]]}::{CLOUDFORMATION_NAMES.get(plain, plain)}"


def _differing(type_token: str) -> Iterator[tuple[str, str]]:
    """What replaces on one side only, as the properties' names there with the side."""
    facts = FACTS[type_token].values()
    ours = {fact.property: _spelling(fact.cloudformation_name or fact.property) for fact in facts}
    theirs = {path: _spelling(path) for path in _create_only(type_token)}
    for names, others, side in ((ours, theirs, "provider"), (theirs, ours, "cloudformation")):
        for name, spelling in names.items():
            if not any(_lies_in(spelling, other) or _lies_in(other, spelling) for other in others.values()):
                yield name, side


def _spelling(path: str) -> str:
    return re.sub(r"s(?=$|\.)", "", path.replace("[]", "")).lower()


def _lies_in(path: str, root: str) -> bool:
    return path == root or path.startswith((f"{root}.", f"{root}["))


def test_the_differences_to_cloudformation_are_exactly_those_listed() -> None:
    with DIFFERENCES.open(encoding="utf-8", newline="") as table:
        listed = list(csv.DictReader(table))
    unused = {(row["type"], row["property"], row["replaces_in"]) for row in listed}
    for type_token in FACTS.keys() - WITHOUT_COUNTERPART:
        for name, side in _differing(type_token):
            rows = {
                row
                for row in ((item["type"], item["property"], item["replaces_in"]) for item in listed)
                if row[0] in (type_token, "*") and _lies_in(name, row[1]) and row[2] == side
            }
            assert rows, (
                f"{type_token} {name} replaces in the {side} alone: one of the two is wrong, or say why"
            )
            unused -= rows
    assert not unused, "both sides agree on these, so there is nothing to explain"
    assert all(row["reason"] for row in listed)


@pytest.mark.parametrize(
    ("type_token", "replacing", "in_place"),
    [
        (BUCKET, "bucket bucketPrefix objectLockEnabled", "forceDestroy tags"),
        (COLLECTION, "name type standbyReplicas collectionGroupName", "description tags"),
        (
            FILE_SYSTEM,
            "availabilityZoneName creationToken encrypted kmsKeyId performanceMode",
            "throughputMode lifecyclePolicies",
        ),
        (LAUNCH_TEMPLATE, "name namePrefix", "imageId instanceType userData"),
        (LOAD_BALANCER, "name internal loadBalancerType", "idleTimeout enableDeletionProtection"),
        (REPOSITORY, "name encryptionConfigurations", "imageTagMutability forceDelete"),
        (
            SERVICE,
            "cluster launchType name schedulingStrategy",
            "desiredCount networkConfiguration taskDefinition",
        ),
        (SUBNET, "availabilityZone cidrBlock vpcId", "mapPublicIpOnLaunch tags"),
        (TARGET_GROUP, "port protocol vpcId targetType", "healthCheck deregistrationDelay"),
        (TASK_DEFINITION, "containerDefinitions cpu memory family taskRoleArn", "trackLatest skipDestroy"),
        (VPC, "cidrBlock", "enableDnsHostnames"),
    ],
)
def test_a_type_is_replaced_by_what_aws_cannot_change(type_token: str, replacing: str, in_place: str) -> None:
    facts = replacing_properties(type_token)
    assert set(replacing.split()) <= facts
    assert not set(in_place.split()) & facts


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


def test_every_regional_type_is_replaced_in_another_region() -> None:
    regional = {token for token in FACTS if "region" in _types.input_type_types(_inputs_of(token))}
    assert regional == {token for token, facts in FACTS.items() if "region" in facts}
    assert len(regional) > len(FACTS) / 2


def test_only_blocks_and_rule_sources_replace_by_being_added_or_removed() -> None:
    plain = {
        (token, fact.property)
        for token, facts in FACTS.items()
        for fact in facts.values()
        if fact.replaced_when is ReplacedWhen.ADDED_OR_REMOVED
        and not _holds_block(_inputs_of(token), fact.property)
    }
    assert {token.split(":")[-1] for token, _ in plain} == {
        "SecurityGroupEgressRule",
        "SecurityGroupIngressRule",
    }


def _holds_block(inputs: type, path: str) -> bool:
    name, _, rest = path.partition(".")
    hint = _types.input_type_types(inputs)[name.removesuffix("[]")]
    nested = [part for part in _parts_of(hint) if isinstance(part, type) and _types.is_input_type(part)]
    return any(_holds_block(part, rest) for part in nested) if rest else bool(nested)
