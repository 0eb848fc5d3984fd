"""How a stack's configuration is loaded: every fault in one go, no secret in any message, and nothing silently replaced."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import pytest
from pulumi.runtime import set_all_config

from components.config import ConfigError, PlatformConfig, build
from components.config_sections import NAMESPACE, Sections
from ops.capture.recording import Recording
from typed_config import FLEET, REQUIRED, TRAINING, as_cli_text, faults_of, read

MARKER = "hunter2-marker"
EVERY_WORKLOAD = {**TRAINING, "gpuFleets": [FLEET], "budgetEmail": "team@example.com"}


@pytest.fixture(autouse=True)
def _forget_configuration() -> Any:
    yield
    set_all_config({}, [])


def load(values: Mapping[str, Any], secret_keys: tuple[str, ...] = ()) -> PlatformConfig:
    qualified = {f"{NAMESPACE}:{key}": value for key, value in as_cli_text(values).items()}
    set_all_config(qualified, [f"{NAMESPACE}:{key}" for key in secret_keys])
    return PlatformConfig.load()


def refusal(values: Mapping[str, Any], secret_keys: tuple[str, ...] = ()) -> str:
    with pytest.raises(ConfigError) as caught:
        load(values, secret_keys)
    return str(caught.value)


@pytest.mark.parametrize("space", ["ai-plattform", "ai-platfrom", "aiplatform"])
def test_a_namespace_that_is_nearly_ours_is_told_rather_than_ignored(space: str) -> None:
    values = {f"{NAMESPACE}:{key}": value for key, value in as_cli_text(REQUIRED).items()}
    set_all_config({**values, f"{space}:asleep": MARKER, "aws:region": "eu-central-1"}, [])
    with pytest.raises(ConfigError) as caught:
        PlatformConfig.load()
    (fault,) = caught.value.faults
    assert fault.key == f"{space}:" and "ai-platform:" in fault.fix, (
        "the setting would have no effect, without a word"
    )
    assert MARKER not in str(caught.value)


# All faults in one go


def test_all_faults_are_told_in_one_go() -> None:
    fleets = [
        {
            "name": "a",
            "purpose": "training",
            "instanceType": ["g5.xlarge"],
            "nodeImage": "dlami",
            "maximum": 1,
        },
        {**FLEET, "name": "b", "minimum": 3},
    ]
    wrong = {"availabilityZones": ["us-east-1a", "us-east-1b"], "regin": "eu-central-1", "asleep": "perhaps",
             "ragMemoryMib": 1025, "gpuFleets": fleets, "protectData": True}  # fmt: skip
    assert refusal({"region": "eu-central-1", **wrong}) == (
        f"The configuration of stack {pulumi.get_stack()} has 8 faults:"
        "\n  - ai-platform:regin = eu-central-1: is not a known key. Fix: use region if that is what you meant."
        "\n  - ai-platform:asleep = perhaps: must be true or false. Fix: change it, or remove it to use the default false."
        '\n  - ai-platform:gpuFleets[0].instanceType = ["g5.xlarge"]: is not a known key. Fix: use instanceTypes if that is what you meant.'
        "\n  - ai-platform:gpuFleets[0].instanceTypes is not set: it is required. Fix: set it; it must list 1 to 40 different items, every item must be an instance type such as g5.xlarge."
        "\n  - ai-platform:allowedAccountIds is not set: protected data must not land in the wrong account by mistake. Fix: list the account ids this stack may deploy to."
        "\n  - ai-platform:availabilityZones = us-east-1a, us-east-1b: must be zones of eu-central-1. Fix: use zones of eu-central-1, or change region."
        "\n  - ai-platform:gpuFleets[1].minimum = 3: must not be above maximum (2). Fix: lower it, or raise maximum."
        "\n  - ai-platform:ragMemoryMib = 1025: is not a Fargate size with ragCpuUnits 512 (1024, 2048, 3072, 4096 MiB). Fix: use 1024."
    )


def test_a_single_fault_is_counted_as_one() -> None:
    assert refusal({"availabilityZones": REQUIRED["availabilityZones"]}) == (
        f"The configuration of stack {pulumi.get_stack()} has 1 fault:"
        "\n  - ai-platform:region is not set: it is required. Fix: set it; it must be a region such as eu-central-1."
    )


def test_a_missing_region_does_not_hide_what_else_is_wrong() -> None:
    keys = [
        fault.split(" ")[0] for fault in faults_of({"region": None, "ragMinimumTasks": 9, "asleep": "no"})
    ]
    assert keys == ["region", "asleep", "ragMinimumTasks"], "the person would mend one fault per attempt"


def test_the_refusal_reaches_the_command_line_without_a_traceback() -> None:
    assert issubclass(ConfigError, pulumi.RunError), "Pulumi prints a traceback for any other exception"


def test_a_wrong_configuration_registers_nothing(register: Callable[..., Recording]) -> None:
    with pytest.raises(ConfigError):
        register(PlatformConfig.load, {"ragDesiredTasks": 1, "ragMinimumTasks": 2})


# Secrets


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("openaiModel", MARKER), ("region", MARKER), ("ragCpuUnits", MARKER), ("tags", {"Owner": MARKER}),
        ("allowedAccountIds", ["111122223333", MARKER]), ("gpuFleets", [{**FLEET, "extraBootScript": MARKER}]),
        ("unheardOf", MARKER), ("openaiApiKeySecretArm", {"nested": [MARKER]}),
    ],
)  # fmt: skip
def test_the_value_of_a_secret_key_is_never_printed(key: str, value: Any) -> None:
    message = refusal({**REQUIRED, key: value}, (key,))
    assert MARKER not in message, "the secret stands in the build log"
    assert f"ai-platform:{key} = [secret]: is " in message


def test_a_secret_setting_is_refused_with_the_reason() -> None:
    assert faults_of({"openaiModel": "x"}, ["openaiModel"]) == [
        "openaiModel = [secret]: is set as a secret, but settings end in names, plans and templates, which are shown. "
        "Fix: set openaiModel without --secret; keep secrets in Secrets Manager and name them by ARN."
    ]


def test_an_unknown_secret_key_is_told_as_unknown() -> None:
    assert faults_of({"openaiModle": MARKER}, ["openaiModle"]) == [
        "openaiModle = [secret]: is not a known key. Fix: use openaiModel if that is what you meant."
    ]


@pytest.mark.parametrize(
    "key", ["openaiApiKeySecretArn", "bearerTokenSecretArn", "openaiApiKey", "bearer_token", "dbPassword"]
)
@pytest.mark.parametrize("value", [MARKER, [MARKER]])
def test_a_secret_typed_in_plain_where_its_name_belongs_is_not_printed(key: str, value: Any) -> None:
    (message,) = faults_of({key: json.dumps(value) if isinstance(value, list) else value})
    assert message.startswith(f"{key} = [secret]: "), "the key of the API stands in the build log"
    assert MARKER not in message


# Where the values come from


def test_the_command_lines_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = {f"{NAMESPACE}:{key}": value for key, value in as_cli_text({**REQUIRED, "asleep": True}).items()}
    monkeypatch.setenv(
        "PULUMI_CONFIG", json.dumps({**typed, "aws:region": "us-east-1", "other:asleep": "maybe"})
    )
    monkeypatch.setenv("PULUMI_CONFIG_SECRET_KEYS", "[]")
    assert PlatformConfig.load().general.asleep is True


def test_the_command_lines_secret_keys_are_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = {**as_cli_text(REQUIRED), "openaiModel": MARKER}
    monkeypatch.setenv(
        "PULUMI_CONFIG", json.dumps({f"{NAMESPACE}:{key}": value for key, value in typed.items()})
    )
    monkeypatch.setenv("PULUMI_CONFIG_SECRET_KEYS", json.dumps([f"{NAMESPACE}:openaiModel"]))
    with pytest.raises(ConfigError, match=r"openaiModel = \[secret\]: is set as a secret") as caught:
        PlatformConfig.load()
    assert MARKER not in str(caught.value)


# What is kept


KEPT: list[tuple[str, Any, Callable[[Sections], Any]]] = [
    ("orchestratorReservedConcurrency", 0, lambda sections: sections.orchestrator.reserved_concurrency),
    ("lakeVersioning", False, lambda sections: sections.data_lake.versioning),
    ("orchestrator", False, lambda sections: sections.orchestrator.enabled),
    ("lakeLifecycleRules", [], lambda sections: list(sections.data_lake.lifecycle_rules)),
    ("ragFargateSpotPercent", 0, lambda sections: sections.rag_service.fargate_spot_percent),
    ("nameSuffix", "", lambda sections: sections.general.name_suffix),
]


@pytest.mark.parametrize(("key", "value", "read_back"), KEPT, ids=[row[0] for row in KEPT])
def test_a_deliberate_zero_false_or_empty_is_kept(
    key: str, value: Any, read_back: Callable[[Sections], Any]
) -> None:
    sections, faults = read({key: value})
    assert faults == []
    assert read_back(sections) == value, "the default took the place of what was typed"


def test_text_from_the_command_line_is_typed() -> None:
    sections, _ = read(
        {"ragCpuUnits": "1024", "ragMemoryMib": "2048", "flowLogs": "true", "tags": '{"b": "1", "a": "2"}'}
    )
    assert (sections.rag_service.cpu_units, sections.network.flow_logs) == (1024, True)
    assert list(sections.general.tags) == ["a", "b"], "the order of typing would change the plan"


# What is left out


def everything(changes: Mapping[str, Any]) -> PlatformConfig:
    sections, faults = read({**EVERY_WORKLOAD, **changes})
    assert faults == []
    return build(sections, "ai-platform", "test")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"training": False}, "training"), ({"ragService": False}, "rag_service"), ({"orchestrator": False}, "orchestrator"),
        ({"ingestion": False}, "ingestion"), ({"budgetEmail": ""}, "budget"),
    ],
)  # fmt: skip
def test_a_workload_that_is_switched_off_is_none(changes: dict[str, Any], field: str) -> None:
    assert getattr(everything({}), field) is not None
    assert getattr(everything(changes), field) is None, "it would be deployed and billed"


def test_a_stack_without_vector_store_has_none() -> None:
    left_out = {"vectorStore": False, "ragService": False, "orchestrator": False, "ingestion": False}
    assert everything({}).vector_store is not None
    assert everything(left_out).vector_store is None


def test_a_sleeping_stack_drops_what_bills_by_the_hour_and_keeps_the_rest() -> None:
    awake, asleep = everything({}), everything({"asleep": True})
    assert (asleep.gpu_fleets, asleep.rag_service) == ((), None), "they bill by the hour"
    for field in (
        "data_lake",
        "shared_files",
        "vector_store",
        "training",
        "orchestrator",
        "ingestion",
        "budget",
    ):
        assert getattr(asleep, field) == getattr(awake, field), f"{field} would go, or change, with its data"
    assert asleep.network == awake.network, "the network's shape must not change while a stack sleeps"


def test_the_loaded_configuration_cannot_be_changed() -> None:
    config = load(REQUIRED)
    with pytest.raises(AttributeError):
        config.general.__setattr__("asleep", True)
