"""A model server that would never start, never be reached, or not do what the keys say is refused."""

import zoneinfo
from collections.abc import Mapping
from typing import Any

import pytest

from components.config_inference_rules import HISTORY_SHARE, REFUSED_ARGUMENTS
from components.cron_expressions import cron_fault
from rag import pipeline
from typed_config import FLEET, INFERENCE, NOTHING_ANSWERS, SERVING_FLEET, faults_of

NIGHTS = {"inferenceStartSchedule": "cron(0 8 ? * MON-FRI *)", "inferenceStopSchedule": "cron(0 18 ? * MON-FRI *)"}  # fmt: skip
ASKED = {**INFERENCE, "answerProvider": "inference"}


def fleets(**changes: Any) -> dict[str, Any]:
    return {"gpuFleets": [{**SERVING_FLEET, **changes}]}


REFUSED: list[tuple[Mapping[str, Any], list[str]]] = [
    ({"inference": True}, [
        'inferenceModel is not set: the model server needs a model. Fix: name one such as Qwen/Qwen2.5-7B-Instruct or models/fine-tuned/my-model, or set inference to false.',
        'inferenceFleet is not set: the model server needs a fleet to run on. Fix: add a fleet with purpose inference to gpuFleets, or set inference to false.',
    ]),
    ({**INFERENCE, "inferenceFleet": None}, [
        'inferenceFleet is not set: the model server needs a fleet to run on. Fix: use serving, or set inference to false.',
    ]),
    ({**INFERENCE, "inferenceFleet": "servign"}, [
        'inferenceFleet = servign: is not a fleet of this stack. Fix: use serving if that is what you meant.',
    ]),
    ({**INFERENCE, "inferenceFleet": "x"}, [
        'inferenceFleet = x: is not a fleet of this stack. Fix: use serving.',
    ]),
    ({**INFERENCE, "inferenceFleet": "nodes", "gpuFleets": [FLEET]}, [
        'inferenceFleet = nodes: has the purpose training, so its nodes do not join the cluster. Fix: add a fleet with purpose inference to gpuFleets.',
    ]),
    ({**INFERENCE, "inferenceMaximumTasks": 3}, [
        'inferenceMaximumTasks = 3: is more than the 2 nodes of the fleet serving hold (2). Fix: use at most 2, or raise the fleet\'s maximum to 3.',
    ]),
    ({**INFERENCE, "inferenceAccelerators": 2, "inferenceMaximumTasks": 5, **fleets(instanceTypes=["g5.12xlarge", "g6.12xlarge"])}, [
        'inferenceMaximumTasks = 5: is more than the 2 nodes of the fleet serving hold (4). Fix: use at most 4, or raise the fleet\'s maximum to 3.',
    ]),
    ({**INFERENCE, "inferenceMaximumTasks": 3, **fleets(instanceTypes=["inf2.24xlarge"], nodeImage="ecs-neuron")}, [
        'inferenceMaximumTasks = 3: is more than the 2 nodes of the fleet serving hold (2). Fix: use at most 2, or raise the fleet\'s maximum to 3.',
    ]),
    ({**INFERENCE, **fleets(volumeSizeGib=64)}, [
        'gpuFleets[0].volumeSizeGib = 64: is too small to pull vllm/vllm-openai:v0.31.0, which takes 35 GiB on the way. Fix: use 65 or more.',
    ]),
    ({**INFERENCE, "inferenceMinimumTasks": 3}, [
        'inferenceMinimumTasks = 3: must not be above inferenceMaximumTasks (2). Fix: lower it, or raise inferenceMaximumTasks.',
    ]),
    ({**INFERENCE, **NIGHTS, "inferenceStopSchedule": None}, [
        'inferenceStopSchedule is not set: is needed with inferenceStartSchedule, or the service would open and stay so. Fix: set both, or remove inferenceStartSchedule.',
    ]),
    ({**INFERENCE, **NIGHTS, "inferenceStartSchedule": None}, [
        'inferenceStartSchedule is not set: is needed with inferenceStopSchedule, or the service would close and stay so. Fix: set both, or remove inferenceStopSchedule.',
    ]),
    ({**INFERENCE, **NIGHTS, "inferenceStartSchedule": "cron(0 24 ? * MON-FRI *)"}, [
        'inferenceStartSchedule = cron(0 24 ? * MON-FRI *): has no valid hours (24), which takes 0 to 23. Fix: use one such as cron(0 8 ? * MON-FRI *).',
    ]),
    ({**INFERENCE, **NIGHTS, "inferenceStopSchedule": "cron(0 8 * * MON-FRI *)"}, [
        'inferenceStopSchedule = cron(0 8 * * MON-FRI *): must have ? in exactly one of day of month and day of week. Fix: use one such as cron(0 8 ? * MON-FRI *).',
    ]),
    ({**INFERENCE, **NIGHTS, "inferenceStopSchedule": NIGHTS["inferenceStartSchedule"]}, [
        'inferenceStartSchedule = cron(0 8 ? * MON-FRI *): opens the service at the moment at which inferenceStopSchedule closes it. Fix: choose different times.',
    ]),
    ({**INFERENCE, **NIGHTS, "inferenceScheduleTimeZone": "Europe/Berlinn"}, [
        'inferenceScheduleTimeZone = Europe/Berlinn: is not a time zone of the IANA database. Fix: use Europe/Berlin if that is what you meant.',
    ]),
    ({**INFERENCE, "inferenceModel": "models/onnx/my-model"}, [
        'inferenceModel = models/onnx/my-model: cannot be served: vLLM reads safetensors, not ONNX. Fix: put a whole model, merged with its adapters, below models/fine-tuned/.',
    ]),
    ({**INFERENCE, "inferenceModel": "models/adapters/my-model"}, [
        'inferenceModel = models/adapters/my-model: cannot be served: an adapter is no model by itself. Fix: put a whole model, merged with its adapters, below models/fine-tuned/.',
    ]),
    ({**INFERENCE, "inferenceModel": "models/finetuned"}, [
        'inferenceModel = models/finetuned: is no folder of the lake that holds a model. Fix: use one below models/fine-tuned/, such as models/fine-tuned/my-model.',
    ]),
    ({**INFERENCE, **fleets(instanceTypes=["g5.xlarge", "g5.12xlarge"])}, [
        'inferenceFleet = serving: has types that hold different numbers of servers (g5.xlarge 1, g5.12xlarge 4), and ECS may start the largest for a single one. Fix: make a fleet for each size.',
    ]),
    ({**INFERENCE, "inferenceServerArguments": ["--tensor-parallel=2", "-tp2"]}, [
        'inferenceServerArguments = --tensor-parallel=2: must not be given, since a server takes inferenceAccelerators devices. Fix: set that.',
        'inferenceServerArguments = -tp2: must not be given, since a server takes inferenceAccelerators devices. Fix: set that.',
    ]),
    ({**INFERENCE, "inferenceServerArguments": ["--max_model_len=4096", "--dtype=half"]}, [
        'inferenceServerArguments = --max_model_len=4096: must not be given, since the longest request is inferenceContextTokens. Fix: set that.',
    ]),
    ({**INFERENCE, "inferenceServerArguments": ["--api-key=sk-secret"]}, [
        'inferenceServerArguments = --api-key: must not be given, since a key here is readable in the stack file and in the task definition. Fix: remove it; security groups decide who reaches the server.',
    ]),
    ({**INFERENCE, "inferenceServerArguments": ["Qwen/Qwen3-8B"]}, [
        'inferenceServerArguments = Qwen/Qwen3-8B: must begin with an option, or it is taken for a second model. Fix: begin with one such as --max-num-seqs=64.',
    ]),
    ({"answerProvider": "inference"}, [
        "answerProvider = inference: needs the stack's own model server, which is switched off. Fix: set inference to true, or answerProvider to bedrock.",
    ]),
    ({**ASKED, "openaiBaseUrl": "https://models.example.com/v1", "openaiModel": "gpt-5"}, [
        "openaiBaseUrl = https://models.example.com/v1: is ignored, since answers come from the stack's own model server. Fix: remove it, or set answerProvider to openai.",
        "openaiModel = gpt-5: is ignored, since answers come from the stack's own model server. Fix: remove it, or set answerProvider to openai.",
    ]),
    ({**ASKED, "inferenceContextTokens": 9523}, [
        'inferenceContextTokens = 9523: is below what one request of the RAG API can take (9524: passages, conversation, question and answer), so the server would refuse questions. Fix: use at least 9524, or lower contextTokens or answerMaxTokens.',
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "messages"), REFUSED, ids=range(len(REFUSED)))
def test_a_model_server_that_cannot_work_is_told_in_full(
    changes: dict[str, Any], messages: list[str]
) -> None:
    assert faults_of(changes) == messages, "the service would wait for a server that never comes"


@pytest.mark.parametrize(
    "changes",
    [
        INFERENCE,
        {**INFERENCE, **NIGHTS, "inferenceScheduleTimeZone": "Europe/Berlin"},
        {**INFERENCE, "inferenceAccelerators": 2, "inferenceMaximumTasks": 4, **fleets(instanceTypes=["g5.12xlarge"])},
        {**INFERENCE, "inferenceModel": "models/fine-tuned/my-model", "natGateways": "none"},
        {**INFERENCE, "inferenceMinimumTasks": 2, "inferenceServerArguments": ["--max-num-seqs", "64"]},
        {**INFERENCE, **fleets(instanceTypes=["inf2.xlarge", "inf2.8xlarge"], nodeImage="ecs-neuron")},
        {**INFERENCE, **fleets(volumeSizeGib=65)},
        {**INFERENCE, "inferenceImage": "docker.io/team/server:1", **fleets(volumeSizeGib=30)},
        {**ASKED, "inferenceContextTokens": 9524},
        {**ASKED, **NOTHING_ANSWERS, "openaiModel": "gpt-5", "inferenceContextTokens": 256},
        {**INFERENCE, "openaiModel": "gpt-5", "inferenceContextTokens": 256},
    ],
)  # fmt: skip
def test_a_model_server_that_works_is_not_refused(changes: dict[str, Any]) -> None:
    assert faults_of(changes) == []


def test_the_share_of_the_conversation_is_that_of_the_pipeline() -> None:
    assert HISTORY_SHARE == pipeline.HISTORY_SHARE, "the server would refuse long conversations"


def test_keys_of_a_model_server_that_is_left_out_are_not_judged() -> None:
    unused = {
        "inferenceFleet": "nowhere",
        "inferenceServerArguments": ["--port=1"],
        "inferenceMinimumTasks": 9,
    }
    assert faults_of(unused) == [], "a person is told about something that will not exist"


@pytest.mark.parametrize("argument", REFUSED_ARGUMENTS)
def test_an_argument_that_the_platform_decides_is_refused_in_every_way_of_typing_it(argument: str) -> None:
    for typed in ([argument, "1"], [f"{argument}=1"], [f"{argument} 1"]):
        (message,) = faults_of({**INFERENCE, "inferenceServerArguments": ["--seed=1", *typed]})
        assert message.startswith(f"inferenceServerArguments = {argument}"), "the server would get it twice"


def test_a_key_among_the_arguments_is_not_repeated_in_the_message() -> None:
    for typed in (["--api-key=sk-secret"], ["--api-key", "sk-secret"], ["--api_key sk-secret"]):
        assert "sk-secret" not in str(faults_of({**INFERENCE, "inferenceServerArguments": typed}))


def test_a_machine_without_time_zones_judges_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zoneinfo, "available_timezones", set)
    assert faults_of({**INFERENCE, "inferenceScheduleTimeZone": "Europe/Nowhere"}) == []


