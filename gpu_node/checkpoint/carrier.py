"""Copies in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable

from .manifest import Checkpoint


class Carrier:
    """One thread that carries saved checkpoints on; of those that wait, only the newest counts."""

    def __init__(self, carry: Callable[[Checkpoint], None]) -> None:
        self._carry = carry
        self._changed = threading.Condition()
        self._waiting: Checkpoint | None = None
        self._busy_with: Checkpoint | None = None
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
