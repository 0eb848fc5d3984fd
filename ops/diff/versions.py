"""Both versions of the program, recorded at the same time by processes of their own."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ops.capture.program import PROJECT_ROOT
from ops.capture.recording import Recording
from ops.capture.stack_files import stacks_of

# Where the libraries of functions are kept once downloaded; git does not carry it.
BUNDLES = ".bundles"
LAST_LINES = 4


class VersionError(Exception):
    """A version ended the process that records it; the message says which, and its last words."""


@dataclass(frozen=True, kw_only=True)
class Versions:
    """By stack: a Recording, or a text that says why there is none. A stack without a file is in neither."""

    base: Mapping[str, Recording | str]
    head: Mapping[str, Recording | str]


def record_both(
    base: Path, head: Path, stacks: Sequence[str], done: Callable[[], None] = lambda: None
) -> Versions:
    """Records the stacks in both folders, beside `base`, and calls `done` after each. VersionError when a process breaks."""
    share_libraries(base, head)
    jobs = []
    try:
        for words, root in (("of the base", base), ("as it is now", head)):
            known = [stack for stack in stacks if stack in stacks_of(root)]
            jobs.append(_Job(words, root, base.parent / f"{len(jobs)}.pickle", known))
        found = [job.collect(done) for job in jobs]
    finally:
        for job in jobs:
            job.end()
    return Versions(base=found[0], head=found[1])


def count_of(base: Path, head: Path, stacks: Sequence[str]) -> int:
    """How many recordings `record_both` makes."""
    return sum(stack in stacks_of(root) for root in (base, head) for stack in stacks)


def share_libraries(base: Path, head: Path) -> None:
    """Lets the base use the libraries that are downloaded already; each lock file has a folder of its own there."""
    (head / BUNDLES).mkdir(exist_ok=True)
    (base / BUNDLES).symlink_to(head / BUNDLES, target_is_directory=True)


class _Job:
    """One version being recorded. What the program prints is kept in case the process breaks."""

    def __init__(self, words: str, root: Path, results: Path, stacks: Sequence[str]) -> None:
        self._words = words
        self._results = results
        self._printed = results.with_suffix(".txt")
        with self._printed.open("w") as printed:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ops.diff.recorder", str(root), str(self._results), *stacks],
                cwd=PROJECT_ROOT,
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=printed,
                text=True,
            )

    def collect(self, done: Callable[[], None]) -> dict[str, Recording | str]:
        for _ in self._process.stdout or ():
            done()
        code = self._process.wait()
        if code:
            lines = self._printed.read_text(errors="replace").strip().splitlines()
            last = " / ".join(line.strip() for line in lines[-LAST_LINES:])
            raise VersionError(f"The program {self._words} ended by itself: {last or f'exit code {code}'}")
        # Written by the process above, which is of this same version.
        return pickle.loads(self._results.read_bytes())

    def end(self) -> None:
        """Ends the process if it still runs: what it writes to is about to go."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()
