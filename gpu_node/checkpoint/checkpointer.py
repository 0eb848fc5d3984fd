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
from .manifest import Checkpoint, CheckpointError, CopyCancelled, looks_complete
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
    leave after the same step. Let rank 0 find the latest checkpoint and tell the others its path.

    SIGTERM counts as the two minutes' notice of EC2, less `margin_seconds`. That save is always tried, since a
    half-written one does no harm; `seconds_left` tells `write` how much it can afford.
    """

    FAILURES_IN_A_ROW = 3
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
        self._deadline: float | None = None
        self._saved_step: int | None = None
        self._steps_since: int | None = None
        self._waiting_since = clock()
        self._save_seconds: deque[float] = deque(maxlen=5)
        self._decided_at: float | None = None
        self._failures = 0
        self._copies_cancelled = threading.Event()
        self._carrier: Carrier | None = None
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
            self._carrier = Carrier(self._carry)
        self._waiting_since = self._clock()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Waits for the copies (once interrupted, only while time is left); leaves with 75 if interrupted."""
        if self._carrier and not self._carrier.finish(self.seconds_left if self._leaving else None):
            say("WARNING: no time is left to finish the copy of the last checkpoint")
        self._restore_handlers()
        if kind is None and self._leaving:
            raise SystemExit(EXIT_INTERRUPTED)

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
            if self._deadline is None:  # another rank was told
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

        A failure is reported, and the next interval tries again. Raised are the third in a row, and what `write`
        itself gets wrong before anything was saved; but nothing while the node goes, since the run has to resume.
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
            self._failures += 1
            say(f"ERROR: step {step}: {error}")
            mistaken = not self._save_seconds and not isinstance(error, CheckpointError)
            if not self._leaving and (mistaken or self._failures >= self.FAILURES_IN_A_ROW):
                raise
        else:
            self._failures = 0
            self._saved_step = step
            self._save_seconds.append(self._clock() - started)
            say(f"saved step {step} in {checkpoint.path} in {self._save_seconds[-1]:.1f} s")
            if self._carrier and (self._upload or target is self._scratch):
                self._carrier.put(checkpoint)
        self._steps_since, self._waiting_since = step, self._clock()

    def _prepare_to_leave(self, step: int) -> None:
        self._copies_cancelled.set()  # they would take the network from the last save
        longest, left = max(self._save_seconds, default=0.0), self.seconds_left or 0.0
        if left < longest:
            say(f"WARNING: saving step {step} may take {longest:.0f} s, and {left:.0f} s are left")

    def _carry(self, checkpoint: Checkpoint) -> None:
        """Whatever goes wrong here is told and leaves the local checkpoint alone."""
        if self._scratch and checkpoint.path.parent == self._scratch.folder:
            try:
                say(
                    f"copied step {checkpoint.step} to {self._folder.add(checkpoint, self._copies_cancelled).path}"
                )
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
