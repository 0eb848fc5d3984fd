"""The processes on an interactive node that asked to be told, and the people at its terminals.

A process asks with a file below /run/interruption/pids that holds its pid and its start time (proc(5), stat, field
22); `interruption-run COMMAND...` writes one.
"""

from __future__ import annotations

import contextlib
import glob
import os
import signal as signals
from signal import Signals
from typing import NamedTuple

from .handling import PROC, start_ticks

LONGEST_FILE_BYTES = 64


class Process(NamedTuple):
    """One process for ever: the kernel gives a pid to others later, but never with the same start."""

    pid: int
    start_ticks: int

    def __str__(self) -> str:
        return f"process {self.pid}"


class Processes:
    """What is registered in a folder in which everybody may write, as in /tmp."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def open_folder(self) -> None:
        """Makes the folder."""
        os.makedirs(self._folder, exist_ok=True)
        os.chmod(self._folder, 0o1777)

    def running(self) -> list[Process]:
        """The registered processes that still run."""
        paths = sorted(glob.glob(os.path.join(self._folder, "*")))
        return [process for process in map(_registered, paths) if process]

    def send(self, process: Process, signal: Signals) -> None:
        """Signals this process, and no other that has taken its pid; raises OSError when it has ended."""
        handle = os.pidfd_open(process.pid)
        try:
            # Whoever has the pid now is the one that the handle holds.
            if start_ticks(process.pid) != process.start_ticks:
                raise ProcessLookupError(f"{process} has ended")
            signals.pidfd_send_signal(handle, signal)
        finally:
            os.close(handle)


def _registered(path: str) -> Process | None:
    """The process that a file names, if it still runs and the file's owner may signal it."""
    try:
        # A link could name any file, and opening a pipe would wait for ever.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            pid, ticks = map(int, os.read(handle, LONGEST_FILE_BYTES).split())
            owner = os.fstat(handle).st_uid
        finally:
            os.close(handle)
        allowed = pid > 1 and owner in (0, os.stat(f"{PROC}/{pid}").st_uid)
        return Process(pid, ticks) if allowed and start_ticks(pid) == ticks else None
    except (OSError, ValueError):
        return None


class Terminals:
    """The terminals on a node. Session Manager enters nobody into the list that wall reads: hence the devices."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def tell(self, text: str) -> None:
        """Writes a line on every terminal."""
        for path in self._paths():
            with contextlib.suppress(OSError):
                handle = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
                with open(handle, "wb", buffering=0) as terminal:
                    terminal.write(f"\r\n*** {text} ***\r\n".encode())

    def last_input(self) -> float:
        """When somebody last typed, as a Unix time, 0 without terminals: the kernel keeps it as the access time."""
        times = [0.0]
        for path in self._paths():
            with contextlib.suppress(OSError):
                times.append(os.stat(path).st_atime)
        return max(times)

    def _paths(self) -> list[str]:
        return glob.glob(os.path.join(self._folder, "[0-9]*"))
