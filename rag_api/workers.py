"""Threads for the blocking pipeline: one per question, a fixed number of questions at once, no waiting line."""

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from rag_api.errors import BusyError

Value = TypeVar("Value")
Job = tuple[Callable[[], Any], "asyncio.Future[Any]", asyncio.AbstractEventLoop]


class Workers:
    """At most `maximum` jobs, each in a thread of its own from the moment it is started.

    The threads are daemons: a call that hangs in one of them cannot keep a stopped process alive.
    """

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._taken = 0
        self._threads = 0
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()

    @property
    def taken(self) -> int:
        """How many places are taken."""
        return self._taken

    def require_place(self) -> None:
        """Raise `BusyError` when every place is taken."""
        if self._taken >= self._maximum:
            raise BusyError(f"All {self._maximum} places are taken.")

    @contextmanager
    def place(self) -> Generator["Place"]:
        """A place for one job, or `BusyError`. It is free again when the block is left and the job has ended."""
        self.require_place()
        self._taken += 1
        place = Place(self)
        try:
            yield place
        finally:
            if place.job is None or place.job.done():
                self._leave()
            else:
                place.job.add_done_callback(lambda _: self._leave())

    def close(self) -> None:
        """Let every thread end after its job."""
        for _ in range(self._threads):
            self._jobs.put(None)
        self._threads = 0

    def run(self, call: Callable[[], Value]) -> "asyncio.Future[Value]":
        """Start `call` in a thread; the caller holds a place."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Value] = loop.create_future()
        if self._threads < self._taken:
            self._threads += 1
            threading.Thread(target=_work, args=(self._jobs,), name="rag-worker", daemon=True).start()
        self._jobs.put((call, future, loop))
        return future

    def _leave(self) -> None:
        self._taken -= 1


class Place:
    """The right to run one job."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self.job: asyncio.Future[Any] | None = None

    def run(self, call: Callable[[], Value]) -> "asyncio.Future[Value]":
        """Start `call` in a thread. Cancelling the future does not end the thread."""
        self.job = self._workers.run(call)
        self.job.add_done_callback(_note_failure)
        return self.job


def _work(jobs: SimpleQueue[Job | None]) -> None:
    while job := jobs.get():
        call, future, loop = job
        value, failure = None, None
        try:
            value = call()
        except BaseException as error:  # whatever it is belongs to whoever waits for the job
            failure = error
        # A loop that was closed meanwhile has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, future, value, failure)
        # An idle thread must not keep the last answer alive.
        del job, call, future, loop, value, failure


def _note_failure(job: "asyncio.Future[Any]") -> None:
    """asyncio complains about a failure that nobody looks at, as after a client has gone."""
    if not job.cancelled():
        job.exception()


def _settle(future: "asyncio.Future[Any]", value: Any, failure: BaseException | None) -> None:
    if future.cancelled():
        return
    if failure is None:
        future.set_result(value)
    else:
        future.set_exception(failure)
