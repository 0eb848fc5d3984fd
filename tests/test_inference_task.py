"""The task of the model server: its containers, its volumes and its permissions."""

import json
import re
from collections.abc import Mapping
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from components.inference_containers import PUBLISHER_FILE
from components.inference_server import memory_mib
from gpu_node.watcher.containers import OPT_OUT_LABEL
from inference_workloads import (
    DEFINITION,
    LAKE_MODEL,
    TASK_DEFINITION,
    TOKEN,
    configured,
    containers,
    id_of,
    option,
    served,
    served_on_neuron,
    server,
    variables,
)
from ops.capture.recording import Recording

ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-quotas.html
LARGEST_DEFINITION_BYTES = 64 * 1024

EVERY_SHAPE: dict[str, dict[str, Any]] = {
    "a model of the hub": {},
    "a gated model": {"huggingFaceTokenSecretArn": TOKEN},
    "a model of the lake": {"inferenceModel": LAKE_MODEL},
    "several arguments": {"inferenceServerArguments": ["--dtype=half", "--seed", "1"]},
}


def definition(recording: Recording) -> Mapping[str, Any]:
    return recording.one(TASK_DEFINITION, DEFINITION).inputs


def policy(recording: Recording, name: str) -> list[dict[str, Any]]:
    return json.loads(recording.one(ROLE_POLICY, name).inputs["policy"])["Statement"]


def granted(recording: Recording, role: str) -> set[str]:
    """The names of the policies of a role."""
    physical = recording.one("aws:iam/role:Role", role).outputs["name"]
    return {item.name for item in recording.of_type(ROLE_POLICY) if item.inputs["role"] == physical}


class TestDefinition:
    def test_the_revision_before_stays_for_a_deployment_that_goes_back_to_it(self) -> None:
        assert definition(served())["skipDestroy"] is True, "ECS could not start servers of it any more"

    @pytest.mark.parametrize("model", ["Qwen/Qwen2.5-7B-Instruct", LAKE_MODEL])
    def test_a_server_and_its_helpers_share_what_ecs_can_give_them(self, model: str) -> None:
        reserved = [item["memoryReservation"] for item in containers(served(inferenceModel=model)).values()]
        most = memory_mib(*configured(inferenceModel=model))
        assert most - 512 <= sum(reserved) <= most, "the last server of a node would find no room"

    @pytest.mark.parametrize("record", [served, served_on_neuron])
    @pytest.mark.parametrize("changes", EVERY_SHAPE.values(), ids=EVERY_SHAPE.keys())
    def test_ecs_accepts_it(self, record: Any, changes: dict[str, Any]) -> None:
        inputs = definition(record(**changes))
        request = {key: inputs[key] for key in ("family", "networkMode", "requiresCompatibilities", "runtimePlatform")}  # fmt: skip
        request["containerDefinitions"] = json.loads(inputs["containerDefinitions"])
        model = botocore.session.get_session().get_service_model("ecs")
        report = ParamValidator().validate(
            request, model.operation_model("RegisterTaskDefinition").input_shape
        )
        assert not report.has_errors(), report.generate_report()
        for made in request["containerDefinitions"]:
            _check_members(made, model.shape_for("ContainerDefinition"), made["name"])
            assert made["memoryReservation"] >= 6, (
                "Docker wants as much, and ECS wants a reservation or a limit"
            )
        assert len(json.dumps(request)) < LARGEST_DEFINITION_BYTES / 2

    def test_it_runs_on_nodes_without_addresses_for_tasks(self) -> None:
        inputs = definition(served())
        assert inputs["requiresCompatibilities"] == ["EC2"]
        assert inputs["networkMode"] == "bridge", "a node without NAT gives a task no way out"
        assert inputs["family"] == "inference-dev"
        assert definition(served(nameSuffix=""))["family"] == "inference"

    def test_the_cache_is_mounted_by_access_point_with_the_task_s_role_over_tls(self) -> None:
        recording = served()
        volumes = {volume["name"]: volume for volume in definition(recording)["volumes"]}
        cache = id_of(recording, "aws:efs/accessPoint:AccessPoint", "shared-files-cache")
        assert volumes["cache"]["efsVolumeConfiguration"] == {
            "fileSystemId": id_of(recording, "aws:efs/fileSystem:FileSystem"),
            "transitEncryption": "ENABLED",
            "authorizationConfig": {"accessPointId": cache, "iam": "ENABLED"},
        }
        assert volumes["scratch"]["hostPath"] == "/scratch", "the model would fill the root disk of each task"


