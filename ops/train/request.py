"""What a person asks a run to be, and the job definition that it becomes. Pure."""

import re
import shlex
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from components.image_reference import repository_arn_of
from components.job_facts import MOUNT_ROOT, SCRATCH

CHECKPOINT_VARIABLE = "CHECKPOINT_FOLDER"
SCRATCH_VARIABLE = "SCRATCH_FOLDER"
# What DescribeJobDefinitions tells and RegisterJobDefinition takes.
KEPT = ("type", "parameters", "schedulingPriority", "retryStrategy", "propagateTags", "timeout", "tags",
        "platformCapabilities", "containerProperties", "nodeProperties")  # fmt: skip
# Batch tells a node its own number, and all but the main one where that is.
# https://docs.aws.amazon.com/batch/latest/userguide/multi-node-parallel-jobs.html
# The launcher of gpu_node/checkpoint keeps the signals and the exit code, where the image has it.
TORCHRUN = (
    'set -- torchrun --nnodes="$AWS_BATCH_JOB_NUM_NODES" --node_rank="$AWS_BATCH_JOB_NODE_INDEX" '
    '--master_addr="${AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS:-$(hostname -i | cut -d" " -f1)}" '
    '--master_port=29500 --nproc_per_node="$0" "$@"\n'
    'if python3 -c "import checkpoint.launch" 2>/dev/null; then exec python3 -m checkpoint.launch "$@"; fi\n'
    'echo "WARNING: the image has no checkpoint.launch, so torchrun hides that a run was interrupted" >&2\n'
    'exec "$@"'
)
# Programs that make 1 of any exit code of what they start, and end it 30 seconds after a signal.
LAUNCHERS = ("torchrun", "accelerate", "deepspeed", "torch.distributed.run", "torch.distributed.launch")


class RequestError(Exception):
    """The stack cannot run this; the message says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What differs from the stack's own job definition; None and "" leave it at that.

    `name` is the run's own, unlike any other. With `nodes` above 1 the command is what torchrun starts on each node.
    """

    name: str
    command: str = ""
    image: str = ""
    gpus: int | None = None
    vcpus: int | None = None
    memory_mib: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    checkpoint: str = ""
    nodes: int = 1


def job_definition(own: Mapping[str, Any], request: RunRequest) -> dict[str, Any]:
    """The parameters of RegisterJobDefinition for a new revision of `own`, the stack's as Batch describes it.

    Image, command and sizes go into a revision, and nothing into overrides: there is none for the image. Raises
    RequestError.
    """
    kept = {key: deepcopy(own[key]) for key in KEPT if own.get(key)}
    if request.nodes == 1:
        kept["containerProperties"] = _container(own["containerProperties"], request)
    else:
        nodes = kept["nodeProperties"]
        if request.nodes > nodes["numNodes"]:
            raise RequestError(
                f"The stack's training is for at most {nodes['numNodes']} nodes. Fix: raise ai-platform:trainingNodes "
                "(and trainingMaximumVcpus), and run `pulumi up`."
            )
        (every_node,) = nodes["nodeRangeProperties"]
        every_node["targetNodes"] = f"0:{request.nodes - 1}"
        every_node["container"] = _container(every_node["container"], request)
        nodes["numNodes"] = request.nodes
    return {"jobDefinitionName": own["jobDefinitionName"], **kept}


def _container(own: Mapping[str, Any], request: RunRequest) -> dict[str, Any]:
    container = dict(deepcopy(own))
    if request.image:
        _check_image(request.image, own["image"])
        container["image"] = request.image
    sizes = {"GPU": request.gpus, "VCPU": request.vcpus, "MEMORY": request.memory_mib}
    needs = {item["type"]: item["value"] for item in own["resourceRequirements"]}
    needs |= {kind: str(size) for kind, size in sizes.items() if size is not None}
    container["resourceRequirements"] = [{"type": kind, "value": value} for kind, value in needs.items()]
    if request.memory_mib and "linuxParameters" in container:
        container["linuxParameters"]["sharedMemorySize"] = request.memory_mib // 2
    if request.command:
        container["command"] = _command(request, needs.get("GPU", "1"))
    variables = {item["name"]: item["value"] for item in own.get("environment", [])}
    variables.update(request.environment)
    if request.checkpoint:
        variables[CHECKPOINT_VARIABLE] = checkpoint_folder(request.checkpoint)
        if request.nodes == 1:  # what lies on one node's disk cannot be loaded on another
            variables.setdefault(SCRATCH_VARIABLE, f"{SCRATCH}/{request.checkpoint}")
    container["environment"] = [{"name": name, "value": value} for name, value in variables.items()]
    return container


def _command(request: RunRequest, gpus: str) -> list[str]:
    words = shlex.split(request.command)
    return words if request.nodes == 1 else ["/bin/sh", "-c", TORCHRUN, gpus, *words]


def _check_image(image: str, own: str) -> None:
    """Nodes may pull from one private repository, that of the stack's own image."""
    repository = repository_arn_of(image, "aws")
    if repository and repository != repository_arn_of(own, "aws"):
        raise RequestError(
            f"The nodes may not pull {image}: the stack's own image is {own}. Fix: push to the same repository, or set "
            "ai-platform:trainingImage to an image of the other one and run `pulumi up`."
        )


def checkpoint_folder(checkpoint: str) -> str:
    """Where a run finds and leaves the checkpoints of this name."""
    return f"{MOUNT_ROOT}/checkpoints/{checkpoint}"


def hides_exit_code(command: str) -> bool:
    """Whether a command starts its processes through a program that does not tell how they ended."""
    words = [word.rpartition("/")[2] for word in shlex.split(command)]
    return any(word in LAUNCHERS for word in words) and "checkpoint.launch" not in words


def is_name(text: str, longest: int) -> bool:
    """Whether runs and checkpoints may have this name, which becomes a job's, an execution's and a folder's."""
    return len(text) <= longest and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", text) is not None
