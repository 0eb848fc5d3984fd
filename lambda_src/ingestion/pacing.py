"""Keeps to so many tokens a minute."""

import time
from collections.abc import Callable
from threading import Lock

from rag.deadline import Deadline
from rag.errors import PipelineError

# What may be used at once after a pause. A long one would be a surge, since every run could begin with it.
BURST_SECONDS = 2


class OutOfTimeError(PipelineError):
    """The pace leaves no time to finish in this run: the message must come back."""

    status_code = 503
    code = "out_of_time"


class Pacer:
    """A bucket of tokens that fills at a steady rate; to be kept from run to run. Safe to use from several threads.

    Turns are given in the order in which they were asked for: who takes more than there is leaves a debt, and
    whoever comes next waits until it is paid.
    """

    def __init__(
        self,
        tokens_per_minute: int,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._per_second = tokens_per_minute / 60
        self._clock = clock
        self._sleep = sleep
        self._lock = Lock()
        self._full = self._per_second * BURST_SECONDS
        self._level = self._full
        self._filled_at = clock()

    def wait(self, tokens: int, deadline: Deadline) -> None:
        """Return when `tokens` may be used; raise `OutOfTimeError` at once when that is after the deadline."""
        with self._lock:
            self._fill()
            pause = max(0.0, -self._level / self._per_second)
            if pause >= deadline.remaining_seconds():
                raise OutOfTimeError(
                    "The time of this run does not last for the embeddings at the configured pace."
                )
            self._level -= tokens
        if pause:
            self._sleep(pause)

    def correct(self, tokens: int) -> None:
        """Take more (or, if negative, give back) after the model said how many tokens a text really had."""
        with self._lock:
            self._level -= tokens

    def _fill(self) -> None:
        now = self._clock()
        self._level = min(self._full, self._level + (now - self._filled_at) * self._per_second)
        self._filled_at = now
