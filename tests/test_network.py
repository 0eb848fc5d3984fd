import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from components.aws_account import AwsAccount
from components.config import PlatformConfig
from components.network import Network, NetworkArgs, endpoint_service
from ops.capture.awsx_vpc import EIP, NAT_GATEWAY, ROUTE_TABLE, SUBNET, VPC_ENDPOINT
from ops.capture.computed import Computed
from ops.capture.program import PROJECT_ROOT, record_program
from ops.capture.recording import RecordedResource, Recording
from ops.capture.stack_files import load_stack_config

AWSX_VPC = "awsx:ec2:Vpc"
DEFAULT_GROUP = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
FLOW_LOG = "aws:ec2/flowLog:FlowLog"
INGRESS_RULE = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
TWO_ZONES = ["eu-central-1a", "eu-central-1b"]
EXISTING = {
    "availabilityZones": [],
    "existingVpcId": "vpc-0123456789abcdef0",
    "existingVpcCidr": "10.60.0.0/16",
    "existingSubnets": [
        {"id": "subnet-a1", "zone": "eu-central-1a", "tier": "private"},
        {"id": "subnet-a2", "zone": "eu-central-1a", "tier": "private"},
        {"id": "subnet-b1", "zone": "eu-central-1b", "tier": "private"},
    ],
}

Register = Callable[..., Recording]


def build() -> None:
    config = PlatformConfig.load()
    account = AwsAccount.connect(config)
    args = NetworkArgs(
        config=config.network,
        region=account.region,
        asleep=config.general.asleep,
        log_retention_days=config.general.log_retention_days,
    )
    Network("network", args, account.options)


@pytest.fixture(scope="module")
def built() -> Recording:
    """The network of the dev stack."""
    return record_program(build, load_stack_config(PROJECT_ROOT, "dev"), "dev")


def registered(recording: Recording) -> Mapping[str, Any]:
    return recording.registered_outputs[recording.one("aiplatform:index:Network").urn]


def resource_id(resource: RecordedResource) -> str:
    """The id, which is how its ARN ends."""
    return resource.outputs["arn"].rpartition("/")[2]


def subnet_ids(recording: Recording, layer: str) -> list[str]:
    return [resource_id(item) for item in recording.of_type(SUBNET) if f"-{layer}-" in item.name]


def interface_endpoints(recording: Recording) -> list[RecordedResource]:
    return [item for item in recording.of_type(VPC_ENDPOINT) if item.inputs["vpcEndpointType"] == "Interface"]


def test_subnets_have_the_blocks_of_our_own_plan(built: Recording) -> None:
    subnets = {item.name: item.inputs["cidrBlock"] for item in built.of_type(SUBNET)}
    assert subnets == {
        "network-vpc-public-1": "10.20.0.0/22",
        "network-vpc-public-2": "10.20.4.0/22",
        "network-vpc-private-1": "10.20.32.0/19",
        "network-vpc-private-2": "10.20.64.0/19",
    }


def test_the_strategies_are_those_that_respect_blocks_and_route_tables(built: Recording) -> None:
    inputs = built.one(AWSX_VPC).inputs
    assert inputs["subnetStrategy"] == "Auto", (
        "the default of awsx ignores our blocks without a word and computes its own, which move with the next zone"
    )
    assert inputs["vpcEndpointStrategy"] == "Auto", (
        "the default of awsx gives gateway endpoints no route table: traffic to S3 would go through NAT, or nowhere"
    )
    assert inputs["availabilityZoneNames"] == TWO_ZONES, "awsx would choose the zones by itself"


def test_s3_and_dynamodb_are_reached_from_every_subnet_without_nat(built: Recording) -> None:
    recording = built
    endpoints = {item.inputs["serviceName"]: item.inputs for item in recording.of_type(VPC_ENDPOINT)}
    assert set(endpoints) == {"com.amazonaws.eu-central-1.s3", "com.amazonaws.eu-central-1.dynamodb"}
    tables = {resource_id(item) for item in recording.of_type(ROUTE_TABLE)}
    for name, inputs in endpoints.items():
        assert inputs["vpcEndpointType"] == "Gateway", f"{name} would bill by the hour"
        assert set(inputs["routeTableIds"]) == tables, f"subnets without a route would not reach {name}"


def test_names_resolve_inside_the_network(built: Recording) -> None:
    inputs = built.one(AWSX_VPC).inputs
    assert inputs["enableDnsSupport"] is True, "nothing would resolve a name"
    assert inputs["enableDnsHostnames"] is True, "mount targets and private endpoints would have no names"


def test_a_zone_at_the_end_changes_no_existing_subnet(register: Register, built: Recording) -> None:
    before = {item.name: item.inputs for item in built.of_type(SUBNET)}
    more = register(build, changes={"availabilityZones": [*TWO_ZONES, "eu-central-1c"]})
    after = {item.name: item.inputs for item in more.of_type(SUBNET)}
    for name, inputs in before.items():
        assert after[name] == inputs, f"{name} would be replaced, with everything in it"
    assert len(after) == len(before) + 2


