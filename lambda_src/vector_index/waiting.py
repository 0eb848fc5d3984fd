"""Repeats what a new or sleeping collection refuses for a while, for a bounded time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rag.deadline import CONNECT_RESERVE_SECONDS, RESERVE_SECONDS, Deadline
from rag.errors import (
    PipelineError,
    SearchError,
    ThrottledError,
    UnavailableError,
    UnreachableError,
    UpstreamTimeoutError,
)
from rag.search import SEARCH_READ_TIMEOUT_SECONDS

PAUSE_SECONDS = 5
MAX_WAIT_SECONDS = 800

Value = TypeVar("Value")


class VectorIndexError(PipelineError):
    """The index or its alias could not be brought about; the sentence is for the person who deploys."""

    code = "vector_index"


@dataclass(kw_only=True)
class Patience:
    """How long one invocation waits, and what it waited for so far."""

    wait_seconds: int
    deadline: Deadline
    sleep: Callable[[float], None]
    clock: Callable[[], float]
    waited_for: list[str] = field(default_factory=list)
    waited_seconds: float = 0

    def until_done(self, attempt: Callable[[], Value]) -> Value:
        """What `attempt` returns, once it does. It must be safe to repeat from any point where it can fail.

        Raises `VectorIndexError`: at once for what waiting cannot mend, else when the time is over, which is early
        enough for one more attempt to end before the function does.
        """
        started = self.clock()
        while True:
            try:
                return attempt()
            except VectorIndexError:
                raise
            except PipelineError as error:
                self.waited_seconds = self.clock() - started
                reason = _worth_waiting_for(error)
                if reason is None or not self._has_time():
                    raise self._gave_up(error, reason) from error
            if reason not in self.waited_for:
                self.waited_for.append(reason)
            self.sleep(PAUSE_SECONDS)
            self.waited_seconds = self.clock() - started

    def report(self) -> dict[str, Any]:
        """How long it waited, in whole seconds, and for what."""
        return {"waited_seconds": round(self.waited_seconds), "waited_for": self.waited_for}

    def _has_time(self) -> bool:
        next_attempt = PAUSE_SECONDS + CONNECT_RESERVE_SECONDS + SEARCH_READ_TIMEOUT_SECONDS + RESERVE_SECONDS
        is_within = self.waited_seconds + PAUSE_SECONDS <= self.wait_seconds
        return is_within and self.deadline.remaining_seconds() > next_attempt

    def _gave_up(self, error: PipelineError, reason: str | None) -> VectorIndexError:
        if reason is None:
            return VectorIndexError(str(error))
        return VectorIndexError(
            f"Waited {self.waited_seconds:.0f} of {self.wait_seconds} seconds for {reason}; "
            f"the last reply was: {error} "
            "Check that the data access policy names this function's role and that the network policy lets it in, "
            "then try again: what is done already stays done."
        )


def _worth_waiting_for(error: PipelineError) -> str | None:
    if isinstance(error, SearchError):
        if error.http_status in (401, 403):
            return "the data access policy to take effect"
        # A second creation meets an index that is there but not visible yet; a second move an alias that moved.
        is_new = error.http_status == 404 or error.error_type == "resource_already_exists_exception"
        return "the collection to know its new index" if is_new else None
    if isinstance(error, ThrottledError | UnavailableError | UnreachableError | UpstreamTimeoutError):
        return "the collection to reply"
    return None
