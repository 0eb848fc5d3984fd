"""How vLLM is started on a node: its model, its command line, its environment, and its share of the node. Pure."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from math import ceil

from components import lake_layout as lake
from components.accelerators import Accelerator, find
from components.config_gpu_sections import GpuFleetConfig, InferenceConfig
from components.job_facts import MOUNT_ROOT
from components.model_servers import server_for, servers_on, tensor_parallel_size

ENTRY_POINT = ["vllm", "serve"]
PORT = 8000
HEALTH_PATH = "/health"
METRICS_PATH = "/metrics"
SCRATCH = "/scratch"
CACHE = f"{MOUNT_ROOT}/cache"
# Every server answers to this name too, so that callers of the stack need not change at the very moment when a new model
# takes over from the old, which takes as long as it loads.
ALIAS = "default"
# Answers that are not streamed come in one piece, after a wait in the queue and the whole of the writing.
IDLE_TIMEOUT_SECONDS = 600
KEEP_ALIVE_MARGIN_SECONDS = 10

# The agent registers less memory than the type has (the kernel keeps some), and the node's own services need some.
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/memory-management.html
USABLE_MEMORY = 0.85
# How many requests a Neuron server works on at once is compiled into the model. vLLM's own number, made for GPUs, would
# not fit; this is the one of the examples of Neuron's guide to vLLM (libraries/nxd-inference, vLLM user guide).
NEURON_SEQUENCES = 4


def lake_folder(model: str) -> str:
    """The prefix of the lake that holds the model; empty for a Hugging Face name."""
    folders = (lake.MODELS_FINE_TUNED, lake.MODELS_ADAPTERS, lake.MODELS_ONNX)
    return f"{model}/" if model.startswith(folders) else ""


def model_path(model: str) -> str:
    """What the server loads: a Hugging Face name, or the copy of a folder of the lake on the node's own disk."""
    return f"{SCRATCH}/{model}" if lake_folder(model) else model


def served_name(model: str) -> str:
    """What callers name the model: the Hugging Face name, or the last part of a folder of the lake."""
    return model.rpartition("/")[2] if lake_folder(model) else model


def image(config: InferenceConfig, fleet: GpuFleetConfig) -> str:
    """The configured image, or the tested one for the fleet's nodes."""
    return config.image or server_for(fleet.node_image).image


def command(config: InferenceConfig, fleet: GpuFleetConfig) -> list[str]:
    """The arguments of `vllm serve`. The stack's own come last, so that they win where one is given twice."""
    neuron = ["--max-num-seqs", str(NEURON_SEQUENCES), "--no-enable-prefix-caching"]
    return [
        model_path(config.model),
        "--served-model-name", served_name(config.model), ALIAS,
        "--host", "0.0.0.0",
        "--port", str(PORT),
        "--max-model-len", str(config.context_tokens),
        "--tensor-parallel-size", str(_devices(config, fleet)),
        # Health checks and metrics are read several times a minute, and each would be a line of the log.
        "--disable-uvicorn-access-log",
        *(neuron if fleet.node_image == "ecs-neuron" else []),
        *_words(config.server_arguments),
    ]  # fmt: skip


def environment(config: InferenceConfig, fleet: GpuFleetConfig) -> dict[str, str]:
    """The server's variables without secrets.

    Models are downloaded once for all nodes, into the shared cache. What vLLM compiles for a GPU is kept on the node.
    """
    variables = {
        "HF_HOME": CACHE,
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "VLLM_CACHE_ROOT": f"{SCRATCH}/vllm",
        # The balancer must be the one that closes an idle connection, or it answers 502.
        # https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-load-balancer-attributes.html
        "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": str(IDLE_TIMEOUT_SECONDS + KEEP_ALIVE_MARGIN_SECONDS),
        "VLLM_NO_USAGE_STATS": "1",
    }
    return variables | (_neuron_environment(config, fleet) if fleet.node_image == "ecs-neuron" else {})


def memory_mib(config: InferenceConfig, fleet: GpuFleetConfig) -> int:
    """What one server and its helpers may count on: on the smallest type of the fleet, its accelerators' share."""
    gib = min(entry.memory_gib / servers_on(config, fleet, entry) for entry in _types(fleet))
    return int(gib * 1024 * USABLE_MEMORY)


def deployment_percentages(config: InferenceConfig, fleet: GpuFleetConfig) -> tuple[int, int]:
    """The least healthy servers and the most servers of a deployment, in percent of the wanted ones.

    With room for one server more than the most that run, old servers go when new ones answer, one by one at the least
    number: more new ones would wait for accelerators until ECS counts them as failed. Without that room, a new one would
    wait for ever for those that an old one holds, so old ones go first: half stay where two and more always run; else
    there is a gap, until a new one has loaded the model, since half of a single server is none.
    """
    room = fleet.maximum * min(servers_on(config, fleet, entry) for entry in _types(fleet))
    if room > config.maximum_tasks:
        return 100, 100 + ceil(100 / config.minimum_tasks)
    return (50, 100) if config.minimum_tasks > 1 else (0, 100)


def _neuron_environment(config: InferenceConfig, fleet: GpuFleetConfig) -> dict[str, str]:
    """A compiled model fits the settings that it was compiled with and is not checked against others, hence the digest.

    The compiler's own cache tells its entries apart by itself and is locked, so all nodes share it.
    """
    settings = json.dumps([image(config, fleet), command(config, fleet)])
    digest = hashlib.sha256(settings.encode()).hexdigest()[:16]
    return {
        "NEURON_COMPILE_CACHE_URL": f"{CACHE}/neuron-compiler",
        "NEURON_COMPILED_ARTIFACTS": f"{SCRATCH}/neuron/{digest}",
        "NEURON_RT_NUM_CORES": str(_devices(config, fleet)),
    }


def _devices(config: InferenceConfig, fleet: GpuFleetConfig) -> int:
    """GPUs, or Neuron cores. The types of a fleet that serves have equally many on a chip."""
    return tensor_parallel_size(_types(fleet)[0].accelerator, config.accelerators)


def _types(fleet: GpuFleetConfig) -> list[Accelerator]:
    return [entry for entry in map(find, fleet.instance_types) if entry]


def _words(arguments: Sequence[str]) -> Iterable[str]:
    """An option and its value may be written as one, as in `--dtype half`; a value keeps its spaces."""
    for argument in arguments:
        option, space, value = argument.partition(" ")
        one = not (space and option.startswith("-") and "=" not in option)
        yield from [argument] if one else [option, value.lstrip()]
