"""`ops advise gpu`: the well-known answers, what they rest on, and the block for the stack file."""

import json
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from components.accelerators import find, sold_in
from components.config import read_sections
from components.config_sections import NAMESPACE
from ops.advise import command
from ops.advise.better import better
from ops.advise.block import render, settings
from ops.advise.choice import Choice, choose, elsewhere
from ops.advise.fits import fits, usable_bytes
from ops.advise.hardware import CHIPS, chip_of, peak_flops
from ops.advise.models import BILLION, model_like, model_of_size, parse_size
from ops.advise.practice import BANDS, Band, practice_for
from ops.advise.question import TASKS, Question
from ops.instance_prices import price_of
from ops.spot.advice import advise, interruptions_of

pytestmark = pytest.mark.usefixtures("frozen_prices")
TODAY = date(2026, 12, 2)


def asked(task: str, size: str, region: str = "us-east-1", **more: Any) -> Choice:
    trains = task != "inference"
    defaults: dict[str, Any] = {"context": 2048 if trains else 4096, "load": 1 if trains else 4}
    return choose(
        Question(task=task, model=model_of_size(*parse_size(size)), region=region, **{**defaults, **more})
    )


@pytest.mark.parametrize(
    ("task", "size", "answer", "nodes", "precision"),
    [
        ("inference", "7B", "g5.xlarge", 1, "bf16"), ("inference", "8B", "g5.xlarge", 1, "bf16"),
        ("inference", "13B", "g5.xlarge", 1, "int8"),
        ("lora", "7B", "g5.2xlarge", 1, "bf16"), ("lora", "13B", "g5.2xlarge", 1, "int8"),
        ("lora", "30B", "p4d.24xlarge", 1, "bf16"), ("lora", "70B", "p4d.24xlarge", 1, "bf16"),
        ("full", "30B", "p4d.24xlarge", 2, "bf16"), ("full", "70B", "p4d.24xlarge", 5, "bf16"),
        ("pretrain", "7B", "p5.48xlarge", 2, "bf16"), ("pretrain", "13B", "p5.48xlarge", 6, "bf16"),
    ],
)  # fmt: skip
def test_the_well_known_questions_are_answered_as_practice_does(task: str, size: str, answer: str, nodes: int, precision: str) -> None:  # fmt: skip
    choice = asked(task, size)
    assert choice.answer and (choice.answer.entry.instance_type, choice.answer.nodes) == (answer, nodes)
    assert choice.question.precision == precision and choice.follows_practice


