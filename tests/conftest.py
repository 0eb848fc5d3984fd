"""Fixtures that many tests share: the recording of each stack, and a way to record a part of the program."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from ops.capture.computed import Computed
from ops.capture.program import PROJECT_ROOT, record_program
from ops.capture.recording import Recording
from ops.capture.stack_files import load_stack_config
from recordings import STACKS, recorded
from tests.standins.loopback import leave_proxies


@pytest.fixture(autouse=True, scope="session")
def _no_proxies() -> None:
    """What the tests serve is on this machine, whatever proxy its network has."""
    leave_proxies(os.environ)


@pytest.fixture(autouse=True, scope="session")
def _interruptible() -> None:
    """A shell that starts the tests in the background has them ignore Ctrl-C, and so would all that they start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _own_event_loop() -> Iterator[None]:
    """Gives each test an event loop and closes what is left of it.

    The SDK makes a loop wherever it finds none and never closes it; the garbage collector would complain about that
    in whichever test happens to run later.
    """
    own = asyncio.new_event_loop()
    asyncio.set_event_loop(own)
    yield
    with contextlib.suppress(RuntimeError):  # none is left
        asyncio.get_event_loop().close()
    own.close()
    asyncio.set_event_loop(None)


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
