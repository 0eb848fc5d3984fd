"""The replacement facts cover what the program registers, name real properties and differ from CloudFormation as listed."""

import ast
import csv
import importlib
import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, get_args, get_origin

import pulumi
import pulumi_aws
import pytest
from pulumi import _types

from ops.capture import awsx_vpc
from ops.capture.program import PROJECT_ROOT
from ops.capture.recording import Recording
from ops.replacements.conditions import CONDITIONS
from ops.replacements.facts import (
    FACTS,
    PROVIDER,
    REPLACING,
    ReplacedWhen,
    replacing_properties,
)

BUCKET = "aws:s3/bucket:Bucket"
COLLECTION = "aws:opensearch/serverlessCollection:ServerlessCollection"
FILE_SYSTEM = "aws:efs/fileSystem:FileSystem"
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
    "cloudwatch/metricAlarm": "CloudWatch",
    "ec2": "EC2",
    "ecr": "ECR",
    "ecs": "ECS",
    "efs": "EFS",
    "fis": "FIS",
    "iam": "IAM",
    "kms": "KMS",
    "lambda": "Lambda",
    "lb": "ElasticLoadBalancingV2",
    "opensearch": "OpenSearchServerless",
    "s3": "S3",
    "sfn": "StepFunctions",
    "sns": "SNS",
    "sqs": "SQS",
    "vpc": "EC2",
}
CLOUDFORMATION_NAMES = {
    "ClusterCapacityProviders": "ClusterCapacityProviderAssociations",
    "Eip": "EIP",
    "FunctionEventInvokeConfig": "EventInvokeConfig",
    "FunctionUrl": "Url",
    "Group": "AutoScalingGroup",
    "MetricAlarm": "Alarm",
    "Policy": "ScalingPolicy",
    "RouteTableAssociation": "SubnetRouteTableAssociation",
    "SecurityGroupEgressRule": "SecurityGroupEgress",
    "SecurityGroupIngressRule": "SecurityGroupIngress",
    "Target": "ScalableTarget",
    "TopicSubscription": "Subscription",
    "Vpc": "VPC",
    "VpcEndpoint": "VPCEndpoint",
}
# CloudFormation sets these on another resource, or has nothing like them.
WITHOUT_COUNTERPART = {
    "aws:appautoscaling/scheduledAction:ScheduledAction",
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
    missing = sorted((written | of_the_vpc) - FACTS.keys())
    assert not missing, "no stack registers these yet, but a setting may"


def _types_made_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Attribute)
            and ast.unparse(node).startswith("aws.")
            and node.attr[0].isupper()
        ):
            made: Any = pulumi_aws
            for part in ast.unparse(node).split(".")[1:]:
                made = getattr(made, part)
            if (
                isinstance(made, type)
                and issubclass(made, pulumi.CustomResource)
                and made is not pulumi_aws.Provider
            ):
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
def _schema(folder: str, name: str) -> dict[str, Any]:
    # Only the files: the package itself takes seconds to import.
    path = Path(str(distribution("cfn-lint").locate_file(f"cfnlint/data/schemas/{folder}/{name}.json")))
    return json.loads(path.read_text(encoding="utf-8"))


def _create_only(type_token: str) -> frozenset[str]:
    """CloudFormation's create-only paths, those that depend on the change included; cfn-lint ships its schemas."""
    file_name = _schema("providers", "us-east-1")[_cloudformation_type(type_token)]
    schema = _schema("resources", file_name)
    paths = schema.get("createOnlyProperties", []) + schema.get("conditionalCreateOnlyProperties", [])
    return frozenset(path.removeprefix("/properties/").replace("/*", "").replace("/", ".") for path in paths)


def _cloudformation_type(type_token: str) -> str:
    _, path, name = type_token.split(":")
    plain = name.removeprefix("Serverless")
    service = CLOUDFORMATION_SERVICES.get(path) or CLOUDFORMATION_SERVICES[path.split("/")[0]]
    return f"AWS::{service}::{CLOUDFORMATION_NAMES.get(name, plain)}"


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
