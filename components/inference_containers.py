"""The containers of the model server's task, as ECS's RegisterTaskDefinition takes them. Pure."""

from pathlib import Path
from typing import Any

import pulumi

from components.config_gpu_sections import GpuFleetConfig, InferenceConfig
from components.inference_server import (
    CACHE,
    ENTRY_POINT,
    METRICS_PATH,
    PORT,
    SCRATCH,
    command,
    environment,
    image,
    lake_folder,
    memory_mib,
    model_path,
)
from components.node_archive import without_comments
from components.task_execution import log_configuration

SERVER = "model-server"
PUBLISHER = "metrics"
COPY = "model-copy"
METRIC_NAMESPACE = "AiPlatform/Inference"
PUBLISHER_FILE = Path(__file__).resolve().parent.parent / "gpu_node" / "serving" / "metrics.py"
AWS_CLI_IMAGE = "public.ecr.aws/aws-cli/aws-cli:2.36.46"

PUBLISHER_MEMORY_MIB = 64
COPY_MEMORY_MIB = 512
# By then the balancer sends nothing more (the target group's delay comes first), so this only bounds a server that hangs.
STOP_TIMEOUT_SECONDS = 120
# A server on several GPUs passes tensors through shared memory, of which Docker's default is 64 MiB.
SHARED_MEMORY_PART = 4
# The watcher on the node leaves these containers alone: gpu_node/watcher/containers.py.
DRAINED_BY_ECS = {"ai-platform.interruption": "ecs-drains"}


def containers(
    config: InferenceConfig,
    fleet: GpuFleetConfig,
    *,
    service: str,
    region: str,
    bucket_name: pulumi.Input[str],
    log_group_name: pulumi.Input[str],
) -> list[dict[str, Any]]:
    """The server, what tells its load, and for a model of the lake what copies it first; `service` names the metric."""
    logs = log_configuration(log_group_name, region)
    made = [server(config, fleet, logs), publisher(config, fleet, service, logs)]
    return [model_copy(config, region, bucket_name, logs), *made] if lake_folder(config.model) else made


def server(config: InferenceConfig, fleet: GpuFleetConfig, logs: dict[str, Any]) -> dict[str, Any]:
    """No health check of its own: ECS lets a container start for 300 seconds at most, and the balancer checks it too.

    Memory is reserved and not limited, since loading a model takes more than serving it.
    """
    reserved = memory_mib(config, fleet) - PUBLISHER_MEMORY_MIB - COPY_MEMORY_MIB
    token = config.hugging_face_token_secret_arn
    made = {
        "name": SERVER,
        "image": image(config, fleet),
        "essential": True,
        "entryPoint": ENTRY_POINT,
        "command": command(config, fleet),
        "memoryReservation": reserved,
        # A port of the node that is free: https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html
        "portMappings": [{"containerPort": PORT, "hostPort": 0, "protocol": "tcp"}],
        "environment": _pairs(environment(config, fleet)),
        "secrets": [{"name": "HF_TOKEN", "valueFrom": token}] if token else [],
        "mountPoints": [
            {"sourceVolume": "cache", "containerPath": CACHE},
            {"sourceVolume": "scratch", "containerPath": SCRATCH},
        ],
        "linuxParameters": _linux_parameters(config, fleet, reserved // SHARED_MEMORY_PART),
        "stopTimeout": STOP_TIMEOUT_SECONDS,
        "dockerLabels": DRAINED_BY_ECS,
        "logConfiguration": logs,
    }
    if fleet.node_image == "ecs-gpu":
        made["resourceRequirements"] = [{"type": "GPU", "value": str(config.accelerators)}]
    if lake_folder(config.model):
        made["dependsOn"] = [{"containerName": COPY, "condition": "SUCCESS"}]
    return made


def publisher(
    config: InferenceConfig, fleet: GpuFleetConfig, service: str, logs: dict[str, Any]
) -> dict[str, Any]:
    """Reads the server's metrics and prints them for CloudWatch. It has the server's image, which is there already."""
    variables = {
        "METRICS_URL": f"http://{SERVER}:{PORT}{METRICS_PATH}",
        "METRICS_NAMESPACE": METRIC_NAMESPACE,
        "SERVICE": service,
        # Images for GPUs ask for all of them.
        "NVIDIA_VISIBLE_DEVICES": "void",
    }
    return {
        "name": PUBLISHER,
        "image": image(config, fleet),
        "essential": False,
        "entryPoint": ["python3", "-c"],
        "command": [without_comments(PUBLISHER_FILE.read_text(encoding="utf-8"))],
        "memoryReservation": PUBLISHER_MEMORY_MIB,
        "links": [SERVER],
        "environment": _pairs(variables),
        # The first process of a container ignores SIGTERM, and would hold up the end of the task.
        "linuxParameters": {"initProcessEnabled": True},
        "restartPolicy": {"enabled": True},
        "dockerLabels": DRAINED_BY_ECS,
        "logConfiguration": logs,
    }


def model_copy(
    config: InferenceConfig, region: str, bucket_name: pulumi.Input[str], logs: dict[str, Any]
) -> dict[str, Any]:
    """Brings the node's copy of a model up to date before the server starts; a second start copies what changed.

    It deletes nothing: servers that start together on one node write under names of their own and rename, and one that
    tidied up would take away what another is writing.
    """
    source = pulumi.Output.format("s3://{0}/{1}", bucket_name, lake_folder(config.model))
    return {
        "name": COPY,
        "image": AWS_CLI_IMAGE,
        "essential": False,
        "command": ["s3", "sync", "--only-show-errors", source, model_path(config.model)],
        "memoryReservation": COPY_MEMORY_MIB,
        "environment": _pairs({"AWS_REGION": region}),
        "mountPoints": [{"sourceVolume": "scratch", "containerPath": SCRATCH}],
        # How long the server waits for this container.
        "startTimeout": config.start_minutes * 60,
        "dockerLabels": DRAINED_BY_ECS,
        "logConfiguration": logs,
    }


def _linux_parameters(
    config: InferenceConfig, fleet: GpuFleetConfig, shared_memory_mib: int
) -> dict[str, Any]:
    """On Neuron the devices by number, and locked memory: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-inference-task-def.html"""
    common: dict[str, Any] = {"initProcessEnabled": True, "sharedMemorySize": shared_memory_mib}
    if fleet.node_image != "ecs-neuron":
        return common
    paths = [f"/dev/neuron{number}" for number in range(config.accelerators)]
    devices = [{"hostPath": path, "containerPath": path, "permissions": ["read", "write"]} for path in paths]
    return {**common, "devices": devices, "capabilities": {"add": ["IPC_LOCK"]}}


def _pairs(variables: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": key, "value": variables[key]} for key in sorted(variables)]