class TestServer:
    def test_it_is_reached_on_any_free_port_of_its_node(self) -> None:
        made = server(served())
        assert made["portMappings"] == [{"containerPort": 8000, "hostPort": 0, "protocol": "tcp"}]
        assert option(made, "--port") == "8000"
        assert made["entryPoint"] == ["vllm", "serve"], "images differ in what they start"

    def test_it_may_load_longer_than_a_container_s_own_health_check_allows(self) -> None:
        assert "healthCheck" not in server(served())

    def test_on_gpus_it_asks_ecs_for_them(self) -> None:
        fleet = [{"name": "serving", "purpose": "inference", "instanceTypes": ["g5.12xlarge"],
                  "nodeImage": "ecs-gpu", "maximum": 2}]  # fmt: skip
        made = server(served(gpuFleets=fleet, inferenceAccelerators=4))
        assert made["resourceRequirements"] == [{"type": "GPU", "value": "4"}]
        assert "devices" not in made["linuxParameters"]

    def test_on_neuron_it_maps_the_devices_by_number(self) -> None:
        made = server(served_on_neuron())
        paths = [device["hostPath"] for device in made["linuxParameters"]["devices"]]
        assert paths == ["/dev/neuron0", "/dev/neuron1"]
        assert all(
            device["containerPath"] == device["hostPath"] and device["permissions"] == ["read", "write"]
            for device in made["linuxParameters"]["devices"]
        )
        assert made["linuxParameters"]["capabilities"] == {"add": ["IPC_LOCK"]}
        assert "resourceRequirements" not in made, "no node has a GPU to give"

    def test_its_processes_have_shared_memory_for_their_tensors(self) -> None:
        made = server(served())
        assert 1024 <= made["linuxParameters"]["sharedMemorySize"] < made["memoryReservation"]

    def test_it_may_take_more_memory_than_it_reserves_while_it_loads(self) -> None:
        assert "memory" not in server(served())

    def test_its_end_reaches_it_and_is_waited_for(self) -> None:
        made = server(served())
        assert made["linuxParameters"]["initProcessEnabled"] is True, "SIGTERM would be ignored"
        assert made["stopTimeout"] == 120

    def test_the_watcher_on_the_node_leaves_a_drained_task_alone(self) -> None:
        for made in containers(served(inferenceModel=LAKE_MODEL)).values():
            assert made["dockerLabels"] == {OPT_OUT_LABEL: "ecs-drains"}, (
                f"{made['name']} would be ended early"
            )

    def test_a_token_is_injected_only_where_one_is_configured(self) -> None:
        assert server(served())["secrets"] == []
        made = server(served(huggingFaceTokenSecretArn=TOKEN))
        assert made["secrets"] == [{"name": "HF_TOKEN", "valueFrom": TOKEN}]
        assert TOKEN not in json.dumps([made["command"], made["environment"]])


class TestModelOfTheLake:
    def test_it_is_copied_before_the_server_starts(self) -> None:
        made = containers(served(inferenceModel=LAKE_MODEL))
        copy, target = made["model-copy"], f"/scratch/{LAKE_MODEL}"
        assert copy["command"][:2] == ["s3", "sync"]
        assert copy["command"][-2:] == [f"s3://lake-abc/{LAKE_MODEL}/", target]
        assert made["model-server"]["command"][0] == target
        assert made["model-server"]["dependsOn"] == [{"containerName": "model-copy", "condition": "SUCCESS"}]
        assert copy["essential"] is False, "its end would end the task"
        assert {mount["containerPath"] for mount in copy["mountPoints"]} == {"/scratch"}

    def test_the_server_waits_for_the_copy_as_long_as_it_may_start(self) -> None:
        copy = containers(served(inferenceModel=LAKE_MODEL, inferenceStartMinutes=45))["model-copy"]
        assert copy["startTimeout"] == 2700

    def test_servers_that_start_together_take_no_weights_from_each_other(self) -> None:
        copy = containers(served(inferenceModel=LAKE_MODEL))["model-copy"]
        assert "--delete" not in copy["command"], "one would delete what another is still writing"

    def test_the_copying_image_is_pinned(self) -> None:
        copy = containers(served(inferenceModel=LAKE_MODEL))["model-copy"]
        assert re.fullmatch(r"public\.ecr\.aws/aws-cli/aws-cli:\d+\.\d+\.\d+", copy["image"])

    def test_callers_use_its_last_name(self) -> None:
        assert option(server(served(inferenceModel=LAKE_MODEL)), "--served-model-name") == "my-7b"

    def test_a_model_of_the_hub_needs_no_copy(self) -> None:
        recording = served()
        assert set(containers(recording)) == {"model-server", "metrics"}
        assert "dependsOn" not in server(recording)


