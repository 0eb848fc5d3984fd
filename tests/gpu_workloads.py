"""Records GPU fleets, training and the cluster alone: the parts of the program that these tests are about."""

import base64
import functools
import json
from collections.abc import Mapping
from typing import Any

import pulumi

from components.alarm_topic import AlarmTopic, AlarmTopicArgs
from components.aws_account import AwsAccount, default_tags
from components.cluster import Cluster, ClusterArgs
from components.config import PlatformConfig
from components.gpu_fleet import GpuFleet, GpuFleetArgs
from components.network import Network, NetworkArgs
from components.shared_files import SharedFiles, SharedFilesArgs
from components.training import Training, TrainingArgs
from ops.capture.computed import Computed
from ops.capture.program import PROJECT_ROOT, record_program
from ops.capture.recording import RecordedResource, Recording
from ops.capture.stack_files import load_stack_config

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:autoscaling/group:Group"
FILE_SYSTEM_ID = "fs-0a1b2c3d4e5f60718"

DLAMI_FLEET: dict[str, Any] = {
    "name": "research",
    "purpose": "training",
    "instanceTypes": ["g5.xlarge", "g5.2xlarge", "g6.xlarge"],
    "nodeImage": "dlami",
    "maximum": 4,
    "volumeSizeGib": 200,
    "checkpointPath": "/mnt/shared-data/checkpoints/research",
    "extraBootScript": "line one\nline two",
}
ECS_FLEET: dict[str, Any] = {
    **{key: value for key, value in DLAMI_FLEET.items() if key != "checkpointPath"},
    "name": "serving",
    "purpose": "inference",
    "nodeImage": "ecs-gpu",
}
BLOCK_FLEET: dict[str, Any] = {
    **DLAMI_FLEET,
    "instanceTypes": ["p4d.24xlarge"],
    "capacityBlockReservationId": "cr-0123456789abcdef0",
}
TRAINING: dict[str, Any] = {
    "training": True,
    "trainingImage": "docker.io/pytorch/pytorch:2.4.0",
    "trainingInstanceTypes": ["g5.2xlarge", "g6.2xlarge"],
}
MULTI_NODE: dict[str, Any] = {
    **TRAINING,
    "trainingInstanceTypes": ["p4d.24xlarge"],
    "trainingMaximumVcpus": 192,
    "trainingNodes": 2,
    "natGateways": "single",
}


def record_fleets(*fleets: Mapping[str, Any], version: int = 7, **changes: Any) -> Recording:
    """The recording of a stack with these fleets, whose launch templates are at `version`."""
    return record_workloads({"gpuFleets": [dict(fleet) for fleet in fleets], **changes}, version)


def record_workloads(changes: Mapping[str, Any], version: int = 7) -> Recording:
    """The recording of a stack with these settings; the same settings are recorded once."""
    return _recorded(json.dumps(changes, sort_keys=True), version)


@functools.cache
def _recorded(changes: str, version: int) -> Recording:
    config = load_stack_config(PROJECT_ROOT, "dev", {"gpuFleets": [], **json.loads(changes)})
    file_system = {"id": FILE_SYSTEM_ID, "arn": f"arn:aws:elasticfilesystem:eu-central-1:111122223333:file-system/{FILE_SYSTEM_ID}"}  # fmt: skip
    # Every number crosses the wire as a double.
    computed = Computed(
        resources={
            "aws:efs/fileSystem:FileSystem": file_system,
            TEMPLATE: {"latestVersion": float(version)},
        }
    )
    return record_program(build_workloads, config, "dev", computed=computed)


def build_workloads() -> None:
    """Fleets, training and the cluster, as the program wires them."""
    config = PlatformConfig.load()
    account = AwsAccount.connect(config)
    on, tags = account.options, default_tags(config)
    network = Network(
        "network",
        NetworkArgs(config=config.network, region=account.region, asleep=False, log_retention_days=7),
        on,
    )
    shared_files = SharedFiles(
        "files", SharedFilesArgs(config=config.shared_files, network=network, protect=False), on
    )
    cluster = Cluster(
        "cluster", ClusterArgs(config=config.cluster, name_suffix=config.general.name_suffix), on
    )
    providers: list[pulumi.Input[str]] = []
    for fleet_config in config.gpu_fleets:
        fleet_args = GpuFleetArgs(
            config=fleet_config,
            account=account,
            network=network,
            shared_files=shared_files,
            cluster_name=cluster.cluster_name,
            machine_images=config.machine_images,
            tags=tags,
            node_metrics=config.node_metrics,
            log_retention_days=7,
        )
        fleet = GpuFleet(f"gpu-{fleet_config.name}", fleet_args, on)
        providers += [fleet.capacity_provider_name] if fleet.capacity_provider_name else []
    cluster.use_capacity(providers)
    if config.training:
        alarm_args = AlarmTopicArgs(account=account, email=config.general.alarm_email)
        training_args = TrainingArgs(
            config=config.training,
            account=account,
            network=network,
            shared_files=shared_files,
            machine_images=config.machine_images,
            tags=tags,
            asleep=config.general.asleep,
            log_retention_days=7,
            node_metrics=config.node_metrics,
            alarm_topic=AlarmTopic("alarms", alarm_args, on),
        )
        Training("training", training_args, on)


def user_data(template: RecordedResource) -> bytes:
    """What EC2 hands to the node: the template's user data, decoded once."""
    return base64.b64decode(template.inputs["userData"], validate=True)


def group_tags(group: RecordedResource) -> dict[str, str]:
    """The tags of an Auto Scaling group that its instances get too."""
    return {tag["key"]: tag["value"] for tag in group.inputs["tags"] if tag["propagateAtLaunch"]}
