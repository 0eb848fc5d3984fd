"""How the model server is started, and what it takes of a node."""

import pytest

from components.accelerators import find
from components.inference_server import (
    command,
    deployment_percentages,
    environment,
    image,
    lake_folder,
    memory_mib,
    model_path,
    served_name,
)
from components.model_servers import server_for
from inference_workloads import LAKE_MODEL, NEURON, configured, fleet_with


class TestModel:
    @pytest.mark.parametrize(
        ("model", "folder", "path", "name"),
        [
            ("Qwen/Qwen2.5-7B-Instruct", "", "Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B-Instruct"),
            (LAKE_MODEL, f"{LAKE_MODEL}/", f"/scratch/{LAKE_MODEL}", "my-7b"),
            ("models/fine-tuned/law/v2", "models/fine-tuned/law/v2/", "/scratch/models/fine-tuned/law/v2", "v2"),
            ("models/mine", "", "models/mine", "models/mine"),
        ],
    )  # fmt: skip
    def test_a_model_is_loaded_from_where_it_is_and_called_by_a_name_that_stays(
        self, model: str, folder: str, path: str, name: str
    ) -> None:
        assert (lake_folder(model), model_path(model), served_name(model)) == (folder, path, name)

    def test_the_folder_ends_where_its_name_does(self) -> None:
        assert not f"{LAKE_MODEL}-secret/weights".startswith(lake_folder(LAKE_MODEL)), (
            "the grant would open a neighbour whose name begins alike"
        )


class TestCommand:
    def test_the_server_gets_the_configured_model_and_length(self) -> None:
        made = command(*configured(inferenceContextTokens=16_384))
        assert made[0] == "Qwen/Qwen2.5-7B-Instruct"
        assert _value(made, "--served-model-name") == "Qwen/Qwen2.5-7B-Instruct"
        assert _value(made, "--max-model-len") == "16384"
        assert (_value(made, "--host"), _value(made, "--port")) == ("0.0.0.0", "8000")

    def test_a_model_is_spread_over_all_gpus_of_its_server(self) -> None:
        fleet = fleet_with(instanceTypes=["g5.12xlarge"])
        made = command(*configured(**fleet, inferenceAccelerators=4))
        assert _value(made, "--tensor-parallel-size") == "4", "three GPUs would be paid for and idle"

    def test_a_model_is_spread_over_both_cores_of_each_neuron_chip(self) -> None:
        made = command(*configured(**NEURON))
        assert _value(made, "--tensor-parallel-size") == "4"
        assert _value(made, "--max-num-seqs") == "4", "the number for GPUs would be compiled in"

    def test_gpus_are_left_their_own_number_of_requests(self) -> None:
        made = command(*configured())
        assert "--max-num-seqs" not in made
        assert "--no-enable-prefix-caching" not in made, "shared beginnings would be worked out again"

    @pytest.mark.parametrize("fleet", [{}, NEURON])
    def test_the_stack_s_own_arguments_come_last_so_that_they_win(self, fleet: dict[str, object]) -> None:
        made = command(*configured(**fleet, inferenceServerArguments=["--max-num-seqs=8", "--seed", "1"]))
        assert made[-3:] == ["--max-num-seqs=8", "--seed", "1"]

    @pytest.mark.parametrize(
        ("written", "words"),
        [
            (["--dtype half"], ["--dtype", "half"]),
            (["--dtype=half"], ["--dtype=half"]),
            (["--dtype", "half"], ["--dtype", "half"]),
            (["--hf-overrides", '{"a": 1}'], ["--hf-overrides", '{"a": 1}']),
            (['--hf-overrides {"a": 1}'], ["--hf-overrides", '{"a": 1}']),
            (['--hf-overrides={"a": 1}'], ['--hf-overrides={"a": 1}']),
        ],
    )
    def test_an_option_with_its_value_in_one_item_is_two_words(
        self, written: list[str], words: list[str]
    ) -> None:
        made = command(*configured(inferenceServerArguments=written))
        assert made[-len(words) :] == words, "the server would end with an unknown option"
        assert len(made) == len(command(*configured())) + len(words)


class TestImage:
    def test_the_tested_image_of_the_node_image_is_taken(self) -> None:
        assert image(*configured()) == server_for("ecs-gpu").image
        assert image(*configured(**NEURON)) == server_for("ecs-neuron").image

    def test_a_configured_image_is_taken_instead(self) -> None:
        assert image(*configured(inferenceImage="docker.io/team/server:1")) == "docker.io/team/server:1"


