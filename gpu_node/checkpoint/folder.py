"""A folder of checkpoints: saved whole, found again, thinned out."""

from __future__ import annotations

import operator
import os
import re
import shutil
import socket
import uuid
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from .manifest import (
    MANIFEST,
    Checkpoint,
    CheckpointError,
    check,
    copy_file,
    inventory,
    looks_complete,
    read_manifest,
    seal,
    sync_folder,
)
from .report import say

MAXIMUM_STEP = 10**18 - 1
# `.replaced`: what was set aside while a new checkpoint of the same step took its place; a crash can leave it behind.
NAME = re.compile(r"step-(0|[1-9][0-9]{0,17})(\.replaced)?")
TEMPORARY = re.compile(r"\.checkpoint-(?P<host>.*)-(?P<process>[0-9]{1,10})-[0-9a-f]{32}")
LEFTOVER_SECONDS = 3600
HOST = re.sub(r"[^A-Za-z0-9.]", "_", socket.gethostname())[:64]

Write = Callable[[Path], object]


class CheckpointFolder:
    """Complete checkpoints in one folder, `step-<number>` each. One process writes to it at a time.

    The highest step is the latest, whatever the clocks say: to go back to an older one, delete the later ones.
    """

    def __init__(self, folder: str | os.PathLike[str], keep_last: int = 3) -> None:
        if keep_last < 1:
            raise ValueError(f"keep_last is {keep_last}: at least 1 checkpoint has to stay")
        self.folder = Path(folder)
        self._keep_last = keep_last

    def save(self, step: int, write: Write, spare: Collection[int] = ()) -> Checkpoint:
        """Saves what `write` leaves in the folder that it is given; on return it would survive a power cut.

        Raises CheckpointError when the system refuses (disk full, read-only) and ValueError when `write` leaves
        nothing, a link, or a file named as the manifest; what `write` raises passes. Then no trace is left, and the
        latest checkpoint is what it was. Afterwards all but the last `keep_last` are deleted, apart from the steps
        in `spare`. Empty folders inside a checkpoint may get lost in copies.
        """
        step = operator.index(step)  # NumPy's and PyTorch's integers too
        if not 0 <= step <= MAXIMUM_STEP:
            raise ValueError(f"a step must be from 0 to {MAXIMUM_STEP}")
        checkpoint = Checkpoint(step, self.path_of(step))
        temporary = self._temporary_path()
        try:
            temporary.mkdir(parents=True)
            write(temporary)
            seal(temporary, step)
            self._put_in_place(temporary, checkpoint.path)
        except OSError as error:
            raise CheckpointError(f"step {step} was not saved in {self.folder}: {error}") from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self._prune(checkpoint, spare)
        return checkpoint

    def add(self, checkpoint: Checkpoint, between_chunks: Callable[[], None] = lambda: None) -> Checkpoint:
        """Copies a checkpoint of another folder, whole and compared with its manifest, or not at all.

        `between_chunks` may hold the copy up, or end it by an error, which passes.
        """

        def copy(folder: Path) -> None:
            manifest = read_manifest(checkpoint.path)
            for name in manifest:
                copy_file(checkpoint.path / name, folder / name, between_chunks)
            if inventory(folder) != manifest:
                raise CheckpointError(f"{checkpoint.path} is damaged: its copy differs from its manifest")

        return self.save(checkpoint.step, copy)

    def candidates(self) -> list[Checkpoint]:
        """What looks like a checkpoint by its name, newest first. Raises CheckpointError if unreadable."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise CheckpointError(f"the checkpoints in {self.folder} cannot be listed: {error}") from error
        matches = sorted(
            filter(None, map(NAME.fullmatch, names)), key=lambda match: (-int(match[1]), match[2] or "")
        )
        return [Checkpoint(int(match[1]), self.folder / match[0]) for match in matches]

    def path_of(self, step: int) -> Path:
        """Where the checkpoint of a step lies, if there is one."""
        return self.folder / f"step-{step}"

    def latest(self) -> Checkpoint | None:
        """The newest valid checkpoint; what is damaged or unreadable is skipped with a warning."""
        return newest_valid(self.candidates())

    def prepare(self) -> None:
        """Removes what killed processes left half-written; raises CheckpointError if nothing can be saved here."""
        probe = self._temporary_path()
        try:
            probe.mkdir(parents=True)
            sync_folder(self.folder.parent)
            # The file system's own clock on both sides: the clock of this machine may be wrong.
            now = probe.stat().st_mtime
            probe.rmdir()
            self._sweep(now, starting=True)
        except OSError as error:
            raise CheckpointError(f"no checkpoint can be saved in {self.folder}: {error}") from error

    def _temporary_path(self) -> Path:
        return self.folder / f".checkpoint-{HOST}-{os.getpid()}-{uuid.uuid4().hex}"

    def _sweep(self, now: float, starting: bool) -> None:
        """Removes the temporary folders of dead processes; `now` is by the file system's clock."""
        for path in self.folder.iterdir():
            if _is_left_over(path, now, starting):
                shutil.rmtree(path, ignore_errors=True)

    def _put_in_place(self, temporary: Path, final: Path) -> None:
        aside = final.with_name(f"{final.name}.replaced")
        if os.path.lexists(final):
            self._remove(aside)
            os.rename(final, aside)
        os.rename(temporary, final)
        sync_folder(self.folder)
        self._remove(aside)

    def _prune(self, saved: Checkpoint, spare: Collection[int]) -> None:
        """Never touches what was just saved, which is the one that is valid for certain, nor a later step.

        What another node left half-written was too young to be removed when this process started.
        """
        kept = 1
        try:
            self._sweep((saved.path / MANIFEST).stat().st_mtime, starting=False)
            for checkpoint in self.candidates():
                if checkpoint.step >= saved.step or checkpoint.step in spare:
                    continue
                if kept >= self._keep_last:
                    self._remove(checkpoint.path)
                elif looks_complete(checkpoint.path):
                    kept += 1
        except (CheckpointError, OSError) as error:
            say(f"WARNING: old checkpoints in {self.folder} could not be deleted: {error}")

    def _remove(self, path: Path) -> None:
        """Renames first, so that a kill in the middle leaves no half of a checkpoint under its name."""
        if not os.path.lexists(path):
            return
        doomed = self._temporary_path()
        os.rename(path, doomed)
        if doomed.is_symlink() or not doomed.is_dir():
            doomed.unlink()
        else:
            shutil.rmtree(doomed)


def newest_valid(candidates: Iterable[Checkpoint]) -> Checkpoint | None:
    """The first that holds against its manifest, reading every byte; a warning for each that does not."""
    for checkpoint in candidates:
        try:
            check(checkpoint)
        except (CheckpointError, OSError) as error:
            say(f"WARNING: skipped {checkpoint.path}: {error}")
        else:
            return checkpoint
    return None


def _is_left_over(path: Path, now: float, starting: bool) -> bool:
    """Whether a temporary folder's process is gone: known on its own host, else taken from its age.

    A process that is `starting` has none of its own yet: its number is that of a dead one.
    """
    match = TEMPORARY.fullmatch(path.name)
    if match is None:
        return False
    if match["host"] != HOST:
        return now - os.lstat(path).st_mtime > LEFTOVER_SECONDS
    process = int(match["process"])
    if process == os.getpid():  # a process number can come again, above all number 1 of a container
        return starting
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass
    return False