@pytest.mark.parametrize(("strategy", "gateways"), [("none", 0), ("single", 1), ("onePerZone", 2)])
def test_nat_gateways_are_as_many_as_configured(register: Register, strategy: str, gateways: int) -> None:
    recording = register(build, changes={"natGateways": strategy})
    assert len(recording.of_type(NAT_GATEWAY)) == gateways
    assert len(recording.of_type(EIP)) == gateways


@pytest.mark.parametrize(
    ("strategy", "layer"), [("none", "public"), ("single", "private"), ("onePerZone", "private")]
)
def test_workloads_sit_where_they_reach_the_internet(register: Register, strategy: str, layer: str) -> None:
    recording = register(build, changes={"natGateways": strategy})
    assert registered(recording)["workload_subnet_ids"] == subnet_ids(recording, layer)


@pytest.mark.parametrize("strategy", ["none", "single"])
def test_every_zone_has_one_private_subnet_for_mounts(register: Register, strategy: str) -> None:
    recording = register(build, changes={"natGateways": strategy})
    assert registered(recording)["mount_subnets"] == dict(
        zip(TWO_ZONES, subnet_ids(recording, "private"), strict=True)
    ), "mount targets would move when NAT is switched"


def test_a_sleeping_network_pays_for_no_hours_and_moves_nothing(register: Register) -> None:
    changes = {"natGateways": "onePerZone", "interfaceEndpoints": ["sqs", "logs"]}
    awake, asleep = register(build, changes=changes), register(build, changes={**changes, "asleep": True})
    assert awake.of_type(NAT_GATEWAY) and interface_endpoints(awake)
    assert not asleep.of_type(NAT_GATEWAY), "NAT gateways bill while nobody works"
    assert not interface_endpoints(asleep), "endpoints bill while nobody works"
    assert registered(asleep) == registered(awake), "waking up would replace what holds data"


def test_interface_endpoints_answer_the_vpc_only(register: Register) -> None:
    recording = register(build, changes={"interfaceEndpoints": ["sqs", "ecr.api"]})
    rule = recording.one(INGRESS_RULE).inputs
    assert rule["cidrIpv4"] == "10.20.0.0/16", "strangers could reach AWS through our endpoints"
    assert (rule["ipProtocol"], rule["fromPort"], rule["toPort"]) == ("tcp", 443, 443)
    group = recording.one("aws:ec2/securityGroup:SecurityGroup")
    assert rule["securityGroupId"] == resource_id(group)
    endpoints = {item.inputs["serviceName"]: item.inputs for item in interface_endpoints(recording)}
    assert set(endpoints) == {"com.amazonaws.eu-central-1.sqs", "com.amazonaws.eu-central-1.ecr.api"}
    for name, inputs in endpoints.items():
        assert inputs["privateDnsEnabled"] is True, f"clients would look for {name} outside"
        assert inputs["subnetIds"] == subnet_ids(recording, "private"), f"{name} needs one subnet a zone"
        assert inputs["securityGroupIds"] == [resource_id(group)], f"{name} would use an open group"


def test_there_is_no_interface_endpoint_unless_it_is_listed(built: Recording) -> None:
    recording = built
    assert not interface_endpoints(recording), "they bill by the hour and zone"
    assert not recording.of_type("aws:ec2/securityGroup:SecurityGroup")


@pytest.mark.parametrize(
    ("region", "service", "name"),
    [
        ("eu-central-1", "sqs", "com.amazonaws.eu-central-1.sqs"),
        ("us-gov-west-1", "sqs", "com.amazonaws.us-gov-west-1.sqs"),
        ("cn-north-1", "sqs", "cn.com.amazonaws.cn-north-1.sqs"),
        ("cn-northwest-1", "ecr.dkr", "cn.com.amazonaws.cn-northwest-1.ecr.dkr"),
        ("cn-north-1", "logs", "com.amazonaws.cn-north-1.logs"),
        ("cn-north-1", "s3", "com.amazonaws.cn-north-1.s3"),
        ("eusc-de-east-1", "ecr.api", "eu.amazonaws.eusc-de-east-1.ecr.api"),
        ("eusc-de-east-1", "sqs", "com.amazonaws.eusc-de-east-1.sqs"),
    ],
)
def test_endpoints_have_the_names_of_their_region(region: str, service: str, name: str) -> None:
    assert endpoint_service(region, service) == name, "AWS knows no such service"


def test_the_default_security_group_lets_nothing_through(built: Recording) -> None:
    recording = built
    group = recording.one(DEFAULT_GROUP).inputs
    assert group["vpcId"] == recording.one(AWSX_VPC).outputs["vpcId"]
    assert group["ingress"] == [] and group["egress"] == [], (
        "whatever forgets its own group would reach the others"
    )


