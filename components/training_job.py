"""The container of a training job, and when AWS Batch tries it again. Pure: values in, AWS Batch's JSON out."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_aws as aws

from components.config_gpu_sections import TrainingConfig
from components.efa import efa_devices
from components.job_facts import HOST_LOST, INTERRUPTED_EXIT_CODE, MOUNT_ROOT, SCRATCH

# Batch takes 600 to 86,400 seconds. https://docs.aws.amazon.com/batch/latest/APIReference/API_JobStateTimeLimitAction.html
UNFIT_JOB_REASONS = (
    "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE",
    "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT",
)
UNFIT_JOB_SECONDS = 600


def retry_strategy(attempts: int) -> aws.batch.JobDefinitionRetryStrategyArgsDict:
    """Another attempt after a lost host or a saved interruption, and after nothing else.

    Batch takes the first rule that matches, and retries what matches none.
    https://docs.aws.amazon.com/batch/latest/userguide/job_retries.html
    """
    return {
        "attempts": attempts,
        "evaluate_on_exits": [
            {"on_status_reason": HOST_LOST, "action": "RETRY"},
            {"on_exit_code": INTERRUPTED_EXIT_CODE, "action": "RETRY"},
            {"on_reason": "*", "action": "EXIT"},
        ],
    }


def unfit_job_actions() -> list[aws.batch.JobQueueJobStateTimeLimitActionArgsDict]:
    """A job that no node of its queue can hold would wait for ever; it is cancelled instead."""
    return [
        {"reason": reason, "state": "RUNNABLE", "action": "CANCEL", "max_time_seconds": UNFIT_JOB_SECONDS}
        for reason in UNFIT_JOB_REASONS
    ]


def container_properties(
    config: TrainingConfig,
    region: str,
    job_role_arn: pulumi.Input[str],
    log_group_name: pulumi.Input[str],
    file_system_id: pulumi.Input[str],
    access_point_ids: Mapping[str, pulumi.Input[str]],
) -> dict[str, Any]:
    """A container with the shared files at their usual paths, local disks at /scratch, and its log in one group."""
    volumes = [_shared_volume(folder, file_system_id, point) for folder, point in access_point_ids.items()]
    mounts = {folder: f"{MOUNT_ROOT}/{folder}" for folder in access_point_ids}
    return {
        "image": config.image,
        "jobRoleArn": job_role_arn,
        "resourceRequirements": [
            {"type": "GPU", "value": str(config.job_gpus)},
            {"type": "VCPU", "value": str(config.job_vcpus)},
            {"type": "MEMORY", "value": str(config.job_memory_mib)},
        ],
        "environment": [
            {"name": "AWS_REGION", "value": region},
            {"name": "HF_HOME", "value": mounts["cache"]},
        ],
        "volumes": [*volumes, {"name": "scratch", "host": {"sourcePath": SCRATCH}}],
        "mountPoints": [
            {"sourceVolume": name, "containerPath": path}
            for name, path in {**mounts, "scratch": SCRATCH}.items()
        ],
        "linuxParameters": {
            # Passes SIGTERM on to the job: a first process without a handler of its own ignores it.
            "initProcessEnabled": True,
            # Data loader workers pass batches through shared memory, of which Docker's default is 64 MiB.
            "sharedMemorySize": config.job_memory_mib // 2,
        },
        "logConfiguration": {
            "logDriver": "awslogs",
            "options": {
                "awslogs-group": log_group_name,
                "awslogs-region": region,
                "awslogs-stream-prefix": "training",
            },
        },
    }


def node_properties(container: Mapping[str, Any], instance_type: str, nodes: int) -> dict[str, Any]:
    """The same container on every node, with the EFA devices and the locked memory that EFA asks for."""
    linux = {**container["linuxParameters"], "devices": efa_devices(instance_type)}
    unlimited = {"name": "memlock", "softLimit": -1, "hardLimit": -1}
    on_each_node = {**container, "linuxParameters": linux, "ulimits": [unlimited]}
    return {
        "numNodes": nodes,
        "mainNode": 0,
        "nodeRangeProperties": [
            {
                "targetNodes": f"0:{nodes - 1}",
                "instanceTypes": [instance_type],
                "container": on_each_node,
            }
        ],
    }


def _shared_volume(
    folder: str, file_system_id: pulumi.Input[str], access_point_id: pulumi.Input[str]
) -> dict[str, Any]:
    """Mounted with the job's role: a failed mount fails the attempt before anything is trained."""
    return {
        "name": folder,
        "efsVolumeConfiguration": {
            "fileSystemId": file_system_id,
            "transitEncryption": "ENABLED",
            "authorizationConfig": {"accessPointId": access_point_id, "iam": "ENABLED"},
        },
    }