@pytest.mark.parametrize("size", ["7B", "13B"])
def test_inferentia_is_the_cheaper_alternative_of_a_small_server(
    size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    choice = asked("inference", size)
    assert choice.cheaper and choice.answer and choice.cheaper.entry.instance_type == "inf2.xlarge"
    assert (choice.cheaper.usd_hour or 9) < (choice.answer.usd_hour or 0)
    assert command.main(["gpu", "--task", "inference", "--parameters", size], TODAY) == 0
    assert "Cheaper, with less compatibility: inf2.xlarge" in capsys.readouterr().out


@pytest.mark.parametrize("region", ["us-east-1", "eu-west-3"])
@pytest.mark.parametrize("band", BANDS, ids=lambda band: f"{band.task}-{band.name}")
def test_practice_is_worked_out_alike_over_a_whole_band_and_everywhere(band: Band, region: str) -> None:
    expected = {"inference": {"g5.xlarge"}, "lora": {"g5.2xlarge", "g5.4xlarge"}, "full": {"p4d.24xlarge"}, "pretrain": {"p5.48xlarge"}}  # fmt: skip
    usual = {"p4d.24xlarge"} if band.name == "30B-70B" else expected[band.task]
    for share in (0, 0.25, 0.5, 0.75, 1):
        size = band.from_billions + share * (min(band.to_billions, 400) - band.from_billions)
        practice = practice_for(Question(task=band.task, model=model_of_size(size * BILLION), region=region))
        assert practice and practice.instance_type in usual, (
            f"{size:.1f}B is answered otherwise than 7B or 30B"
        )


def test_practice_takes_a_host_that_holds_the_checkpoint() -> None:
    """14B: 26 GiB in 16 bits and 2 for the script, of 28 that g5.2xlarge gives a job."""
    for size, expected in (("7B", "g5.2xlarge"), ("13.5B", "g5.2xlarge"), ("14.5B", "g5.4xlarge")):
        practice = practice_for(asked("lora", size).question)
        assert practice and practice.instance_type == expected, (
            "a script would be killed while it reads the weights"
        )


def test_practice_does_not_know_the_wishes_of_one_question() -> None:
    wish = asked("inference", "7B", precision="bf16", context=32_000, load=8)
    assert wish.practice and wish.practice.instance_type == "g5.xlarge" and not wish.follows_practice


def test_a_small_pre_training_takes_no_more_than_it_needs() -> None:
    choice = asked("pretrain", "1B")
    assert choice.practice is None and choice.answer and (choice.answer.usd_hour or 1e9) < 10
    assert (choice.answer.hours(choice.question) or 1e9) <= 14 * 24


def test_gpus_among_which_heads_cannot_be_shared_alike_are_not_taken() -> None:
    """28 query heads on 8 GPUs; at this load 4 of g5.48xlarge hold too little, and 8 would hold it."""
    question = Question(task="inference", model=model_like("qwen2.5-7b"), region="us-east-1", precision="bf16", context=131_072, load=9)  # fmt: skip
    found = fits(question)
    assert found and "g5.48xlarge" not in {fit.entry.instance_type for fit in found}, "vLLM would not start"
    assert all(28 % fit.accelerators == 0 for fit in found if fit.entry.accelerator_kind == "nvidia")


def test_fewer_bits_are_told_where_they_cost_much_less(capsys: pytest.CaptureFixture[str]) -> None:
    choice = asked("inference", "70B")
    assert choice.quantised and choice.answer
    precision, fit = choice.quantised
    assert (precision, fit.entry.instance_type) == ("int8", "g7e.2xlarge")
    assert (fit.usd_hour or 9) < 0.5 * (choice.answer.usd_hour or 0)
    assert fit.each_bytes == choice.question.with_precision("int8").need().each_bytes(1)
    assert asked("inference", "7B").quantised is None, "nothing of it is cheaper by much"
    assert asked("inference", "70B", precision="bf16").quantised is None, "nobody wants to be asked twice"
    assert command.main(["--task", "inference", "--parameters", "70B"], TODAY) == 0
    assert "With int8 weights: g7e.2xlarge, on demand 3.363 USD/h" in capsys.readouterr().out


def test_neuron_is_an_alternative_only_where_it_is_cheaper() -> None:
    long_context = asked("inference", "8B", precision="bf16", context=32_000, load=8)
    assert any(fit.entry.accelerator_kind == "neuron" for fit in long_context.all_fits)
    assert long_context.cheaper is None, "a dearer server would be called the cheaper one"
    assert asked("lora", "7B").cheaper is None, "training images do not run on Neuron"


def test_a_type_of_unknown_speed_is_not_said_to_be_too_small(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--task", "lora", "--parameters", "7B", "--tokens", "10M", "--days", "2"]
    assert command.main(arguments, TODAY) == 0
    told = capsys.readouterr().out
    assert "g5.2xlarge, which practice takes for 7B-13B, has no published bf16 speed to plan days by" in told
    assert "types without a published peak are left out" in told
    assert command.main(["--task", "lora", "--parameters", "7B", "--batch", "64"], TODAY) == 0
    assert "g5.2xlarge, which practice takes for 7B-13B, does not hold it" in capsys.readouterr().out


def test_full_fine_tuning_of_70b_does_not_fit_one_p4d(capsys: pytest.CaptureFixture[str]) -> None:
    for task in ("full", "lora"):
        assert command.main(["--task", task, "--parameters", "70B"], TODAY) == 0
        told = capsys.readouterr().out
        assert "Full fine-tuning with Adam on one p4d.24xlarge: 138.5 GiB on each of 8 accelerators, of which 36.0 are usable" in told  # fmt: skip


def test_16_bit_weights_of_13b_do_not_fit_24_gb(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["gpu", "--task", "inference", "--parameters", "13B"], TODAY) == 0
    assert (
        "16-bit weights on g5.xlarge: 28.4 GiB on its accelerator, of which 20.1 are usable"
        in capsys.readouterr().out
    )


def families(choice: Choice) -> set[str]:
    return {fit.entry.instance_type.split(".")[0] for fit, _ in better(choice)}


def test_todays_types_that_beat_practice_are_told() -> None:
    assert "g6" in families(asked("inference", "7B")), "L4 costs a fifth less for the same memory"
    assert "g6" in families(asked("lora", "7B"))
    assert {"g7e", "p4de"} <= families(asked("lora", "70B"))
    assert {"p5en", "p6-b200"} <= families(asked("pretrain", "13B"))
    long_context = asked("inference", "8B", precision="bf16", context=32_000, load=8)
    assert long_context.answer and long_context.answer.entry.instance_type in ("g6e.xlarge", "g7e.2xlarge"), (
        "24 GB no longer hold it"
    )
    assert [fit.entry.instance_type for fit in elsewhere(asked("lora", "70B"))] == ["trn1.32xlarge"]


def test_what_beats_practice_says_what_it_gives_up() -> None:
    (_, reason), *_ = better(asked("inference", "7B"))
    assert (
        reason
        == "20% cheaper per hour, the same memory, memory of 300 instead of 600 GB/s, which paces every answer"
    )
    reasons = {fit.entry.instance_type: reason for fit, reason in better(asked("lora", "70B"))}
    assert "PCIe instead of NVLink" in reasons["g7e.12xlarge"]


def test_a_smaller_host_with_the_same_gpu_does_not_beat_practice() -> None:
    names = [fit.entry.instance_type for fit, _ in better(asked("lora", "7B"))]
    assert "g6.2xlarge" in names and "g6.xlarge" not in names


def test_a_question_without_a_practice_takes_the_cheapest_that_fits() -> None:
    choice = asked("inference", "70B")
    assert not choice.follows_practice and choice.answer
    cheaper = [fit for fit in choice.all_fits if (fit.usd_hour or 1e9) < (choice.answer.usd_hour or 0)]
    assert all(fit.entry.accelerator_kind == "neuron" for fit in cheaper), (
        "somebody would pay more than needed"
    )


def test_a_region_without_the_usual_type_gets_another_and_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert "p5.48xlarge" not in sold_in("eu-central-1")
    choice = asked("pretrain", "7B", region="eu-central-1")
    assert (
        choice.answer
        and choice.answer.entry.instance_type in sold_in("eu-central-1")
        and not choice.follows_practice
    )
    assert command.main(["--task", "pretrain", "--parameters", "7B", "--region", "eu-central-1"], TODAY) == 0
    told = capsys.readouterr().out
    assert "p5.48xlarge, which practice takes for 7B and more, is not sold in eu-central-1" in told
    assert "prices of eu-central-1 are not in the table, so those of us-east-1 are shown" in told


def test_a_wish_that_practice_cannot_hold_is_not_answered_by_practice() -> None:
    choice = asked("inference", "13B", precision="bf16")
    assert choice.answer and choice.answer.entry.instance_type != "g5.xlarge" and not choice.follows_practice
    assert choice.question.precision == "bf16"


def test_what_holds_nothing_is_told_with_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--task", "inference", "--parameters", "2000B", "--precision", "bf16"], TODAY) == 1
    told = capsys.readouterr().out
    assert "No answer: No instance type that us-east-1 sells" in told and "ai-platform:" not in told
    assert command.main(["--task", "inference", "--parameters", "7B", "--region", "xx-nowhere-1"], TODAY) == 1
    assert "xx-nowhere-1 sells no accelerator type" in capsys.readouterr().err


def test_pre_training_takes_as_many_nodes_as_end_in_time() -> None:
    choice = asked("pretrain", "13B", days=30.0)
    assert choice.answer and choice.answer.nodes == 3
    assert (choice.answer.hours(choice.question) or 0) <= 30 * 24
    late = asked("pretrain", "70B", days=14.0)
    assert late.answer and late.answer.nodes == 64, "more nodes than trainingNodes takes"


@given(st.sampled_from(TASKS), st.floats(min_value=0.2, max_value=500), st.sampled_from(["us-east-1", "eu-central-1", "eu-west-3"]))  # fmt: skip
def test_every_fit_is_sold_here_and_holds_what_is_needed(task: str, billions: float, region: str) -> None:
    question = Question(task=task, model=model_of_size(billions * BILLION), region=region, context=2048)
    for fit in fits(question):
        assert region in fit.entry.regions, "a node that never starts"
        assert fit.each_bytes <= usable_bytes(fit.entry) and fit.accelerators <= fit.entry.accelerator_count
        assert fit.nodes == 1 or fit.entry.efa_interfaces >= 4, "a slow network between nodes"
        assert task == "inference" or fit.entry.accelerator_kind == "nvidia"
        assert fit.entry.architecture == "x86_64", "the node images would not boot"


REGION = "us-east-1"
REQUIRED = {"region": REGION, "availabilityZones": [f"{REGION}a", f"{REGION}b"], "ragService": False, "orchestrator": False, "ingestion": False}  # fmt: skip


def loaded(lines: list[str]) -> Any:
    """The block as the loader of the platform reads it."""
    config = yaml.safe_load("config:\n" + "\n".join(lines))["config"]
    values = {key.removeprefix(f"{NAMESPACE}:"): value for key, value in config.items()}
    sections, faults = read_sections({**REQUIRED, **values})
    assert not faults, f"the stack file would be refused: {faults[0]}"
    return sections


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("size", ["0.5B", "3B", "7B", "13B", "30B", "47B/13B", "70B", "405B"])
def test_the_block_is_taken_by_the_loader(task: str, size: str) -> None:
    choice = asked(task, size)
    assert choice.answer
    sections = loaded(render(settings(choice), choice.question.precision or "bf16"))
    if task == "inference":
        (fleet,) = sections.gpu.fleets
        assert fleet.instance_types[0] == choice.answer.entry.instance_type
        assert sections.inference.enabled and sections.inference.fleet == fleet.name
        assert sections.inference.accelerators == choice.answer.accelerators
    else:
        assert sections.training.enabled and sections.training.nodes == choice.answer.nodes
        assert sections.training.instance_types[0] == choice.answer.entry.instance_type
        assert sections.training.job_gpus == choice.answer.entry.accelerator_count


def test_an_alternative_in_the_block_holds_the_same_job() -> None:
    values = settings(asked("lora", "7B"))
    assert values["trainingInstanceTypes"] == ["g5.2xlarge", "g6.2xlarge", "g6.4xlarge"]
    for name in values["trainingInstanceTypes"]:
        entry = find(name)
        assert entry and entry.vcpus >= values["trainingJobVcpus"] and entry.memory_gib * 1024 > values["trainingJobMemoryMib"]  # fmt: skip


def test_quantised_weights_in_the_block_are_said_to_be_stored_so() -> None:
    choice = asked("inference", "13B")
    assert any("must be stored in int8" in line for line in render(settings(choice), "int8"))


def test_the_a100_of_80_gb_has_its_own_memory_speed() -> None:
    small, large = find("p4d.24xlarge"), find("p4de.24xlarge")
    assert small and large
    assert (chip_of(small).memory_gb_per_second, chip_of(large).memory_gb_per_second) == (1555, 2039)


def test_every_accelerator_of_the_platform_is_described() -> None:
    entries = [
        entry for region in ("us-east-1", "us-west-2") for name in sold_in(region) if (entry := find(name))
    ]
    assert not {entry.accelerator for entry in entries} - set(CHIPS), "its speed and link would not be known"
    p5 = find("p5.48xlarge")
    assert p5 and peak_flops(p5) == 8 * 989e12
    ultra = find("p6-b300.48xlarge")
    assert ultra and peak_flops(ultra) == 8 * 2250e12, "pre-training could not be planned on it"
    part = find("g6f.4xlarge")
    assert part is None or peak_flops(part) is None, "half a GPU would count as a whole one"


def test_json_is_one_document_with_the_same_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["gpu", "--task", "lora", "--parameters", "7B", "--json"], TODAY) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["answer"]["instance_type"] == "g5.2xlarge"
    assert document["memory"]["gib"] == pytest.approx(
        sum(part["gib"] for part in document["memory"]["parts"])
    )
    assert all(part["formula"] and part["source"] for part in document["memory"]["parts"])
    assert document["assumptions"] and document["warning"] and document["stack_file"]
    assert "Karpenter" in document["answer"]["price_source"], "a price without its source"
    low, high = document["answer"]["usd_per_useful_hour_on_spot"]
    assert low == high == pytest.approx(0.509 / document["answer"]["useful_share_on_spot"])


def test_every_answer_prints_its_assumptions_prices_with_days_and_age(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.main(["--task", "inference", "--like", "mistral-7b"], TODAY) == 0
    told = capsys.readouterr().out
    for words in (
        "on demand 1.006 USD/h in us-east-1 (2026-07-20)", "spot 0.425 to 0.451 (2026-01-29)", "per useful hour",
        ">20% interrupted in a month (Spot Advisor, 2025-06-28)", "the shape of mistral-7b", "4 requests of 4096 tokens",
        "90% of the memory", "an interruption every 4 h", "Spot Advisor for us-east-1, 2025-06-28", "Warning: The oldest of these prices was read on 2025-06-28",
        "2 x 32 layers x 8 key-value heads x 128 x 2 bytes x 4096 tokens x 4 requests",
    ):  # fmt: skip
        assert words in told
    assert command.main(["--task", "inference", "--like", "mistral-7b"], date(2025, 7, 1)) == 0
    assert "Warning" not in capsys.readouterr().out


def test_several_nodes_have_no_spot_price() -> None:
    choice = asked("full", "70B")
    assert choice.answer and choice.answer.spot_usd_hour is None, "Batch would never start it"


def test_room_is_told_for_requests(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--task", "inference", "--parameters", "7B", "--json"], TODAY) == 0
    room = json.loads(capsys.readouterr().out)["room_for_requests"]
    choice = asked("inference", "7B")
    held, too_many = (replace(choice.question, load=load).need().each_bytes(1) for load in (room, room + 1))
    entry = find("g5.xlarge")
    assert entry and held <= usable_bytes(entry) < too_many


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["gpu", "--task", "inference"], "--parameters"),
        (["gpu", "--task", "inference", "--parameters", "7"], "number of parameters"),
        (["gpu", "--task", "inference", "--parameters", "7B", "--batch", "2"], "--requests"),
        (["gpu", "--task", "lora", "--parameters", "7B", "--requests", "2"], "--batch"),
        (["gpu", "--task", "full", "--parameters", "7B", "--precision", "int8"], "trains in bf16"),
        (["gpu", "--task", "lora", "--parameters", "7B", "--precision", "fp8"], "fp8 is for inference"),
        (["gpu", "--task", "pretrain", "--parameters", "7B", "--tokens", "many"], "number of tokens"),
        (["gpu", "--task", "lora", "--parameters", "7B", "--days", "nan"], "must be a number"),
        (["gpu", "--task", "lora", "--parameters", "7B", "--days", "2"], "--days needs --tokens"),
        (["gpu", "--task", "lora", "--like", "gpt-9"], "llama-3.1-8b"),
        (["gpu", "--task", "lora", "--parameters", "0B"], "1M to 10000B"),
        (["gpu", "--task", "lora", "--parameters", "1000000B"], "number of parameters"),
        (["gpu", "--task", "lora", "--parameters", "7B", "--region", "Ohio"], "region"),
        (["gpu", "--task", "lora", "--parameters", "7B", "--context", "0"], "whole number"),
        (["--parameters", "7B"], "--task"),
        (["--task", "lora", "--parameters", "7B", "--like", "llama-2-70b"], "leave --parameters out"),
        (["--task", "lora", "--parameters", "47B/47B", "--like", "mixtral-8x7b"], "46.7B/12.9B"),
        ([], "gpu|compute"),
    ],
)
def test_wrong_usage_is_told_with_exit_code_2(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(arguments, TODAY)
    assert stopped.value.code == 2 and told in capsys.readouterr().err


def test_tokens_of_a_known_model_decide_the_hours() -> None:
    question = Question(task="full", model=model_like("llama-3.1-8b"), region="us-east-1", tokens=1e9)
    fit = next(fit for fit in fits(question) if fit.entry.instance_type == "p5.48xlarge")
    assert fit.hours(question) == pytest.approx(6 * 8.03e9 * 1e9 / (8 * 989e12 * 0.4) / 3600, rel=0.001)


def test_a_size_near_that_of_the_named_shape_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--task", "lora", "--parameters", "9B", "--like", "llama-3.1-8b"], TODAY) == 0
    assert "the shape of llama-3.1-8b" in capsys.readouterr().out


def test_each_type_is_interrupted_as_its_group_says_unless_the_person_knows_better() -> None:
    """The same rate as `ops spot` takes, so that two verbs do not disagree on one type."""
    question = asked("lora", "7B").question
    calm, rough, unknown = (
        price_of(name, "us-east-1") for name in ("p4de.24xlarge", "g5.xlarge", "g7e.2xlarge")
    )
    for price in (calm, rough, unknown):
        assert question.interruptions(price).per_hour == interruptions_of(price).per_hour
    assert question.interruptions(calm).per_hour < question.interruptions(rough).per_hour == 0.25
    told = replace(question, interruption_hours=6.0)
    assert told.interruptions(calm).per_hour == told.interruptions(unknown).per_hour == pytest.approx(1 / 6)
    for task in ("lora", "inference"):
        of_task = replace(question, task=task)
        calm_share, rough_share = (of_task.useful_share("g5.xlarge", price) for price in (calm, rough))
        assert 1 > calm_share > rough_share, task
    saves = question.save_seconds(1)
    assert question.useful_share("p4de.24xlarge", calm) == advise("p4de.24xlarge", calm, saves).useful_share


def test_the_answer_tells_how_often_it_is_taken_to_be_interrupted(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--task", "lora", "--parameters", "7B"], TODAY) == 0
    assert "on spot g5.2xlarge: an interruption every 3,271 h (15-20% of instances a month" in capsys.readouterr().out  # fmt: skip
    arguments = ["--task", "lora", "--parameters", "7B", "--interruption-hours", "6", "--json"]
    assert command.main(arguments, TODAY) == 0
    answer = json.loads(capsys.readouterr().out)["answer"]
    assert answer["hours_between_interruptions"] == pytest.approx(6)
    assert answer["interruptions_counted"] == "4 a day, as given"


def test_a_machine_that_is_used_in_part_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--task", "inference", "--parameters", "70B"], TODAY) == 0
    told = capsys.readouterr().out
    assert "4 of 8 x A100 40" in told, "four GPUs would seem to be all that the price buys"
    assert "  2 x RTX PRO Server 6000 96" in told
