"""What a process and `python -m checkpoint.launch` above it tell each other: files in a folder of the launcher's."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

FOLDER_VARIABLE = "CHECKPOINT_LAUNCH_FOLDER"
# A file each: of a process that hears signals, by its number; of a rank that has left to be resumed.
HEARS = "hears-"
LEFT = "left-"
# What the second holds: whether the rank was signalled itself, or left since another one was.
TOLD = "told"
AGREED = "agreed"


class Launched:
    """The process's side. Does nothing without a launcher, and an error here ends no training."""

    def __init__(self, rank: int) -> None:
        folder = os.environ.get(FOLDER_VARIABLE)
        self._folder = Path(folder) if folder else None
        self._rank = rank

    def hears(self) -> None:
        """Signals reach a handler from now on. That this rank once left counts no more: it was started again."""
        if self._folder:
            with suppress(OSError):
                (self._folder / f"{LEFT}{self._rank}").unlink()
            with suppress(OSError):
                (self._folder / f"{HEARS}{os.getpid()}").touch()

    def left(self, agreed: bool) -> None:
        """This rank leaves to be resumed."""
        if self._folder:
            with suppress(OSError):
                (self._folder / f"{LEFT}{self._rank}").write_text(
                    AGREED if agreed else TOLD, encoding="ascii"
                )

    def is_deaf(self) -> None:
        """Signals would end the process from now on."""
        if self._folder:
            with suppress(OSError):
                (self._folder / f"{HEARS}{os.getpid()}").unlink()