def test_flow_logs_are_off_unless_switched_on(built: Recording) -> None:
    assert not built.of_type(FLOW_LOG), "they bill by the gigabyte"


def test_flow_logs_record_all_traffic_for_as_long_as_configured(register: Register) -> None:
    recording = register(build, changes={"flowLogs": True, "logRetentionDays": 14})
    flow_log = recording.one(FLOW_LOG)
    group = recording.one("aws:cloudwatch/logGroup:LogGroup")
    assert flow_log.inputs["vpcId"] == recording.one(AWSX_VPC).outputs["vpcId"]
    assert flow_log.inputs["trafficType"] == "ALL", "half of the traffic would leave no trace"
    assert flow_log.inputs["logDestination"] == group.outputs["arn"]
    assert group.inputs["retentionInDays"] == 14, "logs would be kept, and paid for, for ever"


def test_the_role_of_flow_logs_writes_to_their_own_group_only(register: Register) -> None:
    recording = register(build, changes={"flowLogs": True})
    flow_log, role = recording.one(FLOW_LOG), recording.one("aws:iam/role:Role")
    policy = recording.one("aws:iam/rolePolicy:RolePolicy")
    group = recording.one("aws:cloudwatch/logGroup:LogGroup")
    assert flow_log.inputs["iamRoleArn"] == role.outputs["arn"]
    assert '"Service": "vpc-flow-logs.amazonaws.com"' in role.inputs["assumeRolePolicy"]
    assert policy.inputs["role"] == role.outputs["name"]
    [statement] = json.loads(policy.inputs["policy"])["Statement"]
    assert statement["Resource"] == [f"{group.outputs['arn']}:*"], "the role could write to foreign logs"
    assert statement["Action"] == ["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"]
    assert policy.urn in flow_log.dependencies, "the first minutes would be lost for want of permission"


def test_an_existing_vpc_is_used_as_it_is(register: Register) -> None:
    recording = register(build, changes=EXISTING)
    assert [item.type for item in recording.resources] == ["pulumi:providers:aws", "aiplatform:index:Network"]
    outputs = registered(recording)
    assert outputs["vpc_id"] == "vpc-0123456789abcdef0"
    assert outputs["workload_subnet_ids"] == ["subnet-a1", "subnet-b1"], (
        "a load balancer or an endpoint refuses two subnets of one zone"
    )
    assert outputs["mount_subnets"] == {"eu-central-1a": "subnet-a1", "eu-central-1b": "subnet-b1"}


def test_a_subnet_that_is_not_used_is_told(register: Register) -> None:
    [warning] = register(build, changes=EXISTING).warnings
    assert "subnet-a2" in warning and "subnet-a1" not in warning
    one_each = {
        **EXISTING,
        "existingSubnets": [EXISTING["existingSubnets"][0], EXISTING["existingSubnets"][2]],
    }
    assert not register(build, changes=one_each).warnings


def test_in_an_existing_vpc_mounts_prefer_private_subnets(register: Register) -> None:
    subnets = [
        {"id": "subnet-a1", "zone": "eu-central-1a", "tier": "private"},
        {"id": "subnet-a2", "zone": "eu-central-1a", "tier": "public"},
        {"id": "subnet-b1", "zone": "eu-central-1b", "tier": "public"},
    ]
    outputs = registered(
        register(build, changes={**EXISTING, "existingSubnets": subnets, "ragService": False})
    )
    assert outputs["mount_subnets"] == {"eu-central-1a": "subnet-a1", "eu-central-1b": "subnet-b1"}
    assert outputs["workload_subnet_ids"] == ["subnet-a1"], (
        "workloads with public addresses would be mixed in"
    )


def test_interface_endpoints_can_be_added_to_an_existing_vpc(register: Register) -> None:
    recording = register(build, changes={**EXISTING, "interfaceEndpoints": ["sqs"]})
    [endpoint] = interface_endpoints(recording)
    assert endpoint.inputs["vpcId"] == "vpc-0123456789abcdef0"
    assert endpoint.inputs["subnetIds"] == ["subnet-a1", "subnet-b1"]
    assert recording.one(INGRESS_RULE).inputs["cidrIpv4"] == "10.60.0.0/16"


@pytest.mark.parametrize("answers", [{"preview": True}, {"computed": Computed(empty=True)}])
@pytest.mark.parametrize("place", [{}, EXISTING])
def test_what_is_not_known_yet_changes_no_resource(
    register: Register, place: dict[str, Any], answers: dict[str, Any]
) -> None:
    changes = {"flowLogs": not place, "interfaceEndpoints": ["sqs"], "natGateways": "single", **place}
    early = record_program(build, load_stack_config(PROJECT_ROOT, "dev", changes), "dev", **answers)
    known = register(build, changes=changes)
    assert {item.urn for item in early.resources} == {item.urn for item in known.resources}, (
        "a preview would hide resources"
    )
