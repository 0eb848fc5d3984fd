"""What can happen to a run of the function."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from rag.errors import UnavailableError
from tests.lambda_src.ingestion_fakes import Message


class Crash(BaseException):
    """The run ends here and nothing of it is executed any more, as when Lambda's time is over."""


@dataclass
class Fault:
    """The `at`-th outside call of a run goes wrong: before it has an effect, or after that.

    Ahead of the call number `pause_at` the run stands still while `meanwhile` happens.
    """

    at: int = 0
    is_after: bool = True
    is_crash: bool = True
    pause_at: int = 0
    meanwhile: Callable[[], object] = lambda: None
    calls: int = 0

    def step(self, name: str) -> Callable[[], None]:
        self.calls += 1
        if self.calls == self.pause_at:
            self.meanwhile()
        if self.calls != self.at:
            return lambda: None
        error = Crash() if self.is_crash else UnavailableError(f"lost at call {self.at}: {name}")
        if self.is_after:
            return lambda: _raise(error)
        raise error


def _raise(error: BaseException) -> None:
    raise error


@dataclass
class Run:
    """One run of the function, in a thread of its own that goes on only when it is told to, a call at a time."""

    message: Message
    fault: Fault
    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    paused: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    is_alone: bool = False
    is_over: bool = False
    is_done: bool = False
    error: BaseException | None = None
