"""The block for the stack file that an answer amounts to, as keys the configuration takes. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from components.accelerators import Accelerator
from components.config_sections import NAMESPACE
from ops.advise.choice import Choice
from ops.advise.fits import HOST_SHARE, Fit, usable_bytes

EXAMPLE_IMAGE = "docker.io/pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime"
MOST_TYPES = 3
# An alternative for spot may cost this much more on demand.
DEAREST = 1.5


def settings(choice: Choice) -> dict[str, Any]:
    """Keys without namespace; empty where nothing fits."""
    if choice.answer is None:
        return {}
    return _training(choice, choice.answer) if choice.question.trains else _inference(choice, choice.answer)


def interchangeable(choice: Choice, answer: Fit) -> list[Accelerator]:
    """The answer's type first, then types that can stand in for it in one fleet: the more, the calmer on spot."""
    entry = answer.entry
    others = [
        fit.entry
        for fit in choice.all_fits
        if fit.entry.instance_type != entry.instance_type
        and fit.entry.accelerator_kind == entry.accelerator_kind
        and fit.entry.accelerator_memory_gib_each == entry.accelerator_memory_gib_each
        and fit.entry.accelerator_count == entry.accelerator_count
        and fit.entry.vcpus >= entry.vcpus
        and fit.entry.memory_gib >= entry.memory_gib
        and (fit.usd_hour or 0) <= (answer.usd_hour or float("inf")) * DEAREST
    ]
    return [entry, *others][: 1 if answer.nodes > 1 else MOST_TYPES]


def _inference(choice: Choice, answer: Fit) -> dict[str, Any]:
    kind = answer.entry.accelerator_kind
    fleet = {
        "name": "inference",
        "purpose": "inference",
        "instanceTypes": [entry.instance_type for entry in interchangeable(choice, answer)],
        "nodeImage": "ecs-gpu" if kind == "nvidia" else "ecs-neuron",
        "maximum": 2,
        "onDemandBase": 1,
    }
    return {
        "gpuFleets": [fleet],
        "inference": True,
        "inferenceFleet": "inference",
        "inferenceModel": "models/fine-tuned/my-model",
        "inferenceAccelerators": answer.accelerators,
        "inferenceContextTokens": max(256, choice.question.context),
    }


def _training(choice: Choice, answer: Fit) -> dict[str, Any]:
    types = interchangeable(choice, answer)
    values: dict[str, Any] = {
        "training": True,
        "trainingImage": EXAMPLE_IMAGE,
        "trainingInstanceTypes": [entry.instance_type for entry in types],
        "trainingMaximumVcpus": answer.nodes * max(entry.vcpus for entry in types),
        "trainingJobVcpus": answer.entry.vcpus,
        "trainingJobMemoryMib": int(answer.entry.memory_gib * 1024 * HOST_SHARE),
        "trainingJobGpus": answer.accelerators,
    }
    return {**values, "trainingNodes": answer.nodes} if answer.nodes > 1 else values


COMMENTS = {
    "inferenceModel": "put in yours: a folder of the lake or OWNER/NAME of Hugging Face",
    "trainingImage": "an example: put in your own",
    "gpuFleets": "add to the list if the stack has one",
}


def render(values: Mapping[str, Any], precision: str) -> list[str]:
    """The lines of YAML, as they go below `config:`."""
    lines = []
    for key, value in values.items():
        comment = COMMENTS.get(key, "")
        if key == "inferenceModel" and precision != "bf16":
            comment += f"; its weights must be stored in {precision}, since a server that quantises at start loads all of them in bf16 first"
        if comment:
            lines.append(f"  # {comment[:1].upper()}{comment[1:]}.")
        if key == "gpuFleets":
            lines.append(f"  {NAMESPACE}:{key}:")
            lines += [line for fleet in value for line in _fleet(fleet)]
        else:
            lines.append(f"  {NAMESPACE}:{key}: {_flow(value)}")
    return lines


def _fleet(fleet: Mapping[str, Any]) -> list[str]:
    items = [f"{key}: {_flow(value)}" for key, value in fleet.items()]
    return [f"    - {items[0]}", *(f"      {item}" for item in items[1:])]


def _flow(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(value)}]"
    return value if isinstance(value, str) else json.dumps(value)


def room_for_requests(choice: Choice) -> int | None:
    """How many requests of that length the answer holds at once; None for training."""
    answer, question = choice.answer, choice.question
    if answer is None or question.trains:
        return None
    need = question.need()
    one = (
        sum(part.each_bytes(answer.accelerators) for part in need.parts if part.name == "KV cache")
        / question.load
    )
    return question.load + int((usable_bytes(answer.entry) - answer.each_bytes) // one)
