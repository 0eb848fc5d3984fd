import json
from email import message_from_bytes
from typing import Any

import pytest

from components.user_data import render_user_data
from gpu_workloads import FILE_SYSTEM_ID, MULTI_NODE, TEMPLATE, TRAINING, record_workloads, user_data
from ops.capture.recording import Recording
from walk import statements

ENVIRONMENT = "aws:batch/computeEnvironment:ComputeEnvironment"
QUEUE = "aws:batch/jobQueue:JobQueue"
JOB = "aws:batch/jobDefinition:JobDefinition"
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
NODE_POLICY = "training-capacity-serve-jobs-training-capacity-node"
kinds = pytest.mark.parametrize("kind", ["spot", "on-demand"])


def environment(kind: str) -> dict[str, Any]:
    recording = record_workloads(TRAINING)
    return recording.one(ENVIRONMENT, f"training-capacity-{kind}").inputs["computeResources"]


def container(settings: dict[str, Any] | None = None) -> dict[str, Any]:
    recording = record_workloads(settings or TRAINING)
    return json.loads(recording.one(JOB, "training-job").inputs["containerProperties"])


def id_of(recording: Recording, type_token: str, name: str) -> str:
    return recording.one(type_token, name).outputs["arn"].split("/")[-1]


def node_statements(settings: dict[str, Any]) -> list[dict[str, Any]]:
    recording = record_workloads(settings)
    return [statement for item, statement in statements(recording) if item.name == NODE_POLICY]


@kinds
def test_a_job_that_no_node_can_hold_does_not_wait_for_ever(kind: str) -> None:
    actions = (
        record_workloads(TRAINING).one(QUEUE, f"training-capacity-{kind}").inputs["jobStateTimeLimitActions"]
    )
    reasons = {item["reason"].partition(":")[0] for item in actions}
    assert reasons == {"MISCONFIGURATION"}, "a wait for capacity is no fault of the job"
    assert {(item["state"], item["action"], item["maxTimeSeconds"]) for item in actions} == {
        ("RUNNABLE", "CANCEL", 600)
    }


@kinds
def test_no_node_runs_while_no_job_waits(kind: str) -> None:
    resources = environment(kind)

    assert resources["minVcpus"] == 0, "idle nodes would be paid for"
    assert "desiredVcpus" not in resources
    item = record_workloads(TRAINING).one(ENVIRONMENT, f"training-capacity-{kind}")
    assert "computeResources.desiredVcpus" in item.ignore_changes, "a deployment would end nodes under jobs"


@pytest.mark.parametrize(
    ("kind", "batch_type", "strategy"),
    [("spot", "SPOT", "SPOT_PRICE_CAPACITY_OPTIMIZED"), ("on-demand", "EC2", "BEST_FIT_PROGRESSIVE")],
)
def test_each_kind_of_capacity_takes_any_type_in_any_zone(kind: str, batch_type: str, strategy: str) -> None:
    resources = environment(kind)

    assert resources["type"] == batch_type
    assert resources["allocationStrategy"] == strategy, (
        "jobs would wait for one type, or be interrupted often"
    )
    assert resources["instanceTypes"] == ["g5.2xlarge", "g6.2xlarge"]
    assert resources["maxVcpus"] == 96
    assert len(resources["subnets"]) == 2, "jobs would wait while another zone has capacity"
    assert "placementGroup" not in resources
    assert "spotIamFleetRole" not in resources, "only the strategy BEST_FIT needs that role"


@kinds
def test_nodes_act_with_the_role_that_may_register_them(kind: str) -> None:
    recording = record_workloads(TRAINING)
    profile = recording.one("aws:iam/instanceProfile:InstanceProfile")
    role = recording.one("aws:iam/role:Role", "training-capacity-node")

    assert profile.inputs["role"] == role.outputs["name"]
    assert environment(kind)["instanceRole"] == profile.outputs["arn"], "Batch would refuse the environment"


@kinds
def test_batch_starts_nodes_from_our_template_by_number(kind: str) -> None:
    for version in (7, 8):
        recording = record_workloads(TRAINING, version)
        resources = recording.one(ENVIRONMENT, f"training-capacity-{kind}").inputs["computeResources"]
        assert resources["launchTemplate"] == {
            "launchTemplateId": id_of(recording, TEMPLATE, "training-capacity-template"),
            "version": str(version),
        }, "a changed template would reach no node"


