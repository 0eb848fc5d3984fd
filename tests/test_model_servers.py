"""The table of model servers, and what is told of a fleet, an image or a model that does not go with it."""

import csv
import re
from datetime import date
from typing import Any

import pytest

from components.accelerators import NODE_IMAGE_ARCHITECTURE, TABLE, Accelerator, find
from components.config_values import CONTAINER_IMAGE
from components.model_servers import (
    COMPUTE_CAPABILITIES,
    CUDA_DRIVERS,
    NEURON_CORES,
    SERVERS,
    engines_named,
    server_for,
    tensor_parallel_size,
)
from components.model_sizes import describes_smaller_weights, weights_gib
from typed_config import INFERENCE, SERVING_FLEET, faults_of

NEURON = {"nodeImage": "ecs-neuron", "instanceTypes": ["inf2.xlarge"]}


def serving(fleet: dict[str, Any] | None = None, **changes: Any) -> list[str]:
    return faults_of({**INFERENCE, **changes, "gpuFleets": [{**SERVING_FLEET, **(fleet or {})}]})


def known_types() -> list[Accelerator]:
    with TABLE.open(encoding="utf-8", newline="") as lines:
        next(lines)
        names = [row["instance_type"] for row in csv.DictReader(lines)]
    return [entry for entry in map(find, names) if entry]


def version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


class TestTable:
    def test_has_a_server_for_each_node_image_of_the_cluster(self) -> None:
        assert set(SERVERS) == {"ecs-gpu", "ecs-neuron"}
        assert {name: server_for(name).node_image for name in SERVERS} == {name: name for name in SERVERS}

    def test_has_images_with_a_tag_that_tells_the_version(self) -> None:
        for server in SERVERS.values():
            assert CONTAINER_IMAGE.accepts(server.image)
            tag = server.image.rpartition(":")[2]
            assert re.match(rf"v?{re.escape(server.vllm_version)}(-|$)", tag), "the row names another version"

    def test_has_node_images_whose_driver_is_new_enough(self) -> None:
        for server in SERVERS.values():
            assert version(server.node_driver) >= version(server.driver_at_least), (
                "no server would see a device"
            )

    def test_asks_for_the_driver_of_the_cuda_release(self) -> None:
        server = server_for("ecs-gpu")
        found = re.fullmatch(r"CUDA (\d+)\.\d+", server.platform)
        assert found
        assert int(server.driver_at_least) == CUDA_DRIVERS[int(found[1])]

    def test_is_dated_and_says_where_it_comes_from(self) -> None:
        for server in SERVERS.values():
            assert date.fromisoformat(server.read_on) >= date(2026, 12, 2)
            assert "github.com/" in server.source

    def test_judges_every_accelerator_that_a_node_may_have(self) -> None:
        on_nodes = {
            entry.accelerator for entry in known_types() if entry.architecture == NODE_IMAGE_ARCHITECTURE
        }
        assert on_nodes - set(COMPUTE_CAPABILITIES) - set(NEURON_CORES) == {"Inferentia"}, (
            "a new type is unjudged"
        )

    def test_counts_the_cores_that_a_server_sees(self) -> None:
        assert tensor_parallel_size("A10G", 4) == 4
        assert tensor_parallel_size("Inferentia2", 6) == 12
        assert tensor_parallel_size("Trainium2", 16) == 64, (
            "Neuron's own guides serve with 64 on trn2.48xlarge"
        )


