"""The table of Fargate sizes is the one that cfn-lint, AWS's own linter, has from AWS's documentation."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from components.config_values import FARGATE_CPU_UNITS
from components.fargate import described_sizes, memory_sizes_mib


def documented_sizes() -> dict[int, dict[str, Any]]:
    """The condition on memory, in MiB, by CPU units."""
    package = find_spec("cfnlint")
    assert package and package.origin, "cfn-lint is not installed"
    file = (
        Path(package.origin).parent / "data/schemas/extensions/aws_ecs_taskdefinition/fargate_cpu_memory.json"
    )
    schema = json.loads(file.read_text(encoding="utf-8"))
    pairs = [choice["properties"] for choice in schema["then"]["anyOf"]]
    return {int(pair["Cpu"]["then"]["enum"][0]): pair["Memory"]["then"] for pair in pairs}


def is_documented(memory_mib: int, condition: dict[str, Any]) -> bool:
    if "enum" in condition:
        return memory_mib in condition["enum"]
    in_range = condition["minimum"] <= memory_mib <= condition["maximum"]
    return in_range and memory_mib % condition["multipleOf"] == 0


def test_every_documented_pair_is_accepted_and_no_other() -> None:
    documented = documented_sizes()
    assert set(documented) == set(FARGATE_CPU_UNITS), "a size of Fargate cannot be configured"
    for cpu_units, condition in documented.items():
        expected = tuple(size for size in range(256, 262_145, 256) if is_documented(size, condition))
        assert memory_sizes_mib(cpu_units) == expected, f"a task of {cpu_units} units would be refused by ECS"


@pytest.mark.parametrize("cpu_units", [0, 128, 300, 65_536, -256])
def test_a_cpu_size_that_fargate_does_not_have_goes_with_no_memory(cpu_units: int) -> None:
    assert memory_sizes_mib(cpu_units) == ()


def test_memory_sizes_ascend() -> None:
    for cpu_units in FARGATE_CPU_UNITS:
        sizes = memory_sizes_mib(cpu_units)
        assert list(sizes) == sorted(set(sizes)), "a fault would offer the wrong smallest or largest size"


def test_sizes_are_listed_where_they_are_few_and_told_by_their_steps_where_they_are_many() -> None:
    assert described_sizes(256) == "512, 1024, 2048 MiB"
    assert described_sizes(4096) == "8192 to 30720 MiB in steps of 1024"
