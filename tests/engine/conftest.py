"""Fixtures of the engine tier, and the lines that tell what did not run."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from recordings import STACKS
from tests.engine.command_line import MISSING, find_pulumi
from tests.engine.engine import Engine
from tests.engine.life import Life, live_once


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
def lives(pulumi: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Life]:
    """Each stack from its first preview to its end, run once for all tests in all of their processes."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # each process has a folder of its own in there
    return live_once(pulumi, STACKS, folder / "lives.pickle")


@pytest.fixture(params=STACKS)
def life(request: pytest.FixtureRequest, lives: dict[str, Life]) -> Life:
    """The life of each stack in turn."""
    return lives[request.param]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if find_pulumi() is None:
        terminalreporter.write_line(f"tests on the engine: {MISSING}")
    skipped = [item for item in terminalreporter.stats.get("skipped", ()) if "engine/" in item.nodeid]
    for reason in sorted({item.longrepr[2] for item in skipped if MISSING not in item.longrepr[2]}):
        terminalreporter.write_line(f"tests on the engine: {reason}")