class TestFleets:
    @pytest.mark.parametrize("entry", known_types(), ids=lambda entry: entry.instance_type)
    def test_every_known_type_of_nodes_is_accepted_but_inferentia_of_the_first_generation(
        self, entry: Accelerator
    ) -> None:
        node_image = "ecs-neuron" if entry.accelerator_kind == "neuron" else "ecs-gpu"
        region = entry.regions[0]
        fleet = {"instanceTypes": [entry.instance_type], "nodeImage": node_image}
        zones = [f"{region}a", f"{region}b"]
        nothing = {"ragService": False, "orchestrator": False, "ingestion": False, "vectorStore": False}
        found = serving(fleet, region=region, availabilityZones=zones, inferenceModel="team/model", **nothing)
        refused = entry.accelerator == "Inferentia" or entry.architecture != NODE_IMAGE_ARCHITECTURE
        assert bool(found) == refused, f"{entry.instance_type}: {found}"

    def test_a_chip_that_the_server_has_no_support_for_is_told_with_those_it_has(self) -> None:
        assert serving({**NEURON, "instanceTypes": ["inf1.xlarge"]}, inferenceModel="team/model") == [
            "inferenceFleet = serving: has types that vLLM 0.13.0 for Neuron SDK 2.28.0 does not run on: inf1.xlarge (Inferentia). "
            "Fix: use types with Inferentia2, Trainium, Trainium2, or name an image of your own in inferenceImage."
        ]

    def test_a_chip_is_left_to_an_own_image(self) -> None:
        own = {"inferenceImage": "docker.io/team/neuron-server:1", "inferenceModel": "team/model"}
        assert serving({**NEURON, "instanceTypes": ["inf1.xlarge"]}, **own) == []

    def test_more_accelerators_than_the_smallest_node_has_are_refused(self) -> None:
        fleet = {"instanceTypes": ["g5.xlarge", "g5.12xlarge"]}
        assert serving(fleet, inferenceAccelerators=2, inferenceMaximumTasks=5) == [
            "inferenceAccelerators = 2: is more than a node of the fleet has (g5.xlarge has 1), so no server would start there. "
            "Fix: use at most 1, or a fleet of larger types."
        ]

    def test_a_number_that_leaves_gpus_idle_is_refused(self) -> None:
        assert serving({"instanceTypes": ["g5.12xlarge"]}, inferenceAccelerators=3) == [
            "inferenceAccelerators = 3: leaves GPUs idle on every node (g5.12xlarge has 4), and models rarely split over such a number. "
            "Fix: use 1, 2, 4 or 8."
        ]

    def test_a_neuron_server_may_take_some_of_the_chips(self) -> None:
        fleet = {"instanceTypes": ["inf2.24xlarge"], "nodeImage": "ecs-neuron"}
        assert serving(fleet, inferenceAccelerators=4) == []

    @pytest.mark.parametrize(
        "arguments", [["--dtype=bfloat16"], ["--dtype", "bfloat16"], ["--dtype bfloat16"]]
    )
    def test_bfloat16_is_refused_where_a_gpu_has_none(self, arguments: list[str]) -> None:
        fleet = {"instanceTypes": ["g4dn.xlarge"]}
        assert serving(fleet, inferenceServerArguments=arguments) == [
            "inferenceServerArguments = --dtype bfloat16: is beyond the GPUs of g4dn.xlarge, so the server would end. "
            "Fix: use --dtype=half, or leave it out."
        ]
        assert serving(inferenceServerArguments=arguments) == [], "an A10G has bfloat16"
        assert serving(fleet, inferenceServerArguments=["--dtype=half"]) == []


class TestImages:
    @pytest.mark.parametrize(
        ("image", "named"),
        [
            (server_for("ecs-gpu").image, {"nvidia"}), (server_for("ecs-neuron").image, {"neuron"}),
            ("docker.io/vllm/vllm-openai:v0.31.0-cu129", {"nvidia"}), ("vllm/vllm-openai:v0.31.0-aarch64", {"another"}),
            ("vllm/vllm-openai-rocm:v0.31.0", {"another"}), ("team/server:1", set()), ("neuron-team/server:gpu", {"nvidia"}),
            ("111122223333.dkr.ecr.eu-central-1.amazonaws.com/gpu/server", set()),
            (f"vllm/vllm-openai@sha256:{'c0' * 32}", {"nvidia"}),
        ],
    )  # fmt: skip
    def test_the_hardware_is_read_off_the_name_where_it_says_so(self, image: str, named: set[str]) -> None:
        assert engines_named(image) == named

    @pytest.mark.parametrize(
        "image", ["vllm/vllm-openai:v0.31.0-aarch64", "team/vllm-rocm:7", server_for("ecs-neuron").image]
    )
    def test_an_image_for_other_hardware_is_refused_on_gpu_nodes(self, image: str) -> None:
        assert serving(inferenceImage=image) == [
            f"inferenceImage = {image}: is built for other hardware than the node image ecs-gpu of the fleet, by its name. "
            "Fix: use one for nvidia on x86_64, such as vllm/vllm-openai:v0.31.0, or leave it empty."
        ]

    def test_an_image_for_gpus_is_refused_on_neuron_nodes(self) -> None:
        (message,) = serving(NEURON, inferenceImage="vllm/vllm-openai:v0.31.0")
        assert message.startswith("inferenceImage = vllm/vllm-openai:v0.31.0: is built for other hardware"), (
            "the server would find no device"
        )

    @pytest.mark.parametrize(
        "image", ["team/server:1", "team/server-gpu:cu129", "vllm/vllm-openai:v0.31.0-cu129"]
    )
    def test_an_image_that_may_work_is_not_refused(self, image: str) -> None:
        assert serving(inferenceImage=image) == []

    @pytest.mark.parametrize("image", ["team/server:cu140", "team/server:1-cuda14.1"])
    def test_an_image_for_a_cuda_beyond_the_driver_of_the_node_is_refused(self, image: str) -> None:
        assert serving(inferenceImage=image) == [
            f"inferenceImage = {image}: needs a newer driver than 580.178.04, which the node image ecs-gpu carries. "
            "Fix: use an image for CUDA 13 or older."
        ]


