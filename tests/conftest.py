"""Fixtures that many tests share: the recording of each stack, and a way to record a part of the program."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ops.capture.computed import Computed
from ops.capture.program import PROJECT_ROOT, record_program
from ops.capture.recording import Recording
from ops.capture.stack_files import load_stack_config
from recordings import STACKS, recorded


@pytest.fixture(params=STACKS)
def platform(request: pytest.FixtureRequest) -> Recording:
    """The recording of each stack in turn."""
    return recorded(request.param)


@pytest.fixture
def dev() -> Recording:
    return recorded("dev")


@pytest.fixture
def prod() -> Recording:
    return recorded("prod")


@pytest.fixture
def register() -> Callable[..., Recording]:
    """Records what a callable registers, with the dev stack's configuration and `changes` to it."""

    def run(
        build: Callable[[], Any], changes: Mapping[str, Any] | None = None, computed: Computed | None = None
    ) -> Recording:
        return record_program(
            build, load_stack_config(PROJECT_ROOT, "dev", changes), "dev", computed=computed
        )

    return run
