"""The model server of each node image, what it needs from a node, and where a configuration does not fit: a dated table. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from components.accelerators import Accelerator, find
from components.config_gpu_sections import GpuFleetConfig, InferenceConfig
from components.model_sizes import describes_smaller_weights, weights_gib
from components.settings import Fault, fault

# NVIDIA's list of compute capabilities (developer.nvidia.com/cuda-gpus). T4g is left out: its nodes are not x86_64.
COMPUTE_CAPABILITIES = {
    "T4": (7, 5), "A100": (8, 0), "A10G": (8, 6), "L4": (8, 9), "L40S": (8, 9), "H100": (9, 0), "H200": (9, 0),
    "B200": (10, 0), "B300": (10, 3), "RTX PRO 4500": (12, 0), "RTX PRO Server 6000": (12, 0),
}  # fmt: skip
BFLOAT16_CAPABILITY = (8, 0)

# Cores that a server sees on one chip: two on Inferentia2 and Trainium; the eight of Trainium2 count as four, since
# software takes them in pairs. Neuron documentation, pages "Inferentia2 Architecture" and "Logical NeuronCore configuration".
NEURON_CORES = {"Inferentia2": 2, "Trainium": 2, "Trainium2": 4}

# https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html, read 2026-12-02
CUDA_DRIVERS = {11: 450, 12: 525, 13: 580}


@dataclass(frozen=True, kw_only=True)
class ModelServer:
    """An image of vLLM for one node image.

    `platform` is what it was built for, `driver_at_least` what that needs of a node, and `node_driver` the driver of the
    newest node image on the day `read_on`: the NVIDIA driver on ecs-gpu, the Neuron driver on ecs-neuron. `disk_gib` is
    what the image takes while it is pulled, compressed and unpacked together; 0 where nobody has said.
    """

    node_image: str
    image: str
    vllm_version: str
    platform: str
    driver_at_least: str
    node_driver: str
    accelerators: tuple[str, ...]
    disk_gib: int
    source: str
    read_on: str


SERVERS = {
    server.node_image: server
    for server in (
        # The architectures are in the release's docker/versions.json: 7.5 8.0 8.6 8.9 9.0 10.0 11.0 12.0, and what is
        # built for 10.0 runs on 10.3. The unsuffixed tag has been CUDA 13.0 since vLLM 0.20 (pull request 39878).
        ModelServer(
            node_image="ecs-gpu",
            image="vllm/vllm-openai:v0.31.0",
            vllm_version="0.31.0",
            platform="CUDA 13.0",
            driver_at_least="580",
            node_driver="580.178.04",
            accelerators=tuple(COMPUTE_CAPABILITIES),
            # 11.0 and 26.4 GB, measured by a user of the release's build for CUDA 12.9.
            disk_gib=35,
            source="github.com/vllm-project/vllm; github.com/aws/amazon-ecs-ami release 20261113",
            read_on="2026-12-02",
        ),
        # Release 2.29 of the SDK says of its inference library: "only supported on Trn2 and newer", and sends Trn1 and
        # Inf2 to 2.28; images with vLLM 0.21 and later are for Trn2 and Trn3. The driver is the one released with 2.28;
        # node images are built with the newest (scripts/enable-ecs-agent-inferentia-support.sh), 2.31 in October 2026.
        ModelServer(
            node_image="ecs-neuron",
            image="public.ecr.aws/neuron/pytorch-inference-vllm-neuronx:0.13.0-neuronx-py312-sdk2.28.0-ubuntu24.04",
            vllm_version="0.13.0",
            platform="Neuron SDK 2.28.0",
            driver_at_least="2.26.5",
            node_driver="2.31",
            accelerators=tuple(NEURON_CORES),
            disk_gib=0,
            source="github.com/aws-neuron/deep-learning-containers README; Neuron release notes 2.28 to 2.33",
            read_on="2026-12-02",
        ),
    )
}

# What the last part of an image's name says of the hardware that it was built for.
ENGINE_WORDS = {
    "nvidia": r"cuda|gpu|cu\d{2,3}|nvidia",
    "neuron": r"neuronx?",
    "another": r"rocm|xpu|tpu|hpu|gaudi|cpu|aarch64|arm64",
}
NODE_ENGINES = {"ecs-gpu": "nvidia", "ecs-neuron": "neuron"}


def server_for(node_image: str) -> ModelServer:
    """The server that is taken on a node image where no other is configured; KeyError for an image that runs none."""
    return SERVERS[node_image]


def tensor_parallel_size(accelerator: str, accelerators: int) -> int:
    """Over how many devices, as the server counts them, one that has so many GPUs or Neuron chips spreads its model."""
    return accelerators * NEURON_CORES.get(accelerator, 1)


def servers_on(config: InferenceConfig, fleet: GpuFleetConfig, entry: Accelerator) -> int:
    """How many servers a node holds. A Neuron node holds one, which maps its devices by number."""
    return 1 if fleet.node_image == "ecs-neuron" else max(1, entry.accelerator_count // config.accelerators)


def compatibility_faults(config: InferenceConfig, fleet: GpuFleetConfig) -> Iterator[Fault]:
    """Every reason why the server, its image, its model or its arguments cannot run on a fleet of node images of the cluster.

    Instance types that the table of accelerators does not know are left to the rules of fleets.
    """
    entries = [entry for entry in map(find, fleet.instance_types) if entry]
    yield from _image_faults(config.image, fleet.node_image)
    if not config.image:
        yield from _accelerator_faults(fleet, entries)
    if entries:
        yield from _count_faults(config.accelerators, fleet.node_image, entries)
        yield from _number_format_faults(config.server_arguments, entries)
        yield from _memory_faults(config, entries)


def _accelerator_faults(fleet: GpuFleetConfig, entries: Sequence[Accelerator]) -> Iterator[Fault]:
    server = server_for(fleet.node_image)
    unfit = [entry for entry in entries if entry.accelerator not in server.accelerators]
    if unfit:
        types = ", ".join(f"{entry.instance_type} ({entry.accelerator})" for entry in unfit)
        yield fault("inferenceFleet", fleet.name, f"has types that vLLM {server.vllm_version} for {server.platform} does not run on: {types}",
                    f"use types with {', '.join(server.accelerators)}, or name an image of your own in inferenceImage",
                    "gpuFleets", "inferenceImage")  # fmt: skip


def _image_faults(image: str, node_image: str) -> Iterator[Fault]:
    """Judges by the name alone, and only where it says what it was built for."""
    own, built_for = NODE_ENGINES[node_image], engines_named(image)
    if built_for - {own} and (own not in built_for or "another" in built_for):
        yield fault("inferenceImage", image, f"is built for other hardware than the node image {node_image} of the fleet, by its name",
                    f"use one for {own} on x86_64, such as {server_for(node_image).image}, or leave it empty",
                    "gpuFleets", "inferenceFleet")  # fmt: skip
    cuda = re.search(r"\bcu(?:da-?)?(\d{2})(?:\d|\b)", _last_part(image))
    if own == "nvidia" and cuda and int(cuda[1]) > newest_cuda():
        yield fault("inferenceImage", image, f"needs a newer driver than {server_for(node_image).node_driver}, which the node image {node_image} carries",
                    f"use an image for CUDA {newest_cuda()} or older", "gpuFleets", "inferenceFleet")  # fmt: skip


def engines_named(image: str) -> frozenset[str]:
    """The kinds of hardware that an image's name speaks of: nvidia, neuron, another; empty where it speaks of none."""
    words = re.split(r"[^a-z0-9]+", _last_part(image))
    named = {kind for kind, word in ENGINE_WORDS.items() if any(re.fullmatch(word, each) for each in words)}
    if _repository(image).endswith("vllm/vllm-openai") and not named:
        named.add("nvidia")
    return frozenset(named)


