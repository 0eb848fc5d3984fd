"""Configuration as a person would type it, and the faults that it gives."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from components.config import PREFIX, read_sections
from components.config_sections import Sections

# The least that a stack must say.
REQUIRED = {"region": "eu-central-1", "availabilityZones": ["eu-central-1a", "eu-central-1b"]}
FLEET = {"name": "nodes", "purpose": "training", "instanceTypes": ["g5.xlarge"], "nodeImage": "dlami", "maximum": 2,
         "checkpointPath": "/mnt/shared-data/checkpoints/run"}  # fmt: skip
TRAINING = {
    "training": True,
    "trainingImage": "docker.io/team/train:1",
    "trainingInstanceTypes": ["g5.2xlarge"],
}
SUBNETS = [
    {"id": "subnet-a1", "zone": "eu-central-1a", "tier": "private"},
    {"id": "subnet-b1", "zone": "eu-central-1b", "tier": "private"},
]
EXISTING_VPC = {
    "existingVpcId": "vpc-0a1b2c3d", "existingVpcCidr": "10.60.0.0/16", "availabilityZones": None, "existingSubnets": SUBNETS,
}  # fmt: skip
CERTIFICATE = "arn:aws:acm:eu-central-1:111122223333:certificate/12345678-1234-1234-1234-123456789012"
SECRET = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:ai-platform/api-token-AbCdEf"
PUBLIC = {"exposure": "public", "certificateArn": CERTIFICATE, "bearerTokenSecretArn": SECRET}
PUBLIC_SUBNETS = [{**subnet, "id": f"{subnet['id']}p", "tier": "public"} for subnet in SUBNETS]
NOTHING_ANSWERS = {"vectorStore": False, "ragService": False, "orchestrator": False, "ingestion": False}
MULTI_NODE = {
    **TRAINING, "trainingInstanceTypes": ["p4d.24xlarge"], "trainingNodes": 2, "trainingJobGpus": 8, "trainingMaximumVcpus": 192,
}  # fmt: skip

SERVING_FLEET = {"name": "serving", "purpose": "inference", "instanceTypes": ["g5.xlarge", "g6.xlarge"], "nodeImage": "ecs-gpu", "maximum": 2}  # fmt: skip
INFERENCE = {
    "inference": True, "inferenceFleet": "serving", "inferenceModel": "Qwen/Qwen2.5-7B-Instruct", "gpuFleets": [SERVING_FLEET],
}  # fmt: skip


def as_cli_text(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as the command line hands them over: lists and objects as JSON, None left out."""
    return {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in values.items()
        if value is not None
    }


def read(changes: Mapping[str, Any], secret_keys: Collection[str] = ()) -> tuple[Sections, list[str]]:
    """The sections of the least configuration with `changes`, and its faults without the keys' namespace."""
    sections, faults = read_sections(as_cli_text({**REQUIRED, **changes}), secret_keys)
    return sections, [str(fault).removeprefix(PREFIX) for fault in faults]


def faults_of(changes: Mapping[str, Any], secret_keys: Collection[str] = ()) -> list[str]:
    return read(changes, secret_keys)[1]


def with_fleet(**changes: Any) -> dict[str, Any]:
    """One fleet with `changes`, None removing a key."""
    fleet = {key: value for key, value in {**FLEET, **changes}.items() if value is not None}
    return {"gpuFleets": [fleet]}
