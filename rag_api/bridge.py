"""Hands what a blocking generator yields in a thread to the event loop, a bounded number of items ahead."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from typing import Generic, TypeVar

from rag_api.workers import Place

# A client that reads slowly holds up the model after this many items: memory stays bounded.
ITEMS_AHEAD = 16

Item = TypeVar("Item")


class ThreadedStream(Generic[Item]):
    """The items of `make(closed)`, produced in the thread of `place`.

    `make` gets a function that tells whether nobody wants more; the generator is closed in its own thread then.
    """

    def __init__(self, make: Callable[[Callable[[], bool]], Generator[Item]], place: Place) -> None:
        self._make = make
        self._loop = asyncio.get_running_loop()
        self._room = threading.Semaphore(ITEMS_AHEAD)
        self._closed = False
        self._items: deque[Item] = deque()
        self._ready = asyncio.Event()
        self._failure: BaseException | None = None
        self._is_over = False
        self._job = place.run(self._produce)
        self._job.add_done_callback(self._ended)

    async def take(self) -> list[Item]:
        """All items that wait, at least one; an empty list at the end. Raises what the generator raised."""
        await self._ready.wait()
        items = list(self._items)
        self._items.clear()
        if not items and self._failure:
            raise self._failure
        if not self._is_over:
            self._ready.clear()
        self._room.release(len(items) or 1)
        return items

    def interrupt(self, failure: BaseException) -> None:
        """Let whoever takes get `failure` at once, in place of what is still to come."""
        self.close()
        self._items.clear()
        self._failure, self._is_over = failure, True
        self._ready.set()

    def close(self) -> None:
        """Let the generator end at its next item, or at once where it waits for room."""
        self._closed = True
        self._room.release()

    def _produce(self) -> None:
        with closing(self._make(lambda: self._closed)) as items:
            for item in items:
                self._room.acquire()
                if self._closed:
                    return
                with suppress(RuntimeError):  # the loop is closed: the process ends
                    self._loop.call_soon_threadsafe(self._received, item)

    def _received(self, item: Item) -> None:
        if not self._is_over:
            self._items.append(item)
            self._ready.set()

    def _ended(self, job: "asyncio.Future[None]") -> None:
        if not self._is_over:
            self._failure, self._is_over = job.exception(), True
        self._ready.set()