@pytest.mark.parametrize(
    "schedule",
    [
        "0 8 ? * MON-FRI *", "0 8 * * ? *", "*/15 0-6/2 1,15 JAN-MAR ? 2026-2030", "0 8 ? * 2#1 *", "0 8 ? * 6L *",
        "0 8 L * ? *", "0 8 3W * ? *", "59 23 31 12 ? 2199", "0 8 ? * sat,SUN *", "0 8 LW * ? *",
    ],
)  # fmt: skip
def test_a_schedule_that_aws_takes_is_taken(schedule: str) -> None:
    assert cron_fault(f"cron({schedule})") is None


@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        ("60 8 ? * MON *", "minutes (60)"), ("0 8-25 ? * MON *", "hours (8-25)"), ("0 8 0 * ? *", "day of month (0)"), ("0 8 99W * ? *", "day of month (99W)"),
        ("0 8 ? 13 MON *", "month (13)"), ("0 8 ? MAI MON *", "month (MAI)"), ("0 8 ? * 0 *", "day of week (0)"),
        ("0 8 ? * MON 1969", "year (1969)"), ("? 8 ? * MON *", "minutes (?)"), ("*/0 8 ? * MON *", "minutes (*/0)"),
        ("0 8 ? * MON, *", "day of week (MON,)"), ("0 1-2-3 ? * MON *", "hours (1-2-3)"), ("0 8/x ? * MON *", "hours (8/x)"),
        ("0 8 ? * ? *", "exactly one"), ("0 8 1 * MON *", "exactly one"),
    ],
)  # fmt: skip
def test_a_schedule_that_aws_would_refuse_is_refused(schedule: str, told: str) -> None:
    assert told in (cron_fault(f"cron({schedule})") or ""), "the update would fail half done"
