"""The check of what lies behind the service: rarely, once at a time, within a bounded time."""

import asyncio
import threading
from collections.abc import Callable

from rag.errors import UnavailableError
from rag_api.readiness import Readiness


class Dependency:
    """Counts its calls; fails, or waits for a gate, as the test wishes."""

    def __init__(self) -> None:
        self.calls = 0
        self.failure: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self) -> None:
        self.calls += 1
        assert self.gate.wait(20)
        if self.failure:
            raise self.failure


def test_one_check_serves_everybody_for_ten_seconds() -> None:
    dependency, now = Dependency(), [100.0]

    async def scenario() -> None:
        readiness = Readiness(dependency, clock=lambda: now[0])
        assert await readiness.is_ready()
        dependency.failure = UnavailableError("away")
        now[0] = 109.9
        assert await readiness.is_ready()
        assert dependency.calls == 1, "a script that polls would keep a sleeping collection awake"
        now[0] = 110.1
        assert not await readiness.is_ready()
        dependency.failure = None
        assert not await readiness.is_ready(), "a failure is remembered as long"
        now[0] = 120.2
        assert await readiness.is_ready()

    asyncio.run(scenario())


def test_whoever_asks_during_a_check_waits_for_the_same_one() -> None:
    dependency = Dependency()
    dependency.gate.clear()

    async def scenario() -> None:
        readiness = Readiness(dependency)
        asking = [asyncio.ensure_future(readiness.is_ready()) for _ in range(10)]
        await _until(lambda: dependency.calls > 0)
        dependency.gate.set()
        assert await asyncio.gather(*asking) == [True] * 10
        assert dependency.calls == 1

    asyncio.run(scenario())


def test_a_check_that_hangs_holds_up_nobody_and_is_not_repeated() -> None:
    dependency = Dependency()
    dependency.gate.clear()

    async def scenario() -> None:
        readiness = Readiness(dependency, patience_seconds=0.01)
        assert not await readiness.is_ready()
        assert not await readiness.is_ready()
        assert dependency.calls == 1, "each request would take a thread for ever"
        dependency.gate.set()
        while not await readiness.is_ready():
            pass
        assert dependency.calls == 1, "the late reply counts"

    asyncio.run(scenario())


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0)
