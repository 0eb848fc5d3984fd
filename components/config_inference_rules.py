"""Rules over the model server: what would never start, never be reached, or be set twice. Pure."""

import re
import zoneinfo
from collections.abc import Iterator

from components.accelerators import find
from components.config_gpu_rules import IMAGE_VOLUME_GIB
from components.config_gpu_sections import GpuFleetConfig, InferenceConfig
from components.config_sections import AnswersConfig, RagServiceConfig, Sections
from components.cron_expressions import cron_fault
from components.model_servers import SERVERS, compatibility_faults, servers_on
from components.settings import Fault, fault, nearest

# Of contextTokens, for the conversation so far: lambda_src/rag/pipeline.py.
HISTORY_SHARE = 0.25
# Room for the instructions and a question of some length. One of many pages may still be too long, and is told so.
QUESTION_TOKENS = 1000

# Arguments of `vllm serve` that the platform sets itself, or that would cut the server off, with what to do instead.
REFUSED_ARGUMENTS = {
    "--model": ("the model is inferenceModel", "set that"),
    "--served-model-name": ("clients know the model by inferenceModel", "set that"),
    "--max-model-len": ("the longest request is inferenceContextTokens", "set that"),
    "--tensor-parallel-size": ("a server takes inferenceAccelerators devices", "set that"),
    "-tp": ("a server takes inferenceAccelerators devices", "set that"),
    "--pipeline-parallel-size": ("it takes more devices than inferenceAccelerators gives a server", "raise that"),
    "-pp": ("it takes more devices than inferenceAccelerators gives a server", "raise that"),
    "--data-parallel-size": ("it takes more devices than inferenceAccelerators gives a server", "raise inferenceMaximumTasks"),
    "-dp": ("it takes more devices than inferenceAccelerators gives a server", "raise inferenceMaximumTasks"),
    "--host": ("the load balancer reaches the server where the platform puts it", "remove it"),
    "--port": ("the load balancer reaches the server where the platform puts it", "remove it"),
    "--root-path": ("the load balancer reaches the server where the platform puts it", "remove it"),
    "--ssl-keyfile": ("the load balancer speaks plain HTTP to the server, inside the network", "remove it"),
    "--ssl-certfile": ("the load balancer speaks plain HTTP to the server, inside the network", "remove it"),
    "--api-key": ("a key here is readable in the stack file and in the task definition", "remove it; security groups decide who reaches the server"),
    "--download-dir": ("models are kept in the shared cache", "remove it"),
    "--disable-log-stats": ("scaling reads the metrics that it switches off", "remove it"),
    "--config": ("a file could set again what the platform sets", "list its arguments one by one"),
}  # fmt: skip
UNREADABLE_FOLDERS = {
    "models/onnx/": "vLLM reads safetensors, not ONNX",
    "models/adapters/": "an adapter is no model by itself",
}
MODEL_FOLDERS = ("models/fine-tuned/", *UNREADABLE_FOLDERS)


def inference_rules(sections: Sections) -> Iterator[Fault]:
    inference = sections.inference
    if not inference.enabled:
        return
    yield from _model_rules(inference)
    yield from _task_rules(inference)
    yield from _schedule_rules(inference)
    yield from _argument_rules(inference)
    yield from _fleet_rules(sections)


def request_tokens(answers: AnswersConfig) -> int:
    """The longest request of the RAG API with its answer, as the pipeline in lambda_src/rag puts it together."""
    history = int(answers.context_tokens * HISTORY_SHARE)
    return answers.context_tokens + history + QUESTION_TOKENS + answers.answer_maximum_tokens