def test_the_template_leaves_to_batch_what_batch_decides() -> None:
    template = record_workloads(TRAINING).one(TEMPLATE).inputs

    for key in ("imageId", "iamInstanceProfile", "instanceType", "instanceMarketOptions"):
        assert key not in template, f"Batch ignores {key}, so that its value would mislead"
    assert template["metadataOptions"]["httpTokens"] == "required", (
        "a forged request could take the node's role"
    )


def test_the_roots_disk_is_encrypted_and_its_cost_has_an_owner() -> None:
    template = record_workloads({**TRAINING, "trainingVolumeSizeGib": 300}).one(TEMPLATE).inputs

    (mapping,) = template["blockDeviceMappings"]
    assert mapping["deviceName"] == "/dev/xvda", "the root disk would stay at the image's 30 GiB"
    assert (mapping["ebs"]["volumeSize"], mapping["ebs"]["encrypted"]) == (300, "true")
    tags = {item["resourceType"]: item["tags"] for item in template["tagSpecifications"]}
    assert tags["volume"]["Owner"] == "platform-team", "the disks' cost would belong to nobody"


def test_user_data_is_the_mime_archive_that_batch_adds_to() -> None:
    archive, *parts = message_from_bytes(user_data(record_workloads(TRAINING).one(TEMPLATE))).walk()

    assert archive.get_content_type() == "multipart/mixed", "Batch would refuse the template"
    assert [part.get_content_type() for part in parts] == ["text/x-shellscript"], (
        "cloud-init would not run the boot script"
    )
    group = record_workloads(TRAINING).one(LOG_GROUP, "training-capacity-node-logs").outputs["name"]
    script = render_user_data("batch", {"FLEET": group, "NODE_LOG_GROUP": group})
    assert parts[0].get_payload() == script, "the node would run another script, or send its log elsewhere"


def test_nodes_of_jobs_may_send_logs_and_metrics_where_they_belong_and_nowhere_else() -> None:
    recording = record_workloads(TRAINING)
    group = recording.one(LOG_GROUP, "training-capacity-node-logs")
    policy = "training-capacity-send-metrics-training-capacity-node"
    log, metrics = [statement for item, statement in statements(recording) if item.name == policy]

    assert group.inputs["retentionInDays"] == 7, "logs would be paid for for ever"
    assert log["Resource"] == [f"{group.outputs['arn']}:*"], "a node could write into others' logs"
    assert metrics["Condition"] == {"StringEquals": {"cloudwatch:namespace": "AiPlatform/Nodes"}}, (
        "a node could write anybody's metrics"
    )


def test_nodes_of_jobs_that_send_nothing_have_no_log_group_and_no_permission() -> None:
    recording = record_workloads({**TRAINING, "nodeMetrics": False})

    assert not [
        item for item in recording.resources if "node-logs" in item.name or "send-metrics" in item.name
    ]
    for template in recording.of_type(TEMPLATE):
        assert b"export NODE_LOG_GROUP=''\n" in user_data(template), (
            "nodes would install an agent for nothing"
        )


@kinds
def test_a_change_of_the_environment_lets_running_jobs_finish(kind: str) -> None:
    settings = {**TRAINING, "trainingTimeoutHours": 4}
    item = record_workloads(settings).one(ENVIRONMENT, f"training-capacity-{kind}")

    assert item.inputs["updatePolicy"] == {
        "terminateJobsOnUpdate": False,
        "jobExecutionTimeoutMinutes": 4 * 60,
    }, "Batch would end jobs half an hour after a deployment"


@pytest.mark.parametrize(("asleep", "state"), [(True, "DISABLED"), (False, "ENABLED")])
def test_a_sleeping_stack_starts_no_node_for_a_job(asleep: bool, state: str) -> None:
    recording = record_workloads({**TRAINING, "asleep": asleep})
    for item in [*recording.of_type(ENVIRONMENT), *recording.of_type(QUEUE)]:
        assert item.inputs["state"] == state, f"{item.name} would start nodes that reach nothing, and bill"


def test_the_time_to_finish_stays_within_what_the_provider_takes() -> None:
    settings = {**TRAINING, "trainingTimeoutHours": 672}
    policy = record_workloads(settings).one(ENVIRONMENT, "training-capacity-spot").inputs["updatePolicy"]

    assert policy["jobExecutionTimeoutMinutes"] == 360, "the provider would refuse the environment"


