"""Starts a program that starts the training: `python -m checkpoint.launch torchrun --nproc_per_node=4 train.py`.

torchrun, and accelerate with it, makes 1 of every exit code of its processes, hands SIGUSR1 on to none of them, and
gives them 30 seconds when it is sent SIGTERM or one of them ends. So the signals pass it by: they go to each process
that is in the block of a Checkpointer. Where such a one has left to be resumed, the exit code is 75.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from .checkpointer import EXIT_INTERRUPTED
from .launched import AGREED, FOLDER_VARIABLE, HEARS, LEFT
from .report import say

SIGNALS = (signal.SIGUSR1, signal.SIGTERM)
LOOK_SECONDS = 0.2
EXIT_USAGE, EXIT_NOT_STARTED = 2, 127
# Python ignores these for itself, and a program that it starts would go on ignoring them.
IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)


class Launcher:
    """One command and all that it starts. `folder` is empty, and for this launcher alone.

    Who left, and why, is read from files that the Checkpointer writes. Nothing else tells it dependably: the exit codes
    of the processes are known to their parent alone, torchrun prints them in words that change, and its error files
    (TORCHELASTIC_ERROR_FILE) hold exceptions, of which leaving is none.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._announced = dict.fromkeys(SIGNALS, 0)
        self._told: dict[tuple[int, signal.Signals], int] = {}
        self._warned = False

    def run(self, command: Sequence[str]) -> int:
        """The exit code of the command, 128 and the signal that ended it, or 75. In the main thread."""
        for number in SIGNALS:
            signal.signal(number, self._hear)
        # A terminal sends it to the command as well, whose end is waited for.
        signal.signal(signal.SIGINT, lambda *_: None)
        environment = {**os.environ, FOLDER_VARIABLE: str(self._folder)}
        try:
            first = os.posix_spawnp(command[0], list(command), environment, setsigdef=IGNORED)
        except OSError as error:
            say(f"ERROR: {command[0]} cannot be started: {error}")
            return EXIT_NOT_STARTED
        code = self._wait(first)
        if code != EXIT_INTERRUPTED and self._is_interrupted():
            say(f"{command[0]} ended with {code}, and has left to be resumed: {EXIT_INTERRUPTED}")
            return EXIT_INTERRUPTED
        return code

    def _hear(self, number: int, _frame: object) -> None:
        self._announced[signal.Signals(number)] += 1

    def _wait(self, first: int) -> int:
        """Takes in every process that ends: as the first one of a container it inherits those without a parent."""
        while True:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process == first:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
            if process == 0:
                self._hand_on()
                time.sleep(LOOK_SECONDS)

    def _hand_on(self) -> None:
        """Each signal once to each process that hears it; one that begins to hear later is told then."""
        for process in self._hearing():
            for number in SIGNALS:
                if self._told.get((process, number), 0) < self._announced[number]:
                    self._told[process, number] = self._announced[number]
                    with suppress(OSError):  # it has just ended
                        os.kill(process, number)
        if self._announced[signal.SIGTERM] and not self._told and not self._warned:
            self._warned = True
            say("WARNING: SIGTERM came, and no process is in the block of a Checkpointer now")

    def _hearing(self) -> Iterator[int]:
        for path in self._folder.glob(f"{HEARS}*"):
            yield int(path.name[len(HEARS) :])

    def _is_interrupted(self) -> bool:
        """Whether a rank left because of a signal from here, or of one on another node.

        torchrun itself signals the other ranks when one fails, and they leave as if the node went: that is a failure.
        """
        reasons = [path.read_text(encoding="ascii") for path in self._folder.glob(f"{LEFT}*")]
        return AGREED in reasons or bool(reasons and self._announced[signal.SIGTERM])


def main(command: Sequence[str]) -> int:
    """Runs the command; 2 where there is none, 127 where it cannot be started."""
    if not command:
        print("usage: python -m checkpoint.launch COMMAND [ARGUMENT...]", file=sys.stderr)
        return EXIT_USAGE
    with tempfile.TemporaryDirectory(prefix="checkpoint-launch-") as folder:
        return Launcher(Path(folder)).run(command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