def answering_rules(sections: Sections) -> Iterator[Fault]:
    """What the RAG API needs of the model server that it asks."""
    service, inference = sections.rag_service, sections.inference
    if not service.enabled or service.answer_provider != "inference":
        return
    if not inference.enabled:
        yield fault("answerProvider", "inference", "needs the stack's own model server, which is switched off",
                    "set inference to true, or answerProvider to bedrock", "ragService", "inference")  # fmt: skip
    for key, value, default in (
        ("openaiBaseUrl", service.openai_base_url, RagServiceConfig.openai_base_url),
        ("openaiModel", service.openai_model, RagServiceConfig.openai_model),
    ):
        if value != default:
            yield fault(key, value, "is ignored, since answers come from the stack's own model server",
                        "remove it, or set answerProvider to openai", "answerProvider", "ragService")  # fmt: skip
    asked = request_tokens(sections.answers)
    if inference.enabled and asked > inference.context_tokens:
        yield fault("inferenceContextTokens", inference.context_tokens, f"is below what one request of the RAG API can take ({asked}: passages, conversation, question and answer), so the server would refuse questions",
                    f"use at least {asked}, or lower contextTokens or answerMaxTokens",
                    "contextTokens", "answerMaxTokens", "answerProvider", "ragService", "inference")  # fmt: skip


def _model_rules(inference: InferenceConfig) -> Iterator[Fault]:
    if not inference.model:
        yield fault("inferenceModel", "", "the model server needs a model",
                    "name one such as Qwen/Qwen2.5-7B-Instruct or models/fine-tuned/my-model, or set inference to false", "inference")  # fmt: skip
    if inference.model.startswith("models/") and not inference.model.startswith(MODEL_FOLDERS):
        yield fault("inferenceModel", inference.model, "is no folder of the lake that holds a model",
                    "use one below models/fine-tuned/, such as models/fine-tuned/my-model", "inference")  # fmt: skip
    for folder, reason in UNREADABLE_FOLDERS.items():
        if inference.model.startswith(folder):
            yield fault("inferenceModel", inference.model, f"cannot be served: {reason}",
                        "put a whole model, merged with its adapters, below models/fine-tuned/", "inference")  # fmt: skip


def _task_rules(inference: InferenceConfig) -> Iterator[Fault]:
    low, high = inference.minimum_tasks, inference.maximum_tasks
    if low > high:
        yield fault("inferenceMinimumTasks", low, f"must not be above inferenceMaximumTasks ({high})",
                    "lower it, or raise inferenceMaximumTasks", "inferenceMaximumTasks", "inference")  # fmt: skip


def _schedule_rules(inference: InferenceConfig) -> Iterator[Fault]:
    schedules = {
        "inferenceStartSchedule": inference.start_schedule,
        "inferenceStopSchedule": inference.stop_schedule,
    }
    start, stop = schedules
    for key, other in ((start, stop), (stop, start)):
        if schedules[other] and not schedules[key]:
            yield fault(key, "", f"is needed with {other}, or the service would {'open' if key == stop else 'close'} and stay so",
                        f"set both, or remove {other}", other, "inference")  # fmt: skip
        wrong = cron_fault(schedules[key]) if schedules[key] else None
        if wrong:
            yield fault(key, schedules[key], wrong, "use one such as cron(0 8 ? * MON-FRI *)", "inference")
    if schedules[start] and schedules[start] == schedules[stop]:
        yield fault(start, schedules[start], "opens the service at the moment at which inferenceStopSchedule closes it",
                    "choose different times", stop, "inference")  # fmt: skip
    yield from _time_zone_rules(inference.schedule_time_zone)


def _time_zone_rules(zone: str) -> Iterator[Fault]:
    """Judged where the machine knows the time zones; some images come without them."""
    known = zoneinfo.available_timezones()
    if known and zone not in known:
        guess = nearest(zone, known)
        yield fault("inferenceScheduleTimeZone", zone, "is not a time zone of the IANA database",
                    f"use {guess} if that is what you meant" if guess else "use one such as Europe/Berlin", "inference")  # fmt: skip


