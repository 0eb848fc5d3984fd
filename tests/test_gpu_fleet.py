import subprocess
from typing import Any

import pytest

from components.config import ConfigError
from components.user_data import USER_DATA_LIMIT_BYTES
from gpu_workloads import (
    BLOCK_FLEET,
    DLAMI_FLEET,
    ECS_FLEET,
    FILE_SYSTEM_ID,
    GROUP,
    TEMPLATE,
    record_fleets,
    user_data,
)
from ops.capture.recording import Recording
from walk import statements

PROVIDER = "aws:ecs/capacityProvider:CapacityProvider"
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
NEURON_FLEET = {**ECS_FLEET, "nodeImage": "ecs-neuron", "instanceTypes": ["inf2.xlarge"]}
spot_fleets = pytest.mark.parametrize("fleet", [DLAMI_FLEET, ECS_FLEET], ids=["dlami", "ecs-gpu"])
all_fleets = pytest.mark.parametrize(
    "fleet", [DLAMI_FLEET, ECS_FLEET, BLOCK_FLEET], ids=["dlami", "ecs-gpu", "capacity-block"]
)


def template_of(fleet: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return dict(record_fleets(fleet, **changes).one(TEMPLATE).inputs)


def allowed_to(recording: Recording, policy_name: str) -> list[dict[str, Any]]:
    return [statement for item, statement in statements(recording) if item.name == policy_name]


@all_fleets
def test_user_data_decodes_once_to_a_script_that_bash_takes(fleet: dict[str, Any]) -> None:
    script = user_data(record_fleets(fleet).one(TEMPLATE))

    assert script[:2] == b"#!", (
        "cloud-init would not run the boot script: the node is encoded twice or not at all"
    )
    assert b"\r" not in script, "bash would look for commands that end in a carriage return"
    assert len(script) < USER_DATA_LIMIT_BYTES, "EC2 would refuse the template"
    assert b"line one\nline two" in script, "the operator's own lines would be lost"
    subprocess.run(["bash", "-n"], input=script, check=True)


def test_a_dlami_node_is_told_its_region_files_group_and_hook() -> None:
    recording = record_fleets(DLAMI_FLEET)
    script = user_data(recording.one(TEMPLATE)).decode()
    points = {
        item.name.removeprefix("files-"): item.outputs["id"] if "id" in item.outputs else item.outputs["arn"].split("/")[-1]
        for item in recording.of_type("aws:efs/accessPoint:AccessPoint")
    }  # fmt: skip
    group = recording.one(GROUP).inputs

    assert f"FILE_SYSTEM_ID={FILE_SYSTEM_ID}\n" in script, "the node would find no shared files"
    assert "AWS_REGION=eu-central-1\n" in script, "the node would complete its launch in another region"
    for folder, point_id in points.items():
        assert f"{folder.upper()}_ACCESS_POINT_ID={point_id}\n" in script, f"{folder} would hold other files"
    assert f"AUTO_SCALING_GROUP_NAME={group['name']}\n" in script, "every launch would be abandoned"
    hook = group["initialLifecycleHooks"][0]["name"]
    assert f"LIFECYCLE_HOOK_NAME={hook}\n" in script, "every launch would be abandoned"


@pytest.mark.parametrize(("fleet", "gpu"), [(ECS_FLEET, "true"), (NEURON_FLEET, "false")])
def test_an_ecs_node_joins_the_stacks_cluster_with_its_kind_of_accelerator(
    fleet: dict[str, Any], gpu: str
) -> None:
    script = user_data(record_fleets(fleet).one(TEMPLATE)).decode()

    assert "ECS_CLUSTER=ai-cluster-dev\n" in script, "the node would serve another cluster"
    assert f"ECS_ENABLE_GPU_SUPPORT={gpu}\n" in script, "the agent would offer devices that are not there"


@spot_fleets
def test_spot_stands_in_the_groups_distribution_only(fleet: dict[str, Any]) -> None:
    template = template_of(fleet)

    assert "instanceMarketOptions" not in template, "AWS refuses a mixed group whose template asks for spot"
    assert "capacityReservationSpecification" not in template
    assert "instanceType" not in template, "one type would be launched, whatever the fleet lists"


@pytest.mark.parametrize(
    ("fleet", "device"), [(DLAMI_FLEET, "/dev/sda1"), (ECS_FLEET, "/dev/xvda")], ids=["dlami", "ecs-gpu"]
)
def test_the_root_disk_is_encrypted_sized_and_on_the_images_root_device(
    fleet: dict[str, Any], device: str
) -> None:
    assert template_of(fleet)["blockDeviceMappings"] == [
        {
            "deviceName": device,
            "ebs": {
                "volumeType": "gp3",
                "volumeSize": 200,
                "encrypted": "true",
                "deleteOnTermination": "true",
            },
        }
    ], "data would lie in clear, or the disk be too small, dear, or left behind"


@all_fleets
def test_metadata_needs_a_token_and_reaches_containers(fleet: dict[str, Any]) -> None:
    assert template_of(fleet)["metadataOptions"] == {
        "httpEndpoint": "enabled",
        "httpTokens": "required",
        "httpPutResponseHopLimit": 2,
    }, (
        "a forged request could take the node's role, or a container in a bridge network could not see a spot notice"
    )


@all_fleets
def test_security_groups_stand_in_one_place(fleet: dict[str, Any]) -> None:
    template = template_of(fleet)

    assert "vpcSecurityGroupIds" not in template and "securityGroupNames" not in template, (
        "EC2 refuses security groups beside network interfaces"
    )
    assert [len(item["securityGroups"]) for item in template["networkInterfaces"]] == [1], (
        "the node would join the VPC's default group"
    )


@pytest.mark.parametrize(("nat", "public", "tier"), [("none", "true", "public"), ("single", "false", "private")])  # fmt: skip
def test_nodes_reach_the_internet_by_an_address_of_their_own_only_without_nat(
    nat: str, public: str, tier: str
) -> None:
    recording = record_fleets(DLAMI_FLEET, natGateways=nat)
    interface = recording.one(TEMPLATE).inputs["networkInterfaces"][0]
    subnets = [
        item.outputs["arn"].split("/")[-1]
        for item in recording.of_type("aws:ec2/subnet:Subnet")
        if item.inputs["tags"]["SubnetType"].lower() == tier
    ]

    assert interface["associatePublicIpAddress"] == public, (
        "the node could fetch nothing, or be seen from outside"
    )
    assert recording.one(GROUP).inputs["vpcZoneIdentifiers"] == subnets, (
        "the address and the subnet do not fit"
    )


def test_nobody_can_connect_to_a_node() -> None:
    recording = record_fleets(DLAMI_FLEET, ECS_FLEET)

    for group in recording.of_type("aws:ec2/securityGroup:SecurityGroup"):
        assert not group.inputs.get("ingress"), f"{group.name} is open"
    ingress = recording.of_type("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule")
    assert not [rule.name for rule in ingress if rule.name.startswith("gpu-")], "a node is open"
    for template in recording.of_type(TEMPLATE):
        assert "keyName" not in template.inputs, "a lost key would open every node"


def test_nodes_reach_out_to_wherever_packages_and_models_come_from() -> None:
    recording = record_fleets(DLAMI_FLEET)
    group = recording.one("aws:ec2/securityGroup:SecurityGroup", "gpu-research-nodes")
    rule = recording.one("aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule", "gpu-research-nodes-out")

    assert rule.inputs["securityGroupId"] == group.outputs["arn"].split("/")[-1]
    assert (rule.inputs["cidrIpv4"], rule.inputs["ipProtocol"]) == ("0.0.0.0/0", "-1"), (
        "the boot script could install nothing"
    )


@all_fleets
def test_a_node_acts_with_the_role_of_its_fleet(fleet: dict[str, Any]) -> None:
    recording = record_fleets(fleet)
    profile, role = recording.one("aws:iam/instanceProfile:InstanceProfile"), f"gpu-{fleet['name']}-node"

    assert profile.inputs["role"] == recording.one("aws:iam/role:Role", role).outputs["name"]
    assert recording.one(TEMPLATE).inputs["iamInstanceProfile"] == {"arn": profile.outputs["arn"]}, (
        "the node could neither mount the shared files nor be reached"
    )


def test_nodes_are_reached_through_session_manager_in_every_partition() -> None:
    attachment = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
    china: dict[str, Any] = {"region": "cn-north-1", "availabilityZones": ["cn-north-1a", "cn-north-1b"]}
    workloads = {"ragService": False, "vectorStore": False, "orchestrator": False, "ingestion": False}
    fleet = {**DLAMI_FLEET, "instanceTypes": ["g5.xlarge"]}
    in_china = record_fleets(fleet, **china, **workloads)

    policy = "iam::aws:policy/AmazonSSMManagedInstanceCore"
    assert record_fleets(DLAMI_FLEET).one(attachment).inputs["policyArn"] == f"arn:aws:{policy}"
    assert in_china.one(attachment).inputs["policyArn"] == f"arn:aws-cn:{policy}", (
        "the stack could not be deployed in China"
    )


def test_a_dlami_node_may_complete_launches_of_its_own_group_only() -> None:
    assert allowed_to(record_fleets(DLAMI_FLEET), "gpu-research-finish-boot-gpu-research-node") == [
        {
            "Effect": "Allow",
            "Action": ["autoscaling:CompleteLifecycleAction"],
            "Resource": [
                "arn:aws:autoscaling:eu-central-1:111122223333:autoScalingGroup:*:autoScalingGroupName/ai-cluster-dev-research"
            ],
        }
    ], "a node could wave other fleets' launches through, or not report its own"


@pytest.mark.parametrize("limit", [{"idleMinutes": 60}, {"maximumLifeHours": 24}])
def test_a_node_that_ends_itself_may_end_nodes_of_its_own_group_only(limit: dict[str, int]) -> None:
    recording = record_fleets({**DLAMI_FLEET, **limit})

    assert allowed_to(recording, "gpu-research-end-nodes-gpu-research-node") == [
        {
            "Effect": "Allow",
            "Action": ["autoscaling:TerminateInstanceInAutoScalingGroup"],
            "Resource": [
                "arn:aws:autoscaling:eu-central-1:111122223333:autoScalingGroup:*:autoScalingGroupName/ai-cluster-dev-research"
            ],
        }
    ], "a node could end other fleets' nodes, or would be paid for ever"
    assert "gpu-research-end-nodes-gpu-research-node" not in [
        policy.name for policy in record_fleets(DLAMI_FLEET).of_type("aws:iam/rolePolicy:RolePolicy")
    ], "a node without limits needs no such permission"


def test_a_node_is_told_how_long_it_may_be_idle_and_live() -> None:
    limits = {"idleMinutes": 60, "maximumLifeHours": 24}
    script = user_data(record_fleets({**DLAMI_FLEET, **limits}).one(TEMPLATE)).decode()

    assert "export IDLE_MINUTES=60\n" in script and "export MAXIMUM_LIFE_HOURS=24\n" in script


node_fleets = pytest.mark.parametrize(
    "fleet", [DLAMI_FLEET, ECS_FLEET, NEURON_FLEET], ids=["dlami", "gpu", "neuron"]
)


@node_fleets
def test_a_node_may_send_logs_and_metrics_of_its_own_fleet_only(fleet: dict[str, Any]) -> None:
    recording = record_fleets(fleet)
    name = f"gpu-{fleet['name']}"
    group = recording.one(LOG_GROUP, f"{name}-node-logs")

    assert group.inputs["retentionInDays"] == 7, "logs would be paid for for ever"
    assert allowed_to(recording, f"{name}-send-metrics-{name}-node") == [
        {
            "Effect": "Allow",
            "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
            "Resource": [f"{group.outputs['arn']}:*"],
        },
        {
            "Effect": "Allow",
            "Action": ["cloudwatch:PutMetricData"],
            "Resource": ["*"],
            "Condition": {"StringEquals": {"cloudwatch:namespace": "AiPlatform/Nodes"}},
        },
    ], "a node could write into others' logs, or nobody would learn how its boot failed"
    script = user_data(recording.one(TEMPLATE)).decode()
    assert f"export NODE_LOG_GROUP={group.outputs['name']}\n" in script, "the log would be sent nowhere"
    assert f"export FLEET={recording.one(GROUP).inputs['name']}\n" in script, "fleets could not be told apart"


@node_fleets
def test_nodes_that_send_nothing_have_no_log_group_and_no_permission(fleet: dict[str, Any]) -> None:
    recording = record_fleets(fleet, nodeMetrics=False)

    assert not [
        item for item in recording.resources if "node-logs" in item.name or "send-metrics" in item.name
    ]
    assert b"export NODE_LOG_GROUP=''\n" in user_data(recording.one(TEMPLATE)), (
        "nodes would install an agent for nothing"
    )


@spot_fleets
def test_the_longest_names_that_can_be_typed_fit_into_user_data(fleet: dict[str, Any]) -> None:
    longest = {**fleet, "name": "f" * 24}
    recording = record_fleets(longest, nameSuffix="s" * 16)

    assert recording.one(GROUP).inputs["name"] == f"ai-cluster-{'s' * 16}-{'f' * 24}", (
        "the early check of an extra boot script would assume too little"
    )


def test_an_ecs_node_may_serve_the_stacks_cluster_only() -> None:
    cluster = "arn:aws:ecs:eu-central-1:111122223333:cluster/ai-cluster-dev"
    by_cluster, by_instance, anywhere = allowed_to(
        record_fleets(ECS_FLEET), "gpu-serving-join-cluster-gpu-serving-node"
    )

    assert by_cluster["Resource"] == [cluster], "a node could register with any cluster of the account"
    assert set(by_cluster["Action"]) == {
        "ecs:RegisterContainerInstance", "ecs:DeregisterContainerInstance", "ecs:SubmitAttachmentStateChanges",
        "ecs:SubmitContainerStateChange", "ecs:SubmitTaskStateChange",
    }, "the node could not register or report its tasks"  # fmt: skip
    assert by_instance["Condition"] == {"ArnEquals": {"ecs:cluster": [cluster]}}, (
        "tasks of others could be polled"
    )
    assert set(by_instance["Action"]) == {
        "ecs:Poll", "ecs:StartTelemetrySession", "ecs:UpdateContainerInstancesState",
    }, "the node would get no tasks, or not drain before spot takes it"  # fmt: skip
    assert anywhere["Action"] == ["ecs:DiscoverPollEndpoint"], "more than AWS makes us is open"


def test_a_fleet_registers_its_group_and_its_capacity_provider() -> None:
    recording = record_fleets(DLAMI_FLEET, ECS_FLEET)
    found = {
        fleet.name: recording.registered_outputs[fleet.urn]
        for fleet in recording.of_type("aiplatform:index:GpuFleet")
    }

    assert found["gpu-research"]["group_name"] == "ai-cluster-dev-research"
    assert not found["gpu-research"].get("capacity_provider_name")
    assert found["gpu-serving"]["capacity_provider_name"] == recording.one(PROVIDER).outputs["name"]


REFUSED: list[tuple[str, list[dict[str, Any]]]] = [
    ("extraBootScript = 17,000 characters", [{**DLAMI_FLEET, "extraBootScript": "x" * 17_000}]),
    ("checkpointPath is not set", [{**DLAMI_FLEET, "checkpointPath": ""}]),
    ("spotPoolCount = 2", [{**DLAMI_FLEET, "spotPoolCount": 2}]),
    ("missing: g5.2xlarge, g6.xlarge", [{**DLAMI_FLEET, "weights": {"g5.xlarge": 1}}]),
    ("weight 9", [{**DLAMI_FLEET, "instanceTypes": ["g5.xlarge"], "weights": {"g5.xlarge": 9}}]),
    ("weights", [{**ECS_FLEET, "instanceTypes": ["g5.xlarge"], "weights": {"g5.xlarge": 1}}]),
    ("capacityRebalancing = true", [{**ECS_FLEET, "capacityRebalancing": True}]),
    ("must have equal memory", [{**DLAMI_FLEET, "instanceTypes": ["g5.xlarge", "g6e.xlarge"]}]),
    ("p5.48xlarge in eu-central-1", [{**DLAMI_FLEET, "instanceTypes": ["p5.48xlarge"]}]),
    ("gpuFleets[1].name = research", [DLAMI_FLEET, DLAMI_FLEET]),
    ("nodeImage = ecs-gpu", [{**DLAMI_FLEET, "nodeImage": "ecs-gpu"}]),
    ("nodeImage = dlami", [{**DLAMI_FLEET, "purpose": "inference"}]),
]


@pytest.mark.parametrize(("told", "fleets"), REFUSED, ids=[told for told, _ in REFUSED])
def test_a_fleet_that_aws_would_refuse_or_that_loses_work_never_gets_as_far_as_a_resource(
    told: str, fleets: list[dict[str, Any]]
) -> None:
    with pytest.raises(ConfigError) as refused:
        record_fleets(*fleets)

    assert told in str(refused.value), "the person who typed it would not learn what to change"
    assert "1 fault" in str(refused.value), "one mistake would be told as several"