class TestEnvironment:
    def test_models_are_downloaded_once_for_all_nodes(self) -> None:
        assert environment(*configured())["HF_HOME"] == "/mnt/shared-data/cache"

    def test_the_balancer_is_the_one_that_closes_an_idle_connection(self) -> None:
        variables = environment(*configured())
        assert int(variables["VLLM_HTTP_TIMEOUT_KEEP_ALIVE"]) > 600, "it would answer 502 now and then"

    def test_nobody_outside_is_told_what_is_served(self) -> None:
        variables = environment(*configured())
        assert (variables["VLLM_NO_USAGE_STATS"], variables["HF_HUB_DISABLE_TELEMETRY"]) == ("1", "1")

    def test_nodes_share_what_the_neuron_compiler_made_and_keep_whole_models_to_themselves(self) -> None:
        variables = environment(*configured(**NEURON))
        assert variables["NEURON_COMPILE_CACHE_URL"].startswith("/mnt/shared-data/cache/")
        assert variables["NEURON_COMPILED_ARTIFACTS"].startswith("/scratch/"), (
            "two nodes would write one folder"
        )
        assert variables["NEURON_RT_NUM_CORES"] == "4"
        assert not any(name.startswith("NEURON") for name in environment(*configured()))

    @pytest.mark.parametrize(
        "change",
        [
            {"inferenceContextTokens": 4096},
            {"inferenceAccelerators": 1},
            {"inferenceModel": LAKE_MODEL},
            {"inferenceServerArguments": ["--max-num-seqs=8"]},
            {"inferenceImage": "docker.io/team/neuron:1"},
        ],
    )
    def test_a_model_compiled_with_other_settings_is_never_taken(self, change: dict[str, object]) -> None:
        before = environment(*configured(**NEURON))
        assert before == environment(*configured(**NEURON)), "every start would compile anew"
        after = environment(*configured(**{**NEURON, **change}))
        key = "NEURON_COMPILED_ARTIFACTS"
        assert before[key] != after[key], "the server would answer with the old settings"


class TestShareOfANode:
    @pytest.mark.parametrize(
        ("types", "accelerators"),
        [
            (["g5.xlarge", "g6.xlarge"], 1),
            (["g5.xlarge", "g5.2xlarge"], 1),
            (["g5.12xlarge"], 1),
            (["g5.12xlarge"], 2),
            (["g5.12xlarge"], 4),
            (["g5.48xlarge"], 4),
        ],
    )
    def test_as_many_servers_fit_on_a_node_as_its_gpus_allow(
        self, types: list[str], accelerators: int
    ) -> None:
        changes = fleet_with(instanceTypes=types, maximum=8)
        reserved = memory_mib(*configured(**changes, inferenceAccelerators=accelerators))
        for name in types:
            entry = find(name)
            assert entry
            node = entry.memory_gib * 1024
            servers = entry.accelerator_count // accelerators
            assert reserved * servers <= 0.9 * node, f"ECS would find no room on {name} for the last server"
        assert reserved >= 13_000, "a 7B model could not be loaded"

    def test_a_neuron_server_has_the_whole_node_for_itself(self) -> None:
        whole = memory_mib(*configured(**NEURON))
        entry = find("inf2.24xlarge")
        assert entry
        assert whole > entry.memory_gib * 1024 / 2, "a second server would map the same devices"

    @pytest.mark.parametrize(
        ("types", "nodes", "most", "least", "percentages"),
        [
            (["g5.xlarge"], 3, 2, 1, (100, 200)),
            (["g5.xlarge"], 5, 4, 4, (100, 125)),
            (["g5.xlarge"], 5, 4, 3, (100, 134)),
            (["g5.xlarge"], 2, 2, 1, (0, 100)),
            (["g5.xlarge"], 2, 2, 2, (50, 100)),
            (["g5.xlarge"], 1, 1, 1, (0, 100)),
            (["g5.12xlarge"], 1, 2, 1, (100, 200)),
            (["g5.12xlarge"], 1, 4, 1, (0, 100)),
        ],
    )
    def test_a_deployment_keeps_old_servers_only_where_there_is_room_for_new_ones(
        self, types: list[str], nodes: int, most: int, least: int, percentages: tuple[int, int]
    ) -> None:
        changes = fleet_with(instanceTypes=types, maximum=nodes)
        found = deployment_percentages(
            *configured(**changes, inferenceMaximumTasks=most, inferenceMinimumTasks=least)
        )
        assert found == percentages, "a deployment would wait for ever, or leave a needless gap"

    def test_six_chips_of_one_neuron_node_are_room_for_one_server(self) -> None:
        assert deployment_percentages(*configured(**NEURON, inferenceMaximumTasks=2)) == (0, 100)
        assert deployment_percentages(*configured(**NEURON, inferenceMaximumTasks=1)) == (100, 200)


def _value(words: list[str], name: str) -> str:
    assert words.count(name) == 1
    return words[words.index(name) + 1]
