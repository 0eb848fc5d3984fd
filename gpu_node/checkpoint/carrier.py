"""Copies in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from .folder import CheckpointFolder
from .manifest import Checkpoint, CopyCancelled
from .report import say


class Carrier:
    """One thread that carries saved checkpoints on; of those that wait, only the newest counts.

    What lies in `scratch` is copied to `folder`; then `upload` gets the path of each. Whatever goes wrong is told and
    leaves the checkpoint itself alone. `longest_copy_seconds` is 0 until a copy has been made.
    """

    def __init__(
        self,
        folder: CheckpointFolder,
        scratch: CheckpointFolder | None,
        upload: Callable[[Path], object] | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._scratch, self._upload, self._clock = folder, scratch, upload, clock
        self._changed = threading.Condition()
        self._waiting: Checkpoint | None = None
        self._busy_with: Checkpoint | None = None
        self._may_copy, self._cancelled = threading.Event(), threading.Event()
        self._may_copy.set()
        self.longest_copy_seconds = 0.0
        threading.Thread(target=self._run, name="checkpoint-copies", daemon=True).start()

    def put(self, checkpoint: Checkpoint) -> None:
        """What is to be carried next, in place of what waits."""
        with self._changed:
            self._waiting = checkpoint
            self._changed.notify_all()

    @property
    def steps(self) -> set[int]:
        """The steps that must not be deleted now."""
        with self._changed:
            return {item.step for item in (self._waiting, self._busy_with) if item is not None}

    def finish(self, seconds: float | None) -> bool:
        """Waits until nothing is left to carry, at most `seconds`; says whether that came true."""
        with self._changed:
            return self._changed.wait_for(lambda: self._waiting is None and self._busy_with is None, seconds)

    def pause(self) -> None:
        """Copies stop where they are, until `go_on` or `cancel`."""
        self._may_copy.clear()

    def go_on(self) -> None:
        self._may_copy.set()

    def cancel(self) -> None:
        """Copies are given up, running and waiting ones."""
        self._cancelled.set()
        self._may_copy.set()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting is not None)
                self._busy_with, self._waiting = self._waiting, None
            if self._busy_with is not None:
                self._carry(self._busy_with)
            with self._changed:
                self._busy_with = None
                self._changed.notify_all()

    def _carry(self, checkpoint: Checkpoint) -> None:
        if self._scratch and checkpoint.path.parent == self._scratch.folder:
            try:
                self._copy(checkpoint)
            except CopyCancelled:
                return
            except Exception as error:
                say(f"ERROR: step {checkpoint.step} was not copied to {self._folder.folder}: {error}")
        if self._upload:
            try:
                self._upload(checkpoint.path)
                say(f"uploaded step {checkpoint.step}")
            except (Exception, SystemExit) as error:
                say(f"ERROR: step {checkpoint.step} was not uploaded: {error!r}")

    def _copy(self, checkpoint: Checkpoint) -> None:
        started = self._clock()
        copied = self._folder.add(checkpoint, self._between_chunks)
        self.longest_copy_seconds = max(self.longest_copy_seconds, self._clock() - started)
        say(f"copied step {checkpoint.step} to {copied.path}")

    def _between_chunks(self) -> None:
        self._may_copy.wait()
        if self._cancelled.is_set():
            raise CopyCancelled
