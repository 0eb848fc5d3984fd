"""The manifest of a checkpoint: what its files have to be, and whether they are."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

MANIFEST = "checkpoint.json"
CHUNK_BYTES = 1 << 20


class CheckpointError(Exception):
    """A checkpoint could not be saved or is not valid; the message says which, where and why."""


class CopyCancelled(Exception):
    """A copy was given up because the node goes and a newer checkpoint takes its place."""


@dataclass(frozen=True)
class Checkpoint:
    """A folder that holds the files of one step."""

    step: int
    path: Path


def check(checkpoint: Checkpoint) -> None:
    """Raises CheckpointError or OSError unless every file has the size and SHA-256 of the manifest."""
    manifest = read_manifest(checkpoint.path, checkpoint.step)
    with ThreadPoolExecutor(8) as pool:
        measured = pool.map(lambda name: (name, _measure(checkpoint.path / name)), manifest)
        for name, found in measured:
            if found != manifest[name]:
                sizes = f"{found['bytes']} bytes, {manifest[name]['bytes']} were saved"
                raise CheckpointError(f"{name!r} is not what was saved ({sizes})")


def read_manifest(path: Path, step: int | None = None) -> dict[str, dict[str, Any]]:
    """File name -> its size and checksum. No name leads out of the checkpoint, not by a link either."""
    if path.is_symlink():
        raise CheckpointError("it is a symbolic link")
    try:
        with _open_regular(path / MANIFEST) as file:
            content = json.loads(file.read())
        files = {
            name: {"bytes": entry["bytes"], "sha256": entry["sha256"]}
            for name, entry in content["files"].items()
        }
        of_step = content["step"]
    except FileNotFoundError as error:
        raise CheckpointError(f"it has no {MANIFEST}: it was never finished") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"its {MANIFEST} is broken") from error
    if step not in (None, of_step):
        raise CheckpointError(f"its {MANIFEST} is of step {of_step}")
    here = os.path.realpath(path)
    for name in files:
        inside = name and PurePosixPath(name).as_posix() == name and "\0" not in name
        if not inside or os.path.realpath(path / name) != os.path.join(here, name):
            raise CheckpointError(f"its file {name!r} lies elsewhere")
    return files


def looks_complete(path: Path) -> bool:
    """Whether the manifest is there and the sizes fit: without reading the content."""
    try:
        for name, entry in read_manifest(path).items():
            found = os.lstat(path / name)
            if not stat.S_ISREG(found.st_mode) or found.st_size != entry["bytes"]:
                return False
    except (CheckpointError, OSError):
        return False
    return True


def seal(folder: Path, step: int) -> None:
    """Makes the files durable and describes them in the manifest."""
    if os.path.lexists(folder / MANIFEST):
        raise ValueError(f"{MANIFEST} is the manifest's own name: give that file another one")
    files = inventory(folder)
    if not files:
        raise ValueError(f"nothing was written for step {step}: a checkpoint holds at least one file")
    with open(folder / MANIFEST, "x", encoding="ascii") as file:
        json.dump({"step": step, "files": files}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    for parent, _, _ in os.walk(folder, topdown=False):
        sync_folder(Path(parent))


def inventory(folder: Path) -> dict[str, dict[str, Any]]:
    """File name -> size and SHA-256 of all files, each flushed to the disk."""
    paths = []
    for parent, folders, files in os.walk(folder, onerror=_raise):
        for path in (Path(parent, name) for name in [*folders, *files]):
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode):
                paths.append(path)
            elif not stat.S_ISDIR(mode):
                raise ValueError(
                    f"{path.name!r} is a link or a device: a checkpoint holds files of its own only"
                )
    with ThreadPoolExecutor(8) as pool:
        return dict(
            pool.map(lambda path: (path.relative_to(folder).as_posix(), _measure(path, durably=True)), paths)
        )


def _raise(error: OSError) -> None:
    raise error


def _measure(path: Path, durably: bool = False) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    with _open_regular(path) as file:
        for chunk in iter(lambda: file.read(CHUNK_BYTES), b""):
            digest.update(chunk)
            size += len(chunk)
        if durably:
            os.fsync(file.fileno())
    return {"bytes": size, "sha256": digest.hexdigest()}


def _open_regular(path: Path) -> BinaryIO:
    """Opens a file for reading; neither follows a link nor waits for the other end of a pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CheckpointError(f"{path.name!r} is no regular file")
    return os.fdopen(descriptor, "rb")


def copy_file(source: Path, target: Path, between_chunks: Callable[[], None]) -> None:
    """`between_chunks` may hold the copy up, or end it by an error."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with _open_regular(source) as reading, open(target, "xb") as writing:
        for chunk in iter(lambda: reading.read(CHUNK_BYTES), b""):
            between_chunks()
            writing.write(chunk)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot flush folders
            raise
    finally:
        os.close(descriptor)
