"""Records the program with a model server, on GPUs and on Inferentia."""

import functools
import json
from typing import Any

from components.config_gpu_sections import GpuFleetConfig, InferenceConfig
from ops.capture.computed import Computed
from ops.capture.program import record
from ops.capture.recording import Recording
from typed_config import INFERENCE, NOTHING_ANSWERS, SERVING_FLEET, read

TASK_DEFINITION = "aws:ecs/taskDefinition:TaskDefinition"
DEFINITION = "inference-task-definition"
LAKE_MODEL = "models/fine-tuned/my-7b"
TOKEN = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:hugging-face-AbCdEf"
LABEL = "app/inference-alb/50dc6c495c0c9188/targetgroup/inference-tg/6d0ecf831eec9f09"
NEURON_FLEET = {**SERVING_FLEET, "instanceTypes": ["inf2.24xlarge"], "nodeImage": "ecs-neuron"}
NEURON = {**INFERENCE, "gpuFleets": [NEURON_FLEET], "inferenceAccelerators": 2}
HOURS = {
    "inferenceStartSchedule": "cron(0 8 ? * MON-FRI *)",
    "inferenceStopSchedule": "cron(0 18 ? * MON-FRI *)",
    "inferenceScheduleTimeZone": "Europe/Berlin",
}
ANSWERING = {"vectorStore": True, "ragService": True, "orchestrator": True}
FIELD = Computed(
    resources={
        "aws:s3/bucket:Bucket": {"id": "lake-abc", "bucket": "lake-abc", "arn": "arn:aws:s3:::lake-abc"},
    }
)


def served(**changes: Any) -> Recording:
    """The program of the dev stack with a model server on two kinds of GPU node, nothing that asks it, and `changes`."""
    return _recorded(json.dumps({**INFERENCE, **NOTHING_ANSWERS, **changes}))


def served_on_neuron(**changes: Any) -> Recording:
    return served(**{**NEURON, **changes})


@functools.cache
def _recorded(changes: str) -> Recording:
    return record("dev", changes=json.loads(changes), computed=FIELD)


def fleet_with(**changes: Any) -> dict[str, Any]:
    """The fleets of a stack whose only fleet is the one that serves, with `changes`."""
    return {"gpuFleets": [{**SERVING_FLEET, **changes}]}


def configured(**changes: Any) -> tuple[InferenceConfig, GpuFleetConfig]:
    """The configuration of the server and of its fleet; the rules accept both."""
    sections, faults = read({**INFERENCE, **changes})
    assert not faults
    return sections.inference, sections.gpu.fleets[0]


def id_of(recording: Recording, kind: str, name: str | None = None) -> str:
    """The made-up id of a resource whose ARN ends in it."""
    return recording.one(kind, name).outputs["arn"].rpartition("/")[2]


def containers(recording: Recording) -> dict[str, dict[str, Any]]:
    """The containers of the model server's task by name."""
    definition = recording.one(TASK_DEFINITION, DEFINITION)
    return {made["name"]: made for made in json.loads(definition.inputs["containerDefinitions"])}


def server(recording: Recording) -> dict[str, Any]:
    return containers(recording)["model-server"]


def variables(container: dict[str, Any]) -> dict[str, str]:
    return {item["name"]: item["value"] for item in container["environment"]}


def option(container: dict[str, Any], name: str) -> str:
    """The value that follows an option of the command line, of which there is one."""
    assert container["command"].count(name) == 1
    return container["command"][container["command"].index(name) + 1]