@kinds
def test_each_kind_of_capacity_has_a_queue_of_its_own(kind: str) -> None:
    recording = record_workloads(TRAINING)
    queue = recording.one(QUEUE, f"training-capacity-{kind}")

    arn = recording.one(ENVIRONMENT, f"training-capacity-{kind}").outputs["arn"]
    assert queue.inputs["computeEnvironmentOrders"] == [{"order": 1, "computeEnvironment": arn}], (
        "a job for spot would run on demand at three times the price, or the reverse"
    )
    assert queue.inputs["state"] == "ENABLED"
    permission = recording.one("aws:iam/rolePolicy:RolePolicy", NODE_POLICY)
    assert permission.urn in queue.dependencies, "the first node would start before it may register"


def test_a_lost_host_and_a_saved_interruption_are_tried_again_and_nothing_else() -> None:
    for name, settings in (("training-job", TRAINING), ("training-multi-node-job", MULTI_NODE)):
        strategy = record_workloads(settings).one(JOB, name).inputs["retryStrategy"]
        assert strategy["attempts"] == 5
        assert strategy["evaluateOnExits"] == [
            {"onStatusReason": "Host EC2*", "action": "RETRY"},
            {"onExitCode": "75", "action": "RETRY"},
            {"onReason": "*", "action": "EXIT"},
        ], "an interrupted job would be lost, or a broken one be paid for five times"


def test_an_attempt_ends_after_its_time() -> None:
    job = record_workloads({**TRAINING, "trainingTimeoutHours": 24, "trainingAttempts": 3}).one(JOB)

    assert job.inputs["timeout"] == {"attemptDurationSeconds": 24 * 3600}, (
        "a job that hangs would cost for ever"
    )
    assert job.inputs["retryStrategy"]["attempts"] == 3
    assert job.inputs["platformCapabilities"] == ["EC2"]
    assert job.inputs["propagateTags"] is True, "the task's cost would belong to nobody"


def test_a_job_gets_the_image_and_the_resources_that_are_configured() -> None:
    sizes = {"trainingJobGpus": 4, "trainingJobVcpus": 8, "trainingJobMemoryMib": 30000}
    job = container({**TRAINING, "trainingInstanceTypes": ["g5.12xlarge"], **sizes})

    assert job["image"] == "docker.io/pytorch/pytorch:2.4.0"
    assert {item["type"]: item["value"] for item in job["resourceRequirements"]} == {
        "GPU": "4", "VCPU": "8", "MEMORY": "30000",
    }, "the job would see no GPU, or be killed for its memory"  # fmt: skip
    assert job["linuxParameters"]["sharedMemorySize"] == 15000, "data loader workers would crash"
    assert job["linuxParameters"]["initProcessEnabled"] is True, "an interruption would not reach the job"


def test_a_job_mounts_the_shared_files_with_its_own_role_over_tls() -> None:
    recording = record_workloads(TRAINING)
    job = container()
    volumes = {item["name"]: item.get("efsVolumeConfiguration") for item in job["volumes"]}
    paths = {item["sourceVolume"]: item["containerPath"] for item in job["mountPoints"]}

    assert job["jobRoleArn"] == recording.one("aws:iam/role:Role", "training-job").outputs["arn"]
    for folder in ("datasets", "checkpoints", "cache"):
        point = id_of(recording, "aws:efs/accessPoint:AccessPoint", f"files-{folder}")
        assert volumes[folder] == {
            "fileSystemId": FILE_SYSTEM_ID,
            "transitEncryption": "ENABLED",
            "authorizationConfig": {"accessPointId": point, "iam": "ENABLED"},
        }, f"{folder} could not be mounted: the file system lets nobody in without TLS, role and access point"
        assert paths[folder] == f"/mnt/shared-data/{folder}", "a checkpoint would be lost with its container"


def test_a_job_finds_its_cache_its_region_and_the_nodes_fast_disks() -> None:
    job = container()
    variables = {item["name"]: item["value"] for item in job["environment"]}

    assert variables["HF_HOME"] == "/mnt/shared-data/cache", "every attempt would download the model again"
    assert variables["AWS_REGION"] == "eu-central-1", "the job would look for the lake elsewhere"
    assert {"name": "scratch", "host": {"sourcePath": "/scratch"}} in job["volumes"]
    assert {"sourceVolume": "scratch", "containerPath": "/scratch"} in job["mountPoints"], (
        "the local disks that are paid for would stand idle"
    )


