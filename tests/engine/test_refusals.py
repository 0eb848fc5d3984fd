"""What is wrong in a stack file is refused with the key's name, before anything is made."""

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.engine.engine import Engine
from tests.engine.events import Result

# One `up` meets them all: an unknown key, a value out of range, a key that no fleet has, and two faults across keys.
FAULTS = {
    "natGateway": "single",
    "logRetentionDays": 8,
    "gpuFleets": [{"name": "a", "purpose": "inference", "instanceTypes": ["g5.xlarge"], "nodeImages": "ecs-gpu"}],
    "ragMemoryMib": 3000,
    "exposure": "public",
}  # fmt: skip


@pytest.fixture(scope="module")
def dev(pulumi: Path) -> Generator[Engine]:
    """The dev stack, in which nothing is ever made."""
    with Engine(pulumi, "dev") as engine:
        yield engine


@pytest.fixture(scope="module")
def faulty(dev: Engine) -> Result:
    """`up` with every fault that only the program can see."""
    return _up_with(dev, FAULTS)


def _up_with(engine: Engine, changes: Mapping[str, Any]) -> Result:
    """`up` with a changed stack file, which is afterwards as it was."""
    stack_file = engine.project / f"Pulumi.{engine.stack}.yaml"
    before = stack_file.read_bytes()
    engine.configure(changes)
    try:
        return engine.up()
    finally:
        stack_file.write_bytes(before)


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("ragMaximumTasks", "two", "integer"),
        ("flowLogs", "sometimes", "boolean"),
        ("availabilityZones", "eu-central-1a", "array<string>"),
        ("tags", "platform-team", "object"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_by_the_command_line(
    dev: Engine, key: str, value: str, kind: str
) -> None:
    result = _up_with(dev, {key: value})
    assert not result.ok, f"{key} = {value} was let through"
    assert f"'{key}' must be of type '{kind}'" in result.output
    assert not result.steps, "the program ran with a value that it cannot use"


def test_a_missing_region_is_refused_by_the_command_line(dev: Engine) -> None:
    result = _up_with(dev, {"region": None})
    assert not result.ok
    assert "missing configuration value 'region'" in result.output
    assert not result.steps, "the platform would be built wherever the person's own settings point"


@pytest.mark.parametrize(
    "key", ["natGateway", "logRetentionDays", "gpuFleets[0].nodeImages", "ragMemoryMib", "certificateArn"]
)
def test_what_the_command_line_lets_through_is_refused_by_the_program(faulty: Result, key: str) -> None:
    assert not faulty.ok
    assert f"  - ai-platform:{key} " in faulty.output, f"nobody is told what is wrong with {key}"


def test_the_program_refuses_before_anything_is_made(faulty: Result, dev: Engine) -> None:
    assert not faulty.changes, "a refusal that comes half-way leaves a half-built platform"
    assert not list(dev.account)


def test_the_program_refuses_without_a_traceback(faulty: Result) -> None:
    assert "Traceback" not in faulty.output, (
        "the person who typed the value reads our source instead of the fix"
    )
