"""Whether what lies behind the service replies, asked rarely and never twice at a time."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

CACHE_SECONDS = 10.0
# A collection that scaled to zero takes longer: the first reply says so, a later one that it is there.
PATIENCE_SECONDS = 5.0


@dataclass(frozen=True)
class Check:
    """What the last check found, and when, on the clock of `Readiness`."""

    is_ready: bool
    checked: float


class Readiness:
    """`check` is a blocking call that raises when the dependency does not reply."""

    def __init__(
        self,
        check: Callable[[], object],
        cache_seconds: float = CACHE_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._check = check
        self._cache_seconds = cache_seconds
        self._patience_seconds = patience_seconds
        self._clock = clock
        self._last: Check | None = None
        self._running: asyncio.Future[Check] | None = None

    async def is_ready(self) -> bool:
        """What the check says, at most `cache_seconds` old; False when it takes longer than the patience.

        However many ask, one check runs at a time: one that hangs takes one thread and no more.
        """
        if self._last and self._clock() - self._last.checked < self._cache_seconds:
            return self._last.is_ready
        if self._running is None:
            self._running = asyncio.get_running_loop().create_future()
            args = (asyncio.get_running_loop(), self._running)
            threading.Thread(target=self._run, args=args, name="readiness", daemon=True).start()
        done, _ = await asyncio.wait((self._running,), timeout=self._patience_seconds)
        return bool(done) and self._last is not None and self._last.is_ready

    def _run(self, loop: asyncio.AbstractEventLoop, running: "asyncio.Future[Check]") -> None:
        is_ready = True
        try:
            self._check()
        except Exception:  # any failure means the same here; the questions' own log lines name theirs
            is_ready = False
        with suppress(RuntimeError):  # the loop is closed: the process ends
            loop.call_soon_threadsafe(self._finish, running, Check(is_ready, self._clock()))

    def _finish(self, running: "asyncio.Future[Check]", check: Check) -> None:
        self._last, self._running = check, None
        if not running.done():
            running.set_result(check)