class TestPublisher:
    def test_it_reads_the_server_beside_it_and_names_the_service(self) -> None:
        recording = served()
        made = containers(recording)["metrics"]
        assert made["links"] == ["model-server"], "a bridge network knows containers by their links only"
        assert variables(made)["METRICS_URL"] == "http://model-server:8000/metrics"
        assert variables(made)["SERVICE"] == "inference-dev"

    def test_it_takes_no_gpu_and_no_second_image(self) -> None:
        made = containers(served())
        assert made["metrics"]["image"] == made["model-server"]["image"]
        assert variables(made["metrics"])["NVIDIA_VISIBLE_DEVICES"] == "void"
        assert "resourceRequirements" not in made["metrics"]

    def test_the_server_lives_on_without_it_and_it_is_started_again(self) -> None:
        made = containers(served())["metrics"]
        assert made["essential"] is False
        assert made["restartPolicy"] == {"enabled": True}
        assert made["linuxParameters"] == {"initProcessEnabled": True}, "it would hold up the end of the task"

    def test_it_carries_the_script_of_the_repository(self) -> None:
        made = containers(served())["metrics"]
        assert made["entryPoint"] == ["python3", "-c"]
        (script,) = made["command"]
        compile(script, PUBLISHER_FILE.name, "exec")
        carried = set(script.splitlines())
        assert carried <= set(PUBLISHER_FILE.read_text(encoding="utf-8").splitlines())
        assert any("WaitingRequests" in line for line in carried)


class TestPermissions:
    def test_the_containers_may_mount_the_cache_and_nothing_else(self) -> None:
        recording = served()
        assert granted(recording, "inference-task-role") == {"shared-files-mount-inference-task-role"}

    def test_a_model_of_the_lake_is_all_that_may_be_read_there(self) -> None:
        recording = served(inferenceModel=LAKE_MODEL)
        name = "data-lake-read-inference-task-role"
        assert granted(recording, "inference-task-role") == {"shared-files-mount-inference-task-role", name}
        listing, reading = policy(recording, name)
        assert listing["Condition"] == {"StringLike": {"s3:prefix": [f"{LAKE_MODEL}/*"]}}
        assert reading["Resource"] == [f"arn:aws:s3:::lake-abc/{LAKE_MODEL}/*"]

    def test_nodes_of_the_fleet_reach_the_shared_files(self) -> None:
        recording = served()
        rule = recording.one(INGRESS, "shared-files-mount-inference-task-role").inputs
        nodes = id_of(recording, "aws:ec2/securityGroup:SecurityGroup", "gpu-serving-nodes")
        assert (rule["referencedSecurityGroupId"], rule["fromPort"]) == (nodes, 2049)

    def test_ecs_may_write_the_log_and_read_the_token(self) -> None:
        recording = served(huggingFaceTokenSecretArn=TOKEN)
        group = recording.one(LOG_GROUP, "inference-task-logs")
        assert group.inputs["name"] == "/ecs/inference-dev"
        statements = policy(recording, "inference-task-execution-policy")
        assert {action: item["Resource"] for item in statements for action in item["Action"]} == {
            "logs:CreateLogStream": [f"{group.outputs['arn']}:log-stream:*"],
            "logs:PutLogEvents": [f"{group.outputs['arn']}:log-stream:*"],
            "secretsmanager:GetSecretValue": [TOKEN],
        }

    def test_ecs_may_pull_an_image_of_a_private_repository(self) -> None:
        own = "111122223333.dkr.ecr.eu-central-1.amazonaws.com/team/server:1"
        statements = policy(served(inferenceImage=own), "inference-task-execution-policy")
        actions = {action: item["Resource"] for item in statements for action in item["Action"]}
        assert actions["ecr:BatchGetImage"] == [
            "arn:aws:ecr:eu-central-1:111122223333:repository/team/server"
        ]


def _check_members(value: Any, shape: Any, place: str) -> None:
    """Botocore passes over members that it does not know, which ECS would refuse."""
    if shape.type_name == "structure":
        unknown = set(value) - set(shape.members)
        assert not unknown, f"ECS knows no {sorted(unknown)} in {place}"
        for key, inner in value.items():
            _check_members(inner, shape.members[key], f"{place}.{key}")
    elif shape.type_name == "list":
        for inner in value:
            _check_members(inner, shape.member, place)