def _last_part(image: str) -> str:
    """Name and tag without registry, folders and digest, in small letters."""
    return image.partition("@")[0].rpartition("/")[2].lower()


def _repository(image: str) -> str:
    folders, _, name = image.partition("@")[0].rpartition("/")
    return f"{folders}/{name.partition(':')[0]}".lower()


def newest_cuda() -> int:
    """The newest release of CUDA that the driver of the GPU node image runs; a later one needs a later driver."""
    driver = int(server_for("ecs-gpu").node_driver.partition(".")[0])
    return max(release for release, least in CUDA_DRIVERS.items() if least <= driver)


def _count_faults(accelerators: int, node_image: str, entries: Sequence[Accelerator]) -> Iterator[Fault]:
    small = [entry for entry in entries if entry.accelerator_count < accelerators]
    if small:
        types = ", ".join(f"{entry.instance_type} has {entry.accelerator_count}" for entry in small)
        yield fault("inferenceAccelerators", accelerators, f"is more than a node of the fleet has ({types}), so no server would start there",
                    f"use at most {min(entry.accelerator_count for entry in small)}, or a fleet of larger types",
                    "gpuFleets", "inferenceFleet")  # fmt: skip
        return
    uneven = [entry for entry in entries if entry.accelerator_count % accelerators]
    if uneven and node_image == "ecs-gpu":
        types = ", ".join(f"{entry.instance_type} has {entry.accelerator_count}" for entry in uneven)
        yield fault("inferenceAccelerators", accelerators, f"leaves GPUs idle on every node ({types}), and models rarely split over such a number",
                    "use 1, 2, 4 or 8", "gpuFleets", "inferenceFleet")  # fmt: skip


def _number_format_faults(arguments: Sequence[str], entries: Sequence[Accelerator]) -> Iterator[Fault]:
    """Left to itself, vLLM falls back to float16 where a GPU has no bfloat16; told to, it ends."""
    asked = " ".join(arguments).replace("=", " ").split()
    told = "bfloat16" in [value for name, value in zip(asked, asked[1:], strict=False) if name == "--dtype"]
    without = [entry.instance_type for entry in entries
               if COMPUTE_CAPABILITIES.get(entry.accelerator, BFLOAT16_CAPABILITY) < BFLOAT16_CAPABILITY]  # fmt: skip
    if told and without:
        yield fault("inferenceServerArguments", "--dtype bfloat16", f"is beyond the GPUs of {', '.join(without)}, so the server would end",
                    "use --dtype=half, or leave it out", "gpuFleets", "inferenceFleet")  # fmt: skip


def _memory_faults(config: InferenceConfig, entries: Sequence[Accelerator]) -> Iterator[Fault]:
    """Only what cannot fit: weights of two bytes each, of a model whose name tells its size and no smaller format."""
    needed = weights_gib(config.model)
    if needed is None or describes_smaller_weights(config.model, config.server_arguments):
        return
    least = min(entries, key=lambda entry: entry.accelerator_memory_gib_each)
    there = least.accelerator_memory_gib_each * config.accelerators
    if needed > there:
        yield fault("inferenceModel", config.model, f"has {needed:.1f} GiB of weights by its name, and {config.accelerators} x {least.accelerator} of {least.instance_type} hold {there:g} GiB",
                    "raise inferenceAccelerators, use types with more memory or a quantised model; if it is one, say so with --quantization in inferenceServerArguments",
                    "gpuFleets", "inferenceFleet", "inferenceAccelerators", "inferenceServerArguments")  # fmt: skip
