"""How the server stops: no new questions from the signal on, last words for those that outlive the grace.

uvicorn closes its listening socket on SIGTERM, waits for the requests that run, cancels what is left after its
grace, and ends by the same signal: exit code 143, or 0 as the first process of a container, where the kernel
ignores a signal that nobody handles.
"""

import asyncio
import signal
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType
from typing import Any

# Time for the last words of requests that were cancelled. Together with uvicorn's grace it stays below the stop
# time-out of ECS (components/rag_task.py).
LAST_WORDS_SECONDS = 2.0


class Lifecycle:
    """Knows the requests that run, and whether the server was told to stop."""

    def __init__(self) -> None:
        self.is_stopping = False
        self._requests: set[asyncio.Task[Any]] = set()

    def enter(self) -> None:
        """Count the current task among the requests that run, until it ends."""
        task = asyncio.current_task()
        if task is not None and task not in self._requests:
            self._requests.add(task)
            task.add_done_callback(self._requests.discard)

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[None]:
        """The life of the server: from its start to its end."""
        with self._told_by_signal():
            yield
            self.is_stopping = True
            if self._requests:
                await asyncio.wait(set(self._requests), timeout=LAST_WORDS_SECONDS)

    @contextmanager
    def _told_by_signal(self) -> Generator[None]:
        """Notes SIGTERM and hands it on to the handler that was there, uvicorn's."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.getsignal(signal.SIGTERM)

        def note(number: int, frame: FrameType | None) -> None:
            self.is_stopping = True
            if callable(before):
                before(number, frame)

        signal.signal(signal.SIGTERM, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)
