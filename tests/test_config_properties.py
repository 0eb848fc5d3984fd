"""Whatever is typed, the answer is acceptance or sentences that name the key; and what is allowed is accepted."""

import json
from typing import Any, get_args, get_origin, get_type_hints

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.config import build, read_sections, section_types
from components.config_values import LOG_RETENTION_DAYS
from components.settings import settings_of
from typed_config import FLEET, REQUIRED, SERVING_FLEET, SUBNETS, as_cli_text, faults_of

QUICK = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def keys_of(cls: Any) -> list[str]:
    """The keys of a section, and of the objects inside its lists."""
    keys = []
    for key, item in settings_of(cls).items():
        hint = get_type_hints(cls)[item.name]
        nested = get_origin(hint) is tuple and get_args(hint)[0] is not str
        keys += [key, *(keys_of(get_args(hint)[0]) if nested else ())]
    return keys


TOP_KEYS = [key for cls in section_types().values() for key in settings_of(cls)]
EVERY_KEY = sorted({key for cls in section_types().values() for key in keys_of(cls)})

# Any letter that JSON can carry, halves of surrogate pairs included, and words that some key knows.
any_text = st.text(st.characters(), max_size=12)
known_words = st.sampled_from([
    "none", "single", "public", "dlami", "ecs-gpu", "g5.xlarge", "p5.48xlarge", "m5.large", "STANDARD_IA", "GLACIER", "true", "-1",
    "CLASSIC", "eu-central-1", "eu-central-1a", "eu.anthropic.claude-opus-5", "a.b", "arn:aws:acm:::", "10.0.0.0/16", "vpc-1", "",
    "training", "inference", "openai", "cr-0123456789abcdef0", "[" * 5000, "[" * 500 + "]" * 500, "NaN", "1e3", "9" * 5000, "\ud800",
    "{}", "null", "10.0.0.0/99", "\u0665", "raw/", "/mnt/shared-data/checkpoints", "DeleteOldVersions",
])  # fmt: skip
scalars = (
    st.none() | st.booleans() | st.integers(-2, 5000) | st.integers() | st.floats() | any_text | known_words
)
objects = st.dictionaries(st.sampled_from(EVERY_KEY) | any_text, scalars, max_size=5)
json_values = st.recursive(
    scalars | objects,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=10,
)


