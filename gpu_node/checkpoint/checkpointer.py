"""When a training loop saves and when it leaves."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any

from .carrier import Carrier
from .folder import CheckpointFolder, Write, newest_valid
from .interval import SaveInterval
from .launched import Launched
from .manifest import Checkpoint, CheckpointError, looks_complete
from .report import say

EXIT_INTERRUPTED = 75


class Decision(IntEnum):
    """What a training loop does after a step; the greatest of all ranks holds."""

    GO_ON = 0
    SAVE = 1
    LEAVE = 2


class Checkpointer:
    """Tells a training loop when to save and when to leave, and saves. A `with` block in the main thread.

    `folder` outlives the node (EFS). With `scratch_folder` (local NVMe, `/scratch/<run>`) the loop waits only for
    the local disk, and the copy to `folder` is made in the background; on SIGTERM it is saved to `folder` at once,
    since the local disk goes with the node. `upload` is called in the background with the path of each saved
    checkpoint, for example to copy it to `models/` in the lake. An error of either copy is reported and
    costs nothing local; of several that wait only the newest is copied.

    Several processes (ranks): only rank 0, by `rank` or the variable RANK, writes, and all call the same methods.
    `agree` has to return the greatest of the numbers that the ranks pass in (an all-reduce), so that they save and
    leave after the same step; when they leave it is called once more, so that none is gone before rank 0 has saved:
    torchrun ends the others 30 seconds after the first. Let rank 0 find the latest checkpoint and tell the others its path.

    SIGTERM counts as the two minutes' notice of EC2, less `margin_seconds`. That save is always tried, since a
    half-written one does no harm; `seconds_left` tells `write` how much it can afford.
    """

    FAILURES_IN_A_ROW = 3
    RETRY_SECONDS = 60
    # Before the first save has been measured: it comes early (after 9 minutes by default) and measures.
    ASSUMED_SAVE_SECONDS = 1.0

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        scratch_folder: str | os.PathLike[str] | None = None,
        upload: Callable[[Path], object] | None = None,
        interval: SaveInterval = SaveInterval(),  # noqa: B008  frozen
        keep_last: int = 3,
        notice_seconds: float = 120,
        margin_seconds: float = 15,
        rank: int | None = None,
        agree: Callable[[int], int] = int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = CheckpointFolder(folder, keep_last)
        self._scratch = CheckpointFolder(scratch_folder, keep_last) if scratch_folder is not None else None
        self._upload = upload
        self._interval = interval
        self._seconds_to_leave = max(0.0, notice_seconds - margin_seconds)
        self.rank = int(os.environ.get("RANK", "0")) if rank is None else rank
        self._agree = agree
        self._clock = clock
        self._asked = False
        self._leaving = False
        self._told_by_another_rank = False
        self._deadline: float | None = None
        self._saved_step: int | None = None
        self._steps_since: int | None = None
        self._waiting_since = clock()
        self._save_seconds: deque[float] = deque(maxlen=5)
        self._decided_at: float | None = None
        self._failures = 0
        self._carrier: Carrier | None = None
        self._launched = Launched(self.rank)
        self._former_handlers: dict[int, Any] = {}

    def __enter__(self) -> Checkpointer:
        """Raises CheckpointError when the folder cannot be written: before hours of training, not after."""
        if threading.current_thread() is not threading.main_thread():
            raise CheckpointError("a Checkpointer hears signals, so its block has to be in the main thread")
        for number in (signal.SIGTERM, signal.SIGUSR1):
            self._former_handlers[number] = signal.signal(number, self._on_signal)
        try:
            for folder in filter(None, (self._folder, self._scratch)):
                if self.rank == 0:
                    folder.prepare()
        except BaseException:
            self._restore_handlers()
            raise
        if self.rank == 0 and (self._scratch or self._upload):
            self._carrier = Carrier(self._folder, self._scratch, self._upload, self._clock)
        self._launched.hears()
        self._waiting_since = self._clock()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Waits for the copies (once interrupted, only while time is left); leaves with 75 if interrupted."""
        if self._carrier:
            self._carrier.go_on()  # an error may have ended the last save
            if not self._carrier.finish(self.seconds_left if self._leaving else None):
                say("WARNING: no time is left to finish the copy of the last checkpoint")
        interrupted = kind is None and self._leaving
        if interrupted:
            self._launched.left(agreed=self._told_by_another_rank)
            self._wait_for_other_ranks()
        self._launched.is_deaf()
        self._restore_handlers()
        if interrupted:
            raise SystemExit(EXIT_INTERRUPTED)

    def _wait_for_other_ranks(self) -> None:
        try:
            self._agree(int(Decision.LEAVE))
        except Exception as error:  # the work is saved, and nothing else counts now
            say(f"WARNING: the ranks do not leave together: {error}")

    def _restore_handlers(self) -> None:
        for number, handler in self._former_handlers.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: object) -> None:
        if number == signal.SIGUSR1:
            self._asked = True
        elif self._deadline is None:  # a second SIGTERM gives no more time
            self._deadline = self._clock() + self._seconds_to_leave

    @property
    def should_stop(self) -> bool:
        """Whether the node is about to go: a long step can look here and end early."""
        return self._deadline is not None

    @property
    def seconds_left(self) -> float | None:
        """How long a save may still take; None unless interrupted."""
        return None if self._deadline is None else max(0.0, self._deadline - self._clock())

    @property
    def seconds_between_saves(self) -> float:
        measured = sum(self._save_seconds) / len(self._save_seconds) if self._save_seconds else None
        return self._interval.seconds_between_saves(measured or self.ASSUMED_SAVE_SECONDS)

    def latest(self) -> Checkpoint | None:
        """The newest valid checkpoint of both folders, every byte compared with its manifest.

        One that only the scratch folder has is copied in the background: its own process may have died before.
        """
        found = [*(self._scratch.candidates() if self._scratch else []), *self._folder.candidates()]
        latest = newest_valid(sorted(found, key=lambda checkpoint: -checkpoint.step))
        if latest is None:
            say(f"no valid checkpoint in {self._folder.folder}: starting from the beginning")
        else:
            self._saved_step = latest.step
            say(f"resuming from step {latest.step} in {latest.path}")
            is_safe = latest.path.parent == self._folder.folder
            if self._carrier and not is_safe and not looks_complete(self._folder.path_of(latest.step)):
                self._carrier.put(latest)
        return latest

    def after_step(self, step: int, write: Write) -> bool:
        """Saves if it is time; True means: leave the loop now. Call it after every step, on every rank."""
        decision = self.decide(step)
        if decision is not Decision.GO_ON:
            self.save(step, write)
        return decision is Decision.LEAVE

    def decide(self, step: int) -> Decision:
        """What to do after `step`, for loops that save in their own way; `save` has to follow SAVE and LEAVE."""
        own = Decision.GO_ON
        if self.should_stop:
            own = Decision.LEAVE
        elif self._asked or (self.rank == 0 and self._is_due(step)):
            own = Decision.SAVE
        decision = Decision(self._agree(int(own)))
        if decision is not Decision.GO_ON:
            self._decided_at = self._clock()
        if decision is Decision.LEAVE:
            self._leaving = True
            if self._deadline is None:
                self._told_by_another_rank = True
                self._deadline = self._clock() + self._seconds_to_leave
        return decision

    def _is_due(self, step: int) -> bool:
        if self._steps_since is None:
            self._steps_since = step - 1
        if self._interval.steps is not None:
            return step - self._steps_since >= self._interval.steps
        return self._clock() - self._waiting_since >= self.seconds_between_saves

    def save(self, step: int, write: Write) -> None:
        """Saves now, on rank 0, unless this step is saved already.

        A failure is reported, and tried again after a minute, then after the next interval. Raised are the third in a
        row, and what `write` itself gets wrong before anything was saved; but nothing while the node goes, since the
        run has to resume.
        """
        self._asked = False
        if self.rank != 0 or step == self._saved_step:
            return
        if self._leaving:
            self._prepare_to_leave(step)
        # What a loop does itself between decision and save, such as writing its own files, belongs to the save.
        started = self._clock() if self._decided_at is None else self._decided_at
        self._decided_at = None
        target = self._folder if self._leaving or self._scratch is None else self._scratch
        try:
            checkpoint = target.save(step, write, self._carrier.steps if self._carrier else ())
        except Exception as error:
            if self._is_final(step, error):
                raise
        else:
            self._note_saved(checkpoint, self._clock() - started)
            if self._carrier and (self._upload or target is self._scratch):
                self._carrier.put(checkpoint)
        self._steps_since, self._waiting_since = step, self._clock() - self._waited_already()

    def _waited_already(self) -> float:
        """Of the interval by time: all but a minute after a first failure, which may be over in a moment."""
        return max(0.0, self.seconds_between_saves - self.RETRY_SECONDS) if self._failures == 1 else 0.0

    def _is_final(self, step: int, error: Exception) -> bool:
        say(f"ERROR: step {step}: {error}")
        if self._leaving:
            if self._carrier:
                self._carrier.go_on()
            return False
        self._failures += 1
        mistaken = not self._save_seconds and not isinstance(error, CheckpointError)
        return mistaken or self._failures >= self.FAILURES_IN_A_ROW

    def _note_saved(self, checkpoint: Checkpoint, seconds: float) -> None:
        if self._leaving and self._carrier:
            self._carrier.cancel()  # what it copies is older than what is safe now
        self._failures = 0
        self._saved_step = checkpoint.step
        self._save_seconds.append(seconds)
        say(f"saved step {checkpoint.step} in {checkpoint.path} in {seconds:.1f} s")

    def _prepare_to_leave(self, step: int) -> None:
        """Gives the last save the network for itself, unless it has no chance.

        A copy that runs meanwhile is of an older checkpoint, which goes with the node unless it is finished. It waits
        for the last save, and goes on if that fails. Where the save would not be done in the time left, the copy is
        finished first: of two halves neither could be loaded.
        """
        copied = self._carrier.longest_copy_seconds if self._carrier and self._scratch else 0.0
        longest, left = copied or max(self._save_seconds, default=0.0), self.seconds_left or 0.0
        too_long = left < longest
        if too_long:
            say(f"WARNING: saving step {step} may take {longest:.0f} s, and {left:.0f} s are left")
        if self._carrier and self._scratch:
            if too_long:
                self._carrier.finish(left)
            else:
                self._carrier.pause()
