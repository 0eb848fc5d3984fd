"""A recording as the plan of Terraform: complete, in Terraform's names, and with references instead of ids."""

import json
from typing import Any

import pytest

from ops.capture.recording import RecordedResource, Recording, Secret, Unknown
from ops.judges.plan import plan, resources_by_address
from ops.judges.plan_names import OUTSIDE, property_name

BUCKET = "aws:s3/bucket:Bucket"
RULES = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"


def urn(name: str) -> str:
    return f"urn:pulumi:dev::shop::any::{name}"


def made(type_: str, name: str, needs: dict[str, str] | None = None, **inputs: Any) -> RecordedResource:
    dependencies = {key: frozenset({urn(other)}) for key, other in (needs or {}).items()}
    return RecordedResource(
        urn=urn(name), type=type_, name=name, parent=None, inputs=inputs, outputs=inputs,
        property_dependencies=dependencies,
    )  # fmt: skip


def planned(*resources: RecordedResource) -> dict[str, Any]:
    return plan(
        Recording(
            project="shop", stack="dev", resources=resources, invokes=(), registered_outputs={}, exports={}
        )
    )


def values(*resources: RecordedResource) -> dict[str, Any]:
    """The values of the last resource."""
    return planned(*resources)["planned_values"]["root_module"]["resources"][-1]["values"]


def test_every_resource_of_every_stack_is_in_the_plan(platform: Recording) -> None:
    expected = [item for item in platform.resources if not item.type.startswith(OUTSIDE)]
    listed = plan(platform)["planned_values"]["root_module"]["resources"]
    assert [item["address"] for item in listed] == list(resources_by_address(platform))
    assert len(listed) == len(expected), "some would never be judged"


def test_a_plan_is_json_and_the_same_every_time(platform: Recording) -> None:
    assert json.dumps(plan(platform)) == json.dumps(plan(platform))


def test_a_type_without_a_name_is_refused() -> None:
    with pytest.raises(LookupError, match="aws:rds/cluster:Cluster"):
        planned(made("aws:rds/cluster:Cluster", "data"))


def test_lists_of_blocks_lose_their_plural_and_single_blocks_become_lists() -> None:
    rule = {
        "id": "Move",
        "filter": {"prefix": "raw/"},
        "transitions": [{"days": 30, "storageClass": "GLACIER"}],
    }
    assert values(made(RULES, "rules", rules=[rule]))["rule"] == [
        {
            "filter": [{"prefix": "raw/"}],
            "id": "Move",
            "transition": [{"days": 30, "storage_class": "GLACIER"}],
        }
    ]


def test_keys_that_a_person_chose_stay_as_they_are() -> None:
    assert values(made(BUCKET, "lake", tags={"costCenter": "a"})) == {"tags": {"costCenter": "a"}}


@pytest.mark.parametrize(
    ("name", "is_block_list", "expected"),
    [
        ("vpcZoneIdentifiers", False, "vpc_zone_identifier"),
        ("blockDeviceMappings", True, "block_device_mappings"),
        ("capacityProviderStrategies", True, "capacity_provider_strategy"),
        ("cidrIpv4", False, "cidr_ipv4"),
        ("ingress", True, "ingress"),
        ("instanceTypes", False, "instance_type"),
        ("subnetIds", False, "subnet_ids"),
    ],
)
def test_properties_have_terraforms_names(name: str, is_block_list: bool, expected: str) -> None:
    assert property_name(name, is_block_list) == expected


def test_what_comes_from_another_resource_is_a_reference() -> None:
    resources = (made(BUCKET, "lake"), made(RULES, "rules", {"bucket": "lake"}, bucket="lake-abc"))
    assert values(*resources) == {}, "a tool could not tell which bucket has the rules"
    configuration = planned(*resources)["configuration"]["root_module"]["resources"][-1]
    assert configuration["expressions"] == {
        "bucket": {"references": ["aws_s3_bucket.lake.id", "aws_s3_bucket.lake"]}
    }


def test_a_document_that_mentions_another_resource_stays_readable() -> None:
    document = json.dumps({"Statement": []})
    policy = made("aws:s3/bucketPolicy:BucketPolicy", "tls", {"policy": "lake"}, policy=document)
    assert values(made(BUCKET, "lake"), policy) == {"policy": document}


@pytest.mark.parametrize("kind", ["Egress", "Ingress"])
def test_a_rule_for_all_protocols_and_addresses_has_ports_that_a_judge_looks_for(kind: str) -> None:
    type_ = f"aws:vpc/securityGroup{kind}Rule:SecurityGroup{kind}Rule"
    opened = values(made(type_, "all", ipProtocol="-1", cidrIpv4="0.0.0.0/0"))
    assert (opened["from_port"], opened["to_port"]) == (-1, -1), "checkov would take it for closed"
    assert "from_port" not in values(made(type_, "own", ipProtocol="-1", referencedSecurityGroupId="sg-1"))
    assert values(made(type_, "ssh", ipProtocol="tcp", fromPort=22, toPort=22))["from_port"] == 22


def test_the_files_of_a_function_stay_out_of_a_plan() -> None:
    assert values(made("aws:lambda/function:Function", "f", code={"a.py": {"file": "a.py"}})) == {}


def test_no_secret_gets_into_a_plan() -> None:
    bucket = made(BUCKET, "lake", bucket=Secret("hush"), acl=Unknown())
    assert values(bucket) == {"acl": None, "bucket": None}