def half_right(entry: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """An entry that is right but for some of its keys."""
    return st.dictionaries(
        st.sampled_from(EVERY_KEY), scalars | st.lists(scalars, max_size=3), max_size=3
    ).map(lambda changes: {**entry, **changes})


RULE = {"id": "rule", "transitions": [{"days": 30, "storageClass": "STANDARD_IA"}], "expireDays": 90}
plausible: dict[str, st.SearchStrategy[Any]] = {
    "gpuFleets": st.lists(half_right(FLEET) | half_right(SERVING_FLEET), max_size=3),
    "lakeLifecycleRules": st.lists(half_right(RULE), max_size=3),
    "existingSubnets": st.lists(half_right(SUBNETS[0]), max_size=3),
    "trainingInstanceTypes": st.lists(
        st.sampled_from(["g5.xlarge", "p4d.24xlarge", "m5.large", "inf2.xlarge"])
    ),
    "answerModel": st.sampled_from(
        ["anthropic.claude-opus-5", "us.amazon.nova-lite-v1:0", "ca.meta.llama", "a.b"]
    ),
    "region": st.sampled_from(["us-east-1", "cn-north-1", "xx-yy-zz-1"]),
    "existingVpcId": st.just("vpc-1"),
    "training": st.just(True),
    "inference": st.just(True),
    "inferenceFleet": st.sampled_from(["nodes", "serving"]),
    "inferenceImage": st.sampled_from(["vllm/vllm-openai:v1", "a/neuron@sha256:1", "a:cu99", "a"]),
    "inferenceModel": st.sampled_from(["a/m-70B", "models/onnx/a", "a/b"]),
    "inferenceServerArguments": st.lists(
        st.sampled_from(["--port", "--dtype=bfloat16", "x", "-tp 2"]), unique=True
    ),
    "inferenceStartSchedule": st.sampled_from(["cron(0 8 ? * MON *)", "cron(a b c d e f)"]),
    "inferenceStopSchedule": st.sampled_from(["cron(0 8 ? * MON *)", "cron(1/2/3 - , # L W)"]),
    "exposure": st.just("public"),
    "trainingNodes": st.integers(1, 64),
    "bedrockMaximumAttempts": st.integers(1, 10),
    "ragCpuUnits": st.sampled_from([256, 16384]),
}
combinations = st.dictionaries(st.sampled_from(TOP_KEYS), json_values, max_size=6).flatmap(
    lambda junk: st.fixed_dictionaries({}, optional=plausible).map(lambda typed: {**junk, **typed})
)


def check_sentences(faults: list[str]) -> None:
    for fault in faults:
        assert fault.isprintable(), "a terminal or a log would choke on it"
        assert ": " in fault and ". Fix: " in fault and fault.endswith("."), (
            "a part of the sentence is missing"
        )
        assert not fault.endswith(".."), "the sentence ends twice"


@QUICK
@given(st.sampled_from(TOP_KEYS), json_values)
def test_any_value_of_any_key_is_accepted_or_refused_by_name(key: str, value: Any) -> None:
    faults = faults_of({key: value})
    check_sentences(faults)
    assert not faults or any(key in fault for fault in faults), f"{faults} does not lead to {key}"


@QUICK
@given(json_values)
def test_one_value_typed_for_every_key_is_judged_for_every_key(value: Any) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    sections, faults = read_sections(dict.fromkeys(TOP_KEYS, text))
    check_sentences([str(fault) for fault in faults])
    assert sections.general is not None


@QUICK
@given(combinations)
def test_any_combination_of_values_gives_a_configuration_or_sentences(changes: dict[str, Any]) -> None:
    sections, faults = read_sections(as_cli_text({**REQUIRED, **changes}))
    check_sentences([str(fault) for fault in faults])
    if not faults:
        assert build(sections, "project", "stack").general.region


@QUICK
@given(st.dictionaries(any_text, json_values, max_size=4))
def test_any_unknown_key_is_refused_by_name(changes: dict[str, Any]) -> None:
    _, faults = read_sections({**as_cli_text(REQUIRED), **changes})
    told = {fault.key for fault in faults if fault.allowed == "is not a known key"}
    assert told == {f"ai-platform:{key}" for key in changes if key not in TOP_KEYS}
    check_sentences([str(fault) for fault in faults])


# What is allowed is accepted

RANGES = {
    "lakeNoncurrentVersionDays": (1, 36500), "lakeAbortIncompleteUploadDays": (1, 365), "trainingAttempts": (1, 10),
    "retrievalCount": (1, 50), "ragMaximumTasks": (1, 1000), "ragCpuTargetPercent": (10, 95), "ragRequestsPerTarget": (1, 100_000),
    "ragFargateSpotPercent": (0, 100), "orchestratorMemoryMib": (128, 10_240), "orchestratorReservedConcurrency": (-1, 10_000),
    "ingestionMemoryMib": (128, 10_240), "ingestionTimeoutSeconds": (30, 900), "ingestionMaximumConcurrency": (2, 1000),
    "ingestionMaximumReceives": (1, 1000), "budgetMonthlyUsd": (1, 10_000_000), "clientTimeoutSeconds": (181, 7200),
    "albIdleTimeoutSeconds": (121, 179), "trainingTimeoutHours": (1, 672),
}  # fmt: skip
SWITCHES = (
    "protectData",
    "flowLogs",
    "lakeVersioning",
    "efsBackup",
    "containerInsights",
    "orchestrator",
    "ingestion",
    "ragService",
)
suffix = st.sampled_from(["", "a", "dev-1", "0123456789abcdef"])
tag_text = st.text("abcXYZ019 _.:/=+-@éß漢", max_size=20)
accounts = st.lists(
    st.integers(0, 10**12 - 1).map(lambda number: f"{number:012}"), min_size=1, max_size=3, unique=True
)
allowed_values = st.fixed_dictionaries(
    # Tokens enough for the most runs at once in the least time, since they are judged together.
    {"allowedAccountIds": accounts, "ingestionTokensPerMinute": st.just(2_400_000)},
    optional={
        **{key: st.integers(low, high) for key, (low, high) in RANGES.items()},
        **{key: st.booleans() for key in SWITCHES},
        "logRetentionDays": st.sampled_from(LOG_RETENTION_DAYS),
        "nameSuffix": suffix,
        "tags": st.dictionaries(tag_text.map(lambda text: f"k{text}"), tag_text, max_size=5).filter(
            lambda tags: len({key.lower() for key in tags}) == len(tags)
        ),
        "natGateways": st.sampled_from(["none", "single", "onePerZone"]),
        "vectorMaximumOcus": st.sampled_from([1, 2, 4, 8, 16]),
    },
)


@QUICK
@given(allowed_values)
def test_allowed_values_are_not_refused(values: dict[str, Any]) -> None:
    assert faults_of(values) == [], "a person is kept from a valid stack"


@QUICK
@given(st.integers(1, 1000), st.data())
def test_a_fleet_of_allowed_values_is_not_refused(maximum: int, data: st.DataObject) -> None:
    fleet = {
        **FLEET,
        "maximum": maximum,
        "minimum": data.draw(st.integers(0, maximum)),
        "onDemandBase": data.draw(st.integers(0, maximum)),
        "onDemandPercentage": data.draw(st.integers(0, 100)),
        "volumeSizeGib": data.draw(st.integers(75, 16_384)),
        "instanceRefresh": data.draw(st.booleans()),
    }
    assert faults_of({"gpuFleets": [fleet]}) == []


@QUICK
@given(st.lists(st.integers(30, 400), max_size=5))
def test_lifecycle_rules_that_step_down_in_time_are_not_refused(gaps: list[int]) -> None:
    classes = ("STANDARD_IA", "INTELLIGENT_TIERING", "ONEZONE_IA", "GLACIER", "DEEP_ARCHIVE")
    days = [sum(gaps[: position + 1]) for position in range(len(gaps))]
    transitions = [{"days": day, "storageClass": name} for day, name in zip(days, classes, strict=False)]
    rule = {"id": "down", "transitions": transitions, "expireDays": sum(gaps) + 1}
    assert faults_of({"lakeLifecycleRules": [rule]}) == []
