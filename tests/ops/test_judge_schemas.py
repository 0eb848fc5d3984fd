"""Values that CloudFormation's schemas know better: the stacks pass, and every row of the table can say no."""

import datetime
from dataclasses import replace
from typing import Any

import pytest

from ops.capture.recording import Recording
from ops.judges.schema_table import ROWS
from ops.judges.schemas import complaints, part_schema, schema_findings, values_at
from recordings import recorded

TODAY = datetime.date(2026, 12, 1)
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
FUNCTION = "aws:lambda/function:Function"
GROUP = "aws:autoscaling/group:Group"
PROVIDER = "aws:ecs/capacityProvider:CapacityProvider"
SERVICE = "aws:ecs/service:Service"
FILES = "aws:efs/fileSystem:FileSystem"
COLLECTION = "aws:opensearch/serverlessCollection:ServerlessCollection"
TASK = "aws:ecs/taskDefinition:TaskDefinition"
RULES = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"


def planted(type_: str, **inputs: Any) -> Recording:
    """The prod stack with properties of every resource of a type replaced."""
    recording = recorded("prod")
    resources = tuple(
        replace(item, inputs={**item.inputs, **inputs}) if item.type == type_ else item
        for item in recording.resources
    )
    assert resources != recording.resources, f"there is no {type_}, so nothing was planted"
    return replace(recording, resources=resources)


def test_the_stacks_pass(platform: Recording) -> None:
    assert schema_findings(platform, TODAY) == []


@pytest.mark.parametrize(
    ("type_", "inputs", "rule"),
    [
        (LOG_GROUP, {"retentionInDays": 42}, "schema retentionInDays"),
        (FUNCTION, {"memorySize": 64}, "schema memorySize"),
        (FUNCTION, {"timeout": 90_000}, "schema timeout"),
        (FUNCTION, {"architectures": ["arm"]}, "schema architectures"),
        (FUNCTION, {"runtime": "python3.31"}, "schema runtime"),
        (FILES, {"throughputMode": "turbo"}, "schema throughputMode"),
        (FILES, {"lifecyclePolicies": [{"transitionToIa": "AFTER_31_DAYS"}]}, "schema lifecyclePolicies[].transitionToIa"),
        (COLLECTION, {"name": "Platform_Prod"}, "schema name"),
        (COLLECTION, {"type": "VECTOR"}, "schema type"),
        (RULES, {"rules": [{"transitions": [{"storageClass": "COLD"}]}]}, "schema rules[].transitions[].storageClass"),
        (TASK, {"cpu": "256", "memory": "4096"}, "fargate-size"),
        (GROUP, {"healthCheckType": "ECS"}, "schema healthCheckType"),
        (GROUP, {"initialLifecycleHooks": [{"name": "boot finished"}]}, "schema initialLifecycleHooks[].name"),
        (PROVIDER, {"autoScalingGroupProvider": {"managedDraining": "ON"}},
         "schema autoScalingGroupProvider.managedDraining"),
        (PROVIDER, {"autoScalingGroupProvider": {"managedScaling": {"targetCapacity": 101}}},
         "schema autoScalingGroupProvider.managedScaling.targetCapacity"),
        (SERVICE, {"capacityProviderStrategies": [{"weight": 1001}]}, "schema capacityProviderStrategies[].weight"),
    ],
)  # fmt: skip
def test_a_value_that_aws_would_refuse_is_seen(type_: str, inputs: dict[str, Any], rule: str) -> None:
    assert {item.rule for item in schema_findings(planted(type_, **inputs), TODAY)} == {rule}


def test_a_runtime_is_told_once_it_is_at_its_end() -> None:
    recording = recorded("prod")
    last_day = datetime.date(2100, 1, 1)
    assert {item.rule for item in schema_findings(recording, last_day)} == {"runtime-end"}
    assert schema_findings(recording, TODAY) == []


@pytest.mark.parametrize(("cloudformation_type", "part"), sorted({row[2:] for row in ROWS}))
def test_every_row_of_the_table_can_say_no(cloudformation_type: str, part: str) -> None:
    schema = part_schema("eu-central-1", cloudformation_type, part)
    assert any(complaints(schema, value) for value in (-1, "no such value", ["no such value"]))
    bare = {key: value for key, value in schema.items() if key not in ("description", "definitions", "type")}
    assert bare, "only a value of another type would be refused, which the provider sees itself"


@pytest.mark.parametrize("region", ["eu-nowhere-1", "ap-southeast-7"])
def test_a_region_without_a_schema_of_its_own_is_judged_all_the_same(region: str) -> None:
    schema = part_schema(region, "AWS::OpenSearchServerless::Collection", "Type")
    assert complaints(schema, "VECTOR"), "a stack there would end in a traceback, or pass unread"


@pytest.mark.parametrize(("type_", "path"), sorted({row[:2] for row in ROWS}))
def test_every_row_of_the_table_meets_a_value_of_a_stack(type_: str, path: str) -> None:
    found = [
        value
        for stack in ("dev", "staging", "prod")
        for item in recorded(stack).of_type(type_)
        for value in values_at(item.inputs, path)
    ]
    assert found, "the property is called something else"