def test_a_jobs_log_goes_to_a_group_that_forgets() -> None:
    recording = record_workloads(TRAINING)
    group = recording.one("aws:cloudwatch/logGroup:LogGroup", "training-jobs")
    log = container()["logConfiguration"]

    assert group.inputs["retentionInDays"] == 7, "logs would be paid for for ever"
    assert log["logDriver"] == "awslogs"
    assert log["options"] == {
        "awslogs-group": group.outputs["name"],
        "awslogs-region": "eu-central-1",
        "awslogs-stream-prefix": "training",
    }, "the log of a failed job could not be found"


def test_only_a_task_may_take_the_jobs_role() -> None:
    role = record_workloads(TRAINING).one("aws:iam/role:Role", "training-job")

    (statement,) = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
    assert statement["Principal"] == {"Service": "ecs-tasks.amazonaws.com"}, "nodes could act as jobs"


def test_nodes_may_serve_the_environments_clusters_and_write_the_jobs_log() -> None:
    recording = record_workloads(MULTI_NODE)
    clusters = [item.outputs["ecsClusterArn"] for item in recording.of_type(ENVIRONMENT)]
    by_cluster, by_instance, _, log = node_statements(MULTI_NODE)

    assert len(clusters) == 3
    assert sorted(by_cluster["Resource"]) == sorted(clusters), (
        "jobs would wait for nodes that cannot register"
    )
    assert sorted(by_instance["Condition"]["ArnEquals"]["ecs:cluster"]) == sorted(clusters)
    group_arn = recording.one("aws:cloudwatch/logGroup:LogGroup", "training-jobs").outputs["arn"]
    assert log["Resource"] == [f"{group_arn}:*"], "no job would start: Docker could not open its log"
    assert set(log["Action"]) == {"logs:CreateLogStream", "logs:PutLogEvents"}


def test_nodes_may_pull_an_image_of_a_private_registry_and_no_other() -> None:
    image = "763104351884.dkr.ecr.eu-central-1.amazonaws.com/pytorch-training:2.4.0"
    *_, pull, token = node_statements({**TRAINING, "trainingImage": image})

    assert pull["Resource"] == ["arn:aws:ecr:eu-central-1:763104351884:repository/pytorch-training"], (
        "the job's image could not be pulled, or all images of the account could be"
    )
    assert token["Action"] == ["ecr:GetAuthorizationToken"]
    granted = [action for item in node_statements(TRAINING) for action in item["Action"]]
    assert not [action for action in granted if action.startswith("ecr:")], (
        "a public image needs no permission"
    )


@pytest.mark.parametrize(("nat", "public"), [("none", "true"), ("single", "false")])
def test_nodes_have_a_public_address_only_without_nat(nat: str, public: str) -> None:
    template = record_workloads({**TRAINING, "natGateways": nat}).one(TEMPLATE).inputs

    (interface,) = template["networkInterfaces"]
    assert interface["associatePublicIpAddress"] == public, (
        "nodes could not register, or be seen from outside"
    )


def test_jobs_of_one_node_need_nothing_open() -> None:
    recording = record_workloads(TRAINING)

    assert not recording.of_type("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"), (
        "a node could be reached from outside"
    )
    assert not recording.of_type("aws:ec2/placementGroup:PlacementGroup")
    assert {item.name for item in recording.of_type(QUEUE)} == {
        "training-capacity-spot", "training-capacity-on-demand",
    }  # fmt: skip
    assert {item.name for item in recording.of_type(JOB)} == {"training-job"}


def test_training_registers_its_queues_and_job_definitions() -> None:
    recording = record_workloads(MULTI_NODE)
    outputs = recording.registered_outputs[recording.one("aiplatform:index:Training").urn]

    for key, type_token, name in (
        ("spot_queue_arn", QUEUE, "training-capacity-spot"),
        ("on_demand_queue_arn", QUEUE, "training-capacity-on-demand"),
        ("multi_node_queue_arn", QUEUE, "training-capacity-multi-node"),
        ("job_definition_arn", JOB, "training-job"),
        ("multi_node_job_definition_arn", JOB, "training-multi-node-job"),
    ):
        assert outputs[key] == recording.one(type_token, name).outputs["arn"], f"{key} names something else"
