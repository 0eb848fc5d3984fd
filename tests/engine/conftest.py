"""Fixtures of the engine tier, and the one line that tells when it did not run."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from recordings import STACKS
from tests.engine.command_line import MISSING, find_pulumi
from tests.engine.engine import Engine
from tests.engine.life import Life, live_all


@pytest.fixture(scope="session")
def pulumi() -> Path:
    """The command line. Without one the tests are skipped, and in CI they fail."""
    found = find_pulumi()
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    return found


@pytest.fixture
def engine(pulumi: Path) -> Callable[..., Engine]:
    """Opens an engine on a stack: `with engine("dev", {"natGateways": "single"}) as dev: ...`."""

    def open_engine(stack: str, changes: Mapping[str, Any] | None = None) -> Engine:
        return Engine(pulumi, stack, changes)

    return open_engine


@pytest.fixture(scope="session")
def lives(pulumi: Path) -> dict[str, Life]:
    """Each stack from its first preview to its end, run once for all tests."""
    return live_all(pulumi, STACKS)


@pytest.fixture(params=STACKS)
def life(request: pytest.FixtureRequest, lives: dict[str, Life]) -> Life:
    """The life of each stack in turn."""
    return lives[request.param]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if find_pulumi() is None:
        terminalreporter.write_line(f"tests on the engine: {MISSING}")