class TestMemory:
    @pytest.mark.parametrize(
        ("model", "gib"),
        [
            ("Qwen/Qwen2.5-7B-Instruct", 13.0), ("Qwen/Qwen3-0.6B", 1.1), ("meta-llama/Llama-3.1-70B", 130.4),
            ("Qwen/Qwen3-30B-A3B", 55.9), ("models/fine-tuned/my_7b_v2", 13.0), ("Llama-2-13b/chat", None),
            ("mistralai/Mixtral-8x7B-Instruct-v0.1", None), ("google/gemma-4-E2B-it", None), ("microsoft/phi-2", None),
            ("facebook/opt-125m", None), ("stabilityai/stablelm-2-1_6b", None), ("team/7bit", None),
        ],
    )  # fmt: skip
    def test_the_size_is_read_off_the_name(self, model: str, gib: float | None) -> None:
        found = weights_gib(model)
        assert (None if found is None else round(found, 1)) == gib

    @pytest.mark.parametrize(
        "model",
        [
            "team/m-70B-AWQ", "team/m-70B-GPTQ-Int4", "RedHatAI/m-70B-FP8-dynamic", "team/m-70B-NVFP4", "openai/gpt-oss-120b",
            "unsloth/m-70B-bnb-4bit", "RedHatAI/m-70B-quantized.w4a16", "team/m-70b-q4_k_m",
        ],
    )  # fmt: skip
    def test_a_smaller_format_is_read_off_the_name(self, model: str) -> None:
        assert describes_smaller_weights(model, ()), "a model that fits would be refused"

    def test_weights_beyond_the_memory_are_refused(self) -> None:
        assert serving(inferenceModel="meta-llama/Llama-2-13b-hf") == [
            "inferenceModel = meta-llama/Llama-2-13b-hf: has 24.2 GiB of weights by its name, and 1 x A10G of g5.xlarge hold 22.35 GiB. "
            "Fix: raise inferenceAccelerators, use types with more memory or a quantised model; if it is one, say so with --quantization in inferenceServerArguments."
        ]

    @pytest.mark.parametrize(
        ("fleet", "changes"),
        [
            ({"instanceTypes": ["g5.12xlarge"]}, {"inferenceAccelerators": 2}),
            ({"instanceTypes": ["g6e.xlarge"]}, {}),
            ({}, {"inferenceServerArguments": ["--quantization=fp8"]}),
            ({}, {"inferenceServerArguments": ["--cpu_offload_gb", "8"]}),
            ({}, {"inferenceModel": "TheBloke/Llama-2-13B-chat-AWQ"}),
            ({}, {"inferenceModel": "mistralai/Mixtral-8x7B-Instruct-v0.1"}),
        ],
    )
    def test_what_may_fit_is_not_refused(self, fleet: dict[str, Any], changes: dict[str, Any]) -> None:
        assert serving(fleet, **{"inferenceModel": "meta-llama/Llama-2-13b-hf", **changes}) == []
