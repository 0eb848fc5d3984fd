"""How far a long run is: a bar that is redrawn on a terminal, a plain line now and then elsewhere; and a question."""

import shutil
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

REDRAW_SECONDS = 0.1
BAR_WIDTH = 28
# Without a terminal, a line at each of so many parts of the whole.
PLAIN_STEPS = 10


class Progress:
    """Counts up to `total`, or just counts where None is given. May be called from several threads.

    Writes to standard error unless told otherwise. `shown` writes the counts, as `byte_count` does for bytes.
    """

    def __init__(
        self,
        label: str,
        total: int | None,
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        shown: Callable[[int], str] = str,
    ) -> None:
        self._label = label
        self._total = total
        self._shown = shown
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._clock = clock
        self._started = clock()
        self._lock = threading.Lock()
        self._done = 0
        self._drawn_at = float("-inf")
        self._told_step = 0

    def __enter__(self) -> Self:
        with self._lock:
            self._draw(force=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            if self._terminal:
                self._draw(force=True)
                self._stream.write("\n")
            elif self._total is None:
                self._stream.write(f"{self._text()}\n")
            self._stream.flush()

    def advance(self, count: int = 1) -> None:
        """`count` more are done."""
        with self._lock:
            self._done += count
            self._draw()

    def reach(self, done: int) -> None:
        """So many are done in all, where somebody else counts."""
        with self._lock:
            self._done = done
            self._draw()

    def note(self, text: str) -> None:
        """A line that stays, above the bar."""
        with self._lock:
            self._stream.write(f"\r\033[K{text}\n" if self._terminal else f"{text}\n")
            self._draw(force=self._terminal)
            self._stream.flush()

    def _draw(self, *, force: bool = False) -> None:
        """Called with the lock held."""
        if self._terminal:
            now = self._clock()
            if force or self._done == self._total or now - self._drawn_at >= REDRAW_SECONDS:
                self._drawn_at = now
                width = shutil.get_terminal_size().columns - 1
                self._stream.write(f"\r\033[K{self._bar()}{self._text()}"[: width + len("\r\033[K")])
                self._stream.flush()
            return
        step = self._done * PLAIN_STEPS // self._total if self._total else 0
        if step > self._told_step:
            self._told_step = step
            self._stream.write(f"{self._text()}\n")
            self._stream.flush()

    def _bar(self) -> str:
        if self._total is None:
            return ""
        filled = min(BAR_WIDTH, self._done * BAR_WIDTH // self._total) if self._total else BAR_WIDTH
        return f"[{'#' * filled}{'.' * (BAR_WIDTH - filled)}] "

    def _text(self) -> str:
        if self._total is None:
            return f"{self._label}: {self._shown(self._done)}"
        text = f"{self._label}: {self._shown(self._done)} of {self._shown(self._total)}"
        if not 0 < self._done < self._total:
            return text
        left = (self._clock() - self._started) / self._done * (self._total - self._done)
        return f"{text}, {duration(left)} left"


def byte_count(count: int) -> str:
    """A number of bytes for people: `512 bytes`, `1.5 MiB`, `20 GiB`."""
    value, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "bytes" or value >= 10 else f"{value:.1f} {unit}"


def duration(seconds: float) -> str:
    """A length of time for people: `40 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def confirmed(question: str) -> bool:
    """Whether the person at the terminal says yes. The question goes to standard error."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def someone_is_there() -> bool:
    """Whether a question would be seen and could be answered."""
    return sys.stdin.isatty() and sys.stderr.isatty()
