"""How long a request may still take, and attempts that never outlive it."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, Self, TypeVar

from rag.errors import DeadlineError, PipelineError

# Long enough for a first packet that is lost: Linux sends it again after a second.
CONNECT_TIMEOUT_SECONDS = 2
# urllib3 waits that long for each address of a host, one after the other. An interface endpoint has one per zone.
CONNECT_ADDRESSES = 3
CONNECT_RESERVE_SECONDS = CONNECT_ADDRESSES * CONNECT_TIMEOUT_SECONDS
# Kept back to build the reply, so that the caller gets a sentence instead of a function that was cut off.
RESERVE_SECONDS = 2
LONGEST_BACK_OFF_SECONDS = 8
# A client of botocore has one read time-out for life and takes a tenth of a second to make: near a deadline a few
# of them must do for every length of time that is left.
TIMEOUT_STEPS_SECONDS = (1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 90, 135, 200, 300, 450, 675)

Value = TypeVar("Value")


@dataclass(frozen=True)
class Deadline:
    """`remaining_seconds` says how much of the request's time is left at the moment of the call."""

    remaining_seconds: Callable[[], float]

    @classmethod
    def of_lambda(cls, context: Any) -> Self:
        """The time that Lambda still gives; without a context there is no limit."""
        remaining_millis = getattr(context, "get_remaining_time_in_millis", None)
        return cls((lambda: remaining_millis() / 1000) if remaining_millis else (lambda: inf))

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> Self:
        """A deadline `seconds` from now."""
        end = clock() + seconds
        return cls(lambda: end - clock())

    def read_timeout_seconds(self, wanted: int, pause: float = 0) -> int:
        """`wanted`, or the step below the time left for one read that starts after `pause`; 0 when none fits."""
        left = self.remaining_seconds() - pause - CONNECT_RESERVE_SECONDS - RESERVE_SECONDS
        return stepped_timeout(wanted, left)

    def check(self) -> None:
        """Raise `DeadlineError` when nothing is left but the time to build the reply."""
        if self.remaining_seconds() < RESERVE_SECONDS:
            raise DeadlineError("The time of the request ran out.")


def stepped_timeout(wanted_seconds: int, left_seconds: float) -> int:
    """`wanted_seconds` when that much is left, else the longest of few fixed steps that is; 0 when none is."""
    if wanted_seconds <= left_seconds:
        return wanted_seconds
    return max((step for step in TIMEOUT_STEPS_SECONDS if step <= left_seconds), default=0)


def back_off_seconds(retry: int) -> int:
    """The longest pause before a retry, counted from 0: 1 s, doubled each time, never above 8 s."""
    return min(2**retry, LONGEST_BACK_OFF_SECONDS)


@dataclass(frozen=True, kw_only=True)
class Attempts:
    """How often a call is tried, how long an attempt may read, and which failures are worth another one."""

    maximum: int
    read_timeout_seconds: int
    retry_on: tuple[type[PipelineError], ...]

    def run(self, call: Callable[[int], Value], deadline: Deadline, sleep: Callable[[float], None]) -> Value:
        """`call(read_timeout_seconds)` until it succeeds, raises what is not worth a retry, or time is short.

        Near the deadline an attempt gets a shorter read time-out; when none fits, the last failure is raised,
        or `DeadlineError` when there was no attempt. At least one second of the deadline is always left when `call`
        keeps to the read time-out and to the connect time-out for each of at most `CONNECT_ADDRESSES` addresses.
        """
        failure: PipelineError = DeadlineError("Too little time was left for the first attempt.")
        for retry in range(self.maximum):
            timeout = deadline.read_timeout_seconds(self.read_timeout_seconds)
            if timeout < 1:
                break
            try:
                return call(timeout)
            except self.retry_on as error:
                failure = error
            # Half of the pause is random, so that many callers do not come back in the same moment.
            pause = back_off_seconds(retry) * random.uniform(0.5, 1)
            if (
                retry + 1 == self.maximum
                or deadline.read_timeout_seconds(self.read_timeout_seconds, pause) < 1
            ):
                break
            sleep(pause)
        raise failure
