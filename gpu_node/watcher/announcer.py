"""Tells the work on a node of what is to come: each signal once to each target that handles it."""

from __future__ import annotations

import logging
import subprocess
import threading
from collections.abc import Sequence
from signal import Signals
from typing import Any, Protocol

from .handling import handles

log = logging.getLogger("watcher")

# The stated policy. Early, while nothing is lost yet: save, and go on. Late: save, and leave.
EARLY = Signals.SIGUSR1
LATE = Signals.SIGTERM


class Work(Protocol):
    """Containers or processes, each with a `pid`; errors are an OSError, a ValueError or a SubprocessError."""

    def running(self) -> Sequence[Any]: ...

    def send(self, target: Any, signal: Signals, /) -> None: ...


class Announcer:
    """Whom a signal concerns is settled when it is first announced.

    A job that starts later has nothing to save: told to leave, it would only use up an attempt. A target without a
    handler is left alone for the same reason, and told as soon as it has one. Nothing early follows what is late.
    A second reason for a signal that stands tells nobody again, unless the first was forgotten.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._untold: dict[Signals, set[Any]] = {}
        self._reasons: dict[Signals, str] = {}
        # An interruption and the end of an idle node are announced by two threads.
        self._lock = threading.Lock()

    def announce(self, signal: Signals, reason: str) -> None:
        """Signals those who have not had this signal yet; to be called at every poll while the reason stands."""
        with self._lock:
            overtaken = signal == EARLY and LATE in self._untold
            everybody_told = self._untold.get(signal) == set()
            if not overtaken and not everybody_told:
                self._announce(signal, reason)

    def forget(self, signal: Signals, reason: str) -> None:
        """What was announced for this reason does not come: the next reason tells everybody, as if it were the first."""
        with self._lock:
            if self._reasons.get(signal) == reason:
                del self._reasons[signal], self._untold[signal]

    def _announce(self, signal: Signals, reason: str) -> None:
        try:
            running = set(self._work.running())
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            log.error("%s, and the work on this node cannot be listed: %s", reason, one_line(error))
            return
        if signal not in self._untold:
            self._untold[signal], self._reasons[signal] = running, reason
            log.warning("%s: %s to %d running here", reason, signal.name, len(running))
        self._untold[signal] &= running
        for target in sorted(self._untold[signal], key=str):
            self._tell(target, signal)

    def _tell(self, target: Any, signal: Signals) -> None:
        if not handles(target.pid, signal):
            log.debug("%s does not handle %s, and is left alone", target, signal.name)
            return
        try:
            self._work.send(target, signal)
        except (OSError, subprocess.SubprocessError) as error:
            log.error("%s could not be told with %s: %s", target, signal.name, one_line(error))
            return
        self._untold[signal].discard(target)
        log.warning("%s was told with %s", target, signal.name)


def one_line(error: BaseException) -> str:
    """An error as one line of a log."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