def _argument_rules(inference: InferenceConfig) -> Iterator[Fault]:
    """vLLM takes - and _ alike in the names of its arguments."""
    for argument in inference.server_arguments:
        name = argument.partition("=")[0].partition(" ")[0].replace("_", "-")
        refused = next((known for known in REFUSED_ARGUMENTS if _means(name, known)), None)
        if refused:
            reason, remedy = REFUSED_ARGUMENTS[refused]
            shown = name if refused == "--api-key" else argument
            yield fault(
                "inferenceServerArguments", shown, f"must not be given, since {reason}", remedy, "inference"
            )
    first = inference.server_arguments[:1]
    if first and not first[0].startswith("-"):
        yield fault("inferenceServerArguments", first[0], "must begin with an option, or it is taken for a second model",
                    "begin with one such as --max-num-seqs=64", "inference")  # fmt: skip


def _means(typed: str, known: str) -> bool:
    """Whether argparse may take it so: long options may be cut short, and short ones carry their value."""
    if known.startswith("--"):
        return len(typed) > len("--") and known.startswith(typed)
    return re.fullmatch(rf"{known}\d*", typed) is not None


def _fleet_rules(sections: Sections) -> Iterator[Fault]:
    inference, fleets = sections.inference, sections.gpu.fleets
    serving = [fleet.name for fleet in fleets if fleet.purpose == "inference"]
    instead = f"use {' or '.join(serving)}" if serving else "add a fleet with purpose inference to gpuFleets"
    found = next((fleet for fleet in fleets if fleet.name == inference.fleet), None)
    if not inference.fleet:
        yield fault("inferenceFleet", "", "the model server needs a fleet to run on",
                    f"{instead}, or set inference to false", "gpuFleets", "inference")  # fmt: skip
    elif not found:
        guess = nearest(inference.fleet, serving)
        yield fault("inferenceFleet", inference.fleet, "is not a fleet of this stack",
                    f"use {guess} if that is what you meant" if guess else instead, "gpuFleets", "inference")  # fmt: skip
    elif found.purpose != "inference":
        yield fault("inferenceFleet", inference.fleet, f"has the purpose {found.purpose}, so its nodes do not join the cluster",
                    instead, "gpuFleets", "inference")  # fmt: skip
    elif found.node_image in SERVERS:
        yield from compatibility_faults(inference, found)
        yield from _room_rules(inference, found)
        yield from _volume_rules(f"gpuFleets[{fleets.index(found)}].", inference, found)


def _room_rules(inference: InferenceConfig, fleet: GpuFleetConfig) -> Iterator[Fault]:
    entries = [entry for entry in map(find, fleet.instance_types) if entry]
    if not entries or min(entry.accelerator_count for entry in entries) < inference.accelerators:
        return
    held = {entry.instance_type: servers_on(inference, fleet, entry) for entry in entries}
    if len(set(held.values())) > 1:
        counts = ", ".join(f"{name} {count}" for name, count in held.items())
        yield fault("inferenceFleet", fleet.name, f"has types that hold different numbers of servers ({counts}), and ECS may start the largest for a single one",
                    "make a fleet for each size", "gpuFleets", "inferenceAccelerators", "inference")  # fmt: skip
    each = min(held.values())
    room = each * fleet.maximum
    if room < inference.maximum_tasks:
        nodes = -(-inference.maximum_tasks // each)
        yield fault("inferenceMaximumTasks", inference.maximum_tasks, f"is more than the {fleet.maximum} nodes of the fleet {fleet.name} hold ({room})",
                    f"use at most {room}, or raise the fleet's maximum to {nodes}",
                    "gpuFleets", "inferenceFleet", "inferenceAccelerators", "inference")  # fmt: skip


def _volume_rules(place: str, inference: InferenceConfig, fleet: GpuFleetConfig) -> Iterator[Fault]:
    server = SERVERS[fleet.node_image]
    needed = IMAGE_VOLUME_GIB[fleet.node_image] + server.disk_gib
    if server.disk_gib and not inference.image and fleet.volume_size_gib < needed:
        yield fault(f"{place}volumeSizeGib", fleet.volume_size_gib, f"is too small to pull {server.image}, which takes {server.disk_gib} GiB on the way",
                    f"use {needed} or more", "inferenceImage", "inferenceFleet", "inference")  # fmt: skip
