"""The files of a local tree with their keys, and what of it cannot be sent."""

import os
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ops.transfer.parts import PartError, part_bytes
from ops.transfer.places import TransferError, key_fault


@dataclass(frozen=True)
class LocalFile:
    """A file as it was found: path, key, length in bytes, and what tells that it has changed."""

    path: str
    key: str
    length: int
    stamp: tuple[int, int, int]

    def changed(self) -> bool:
        """Whether the file is another than the one that was found."""
        try:
            return stamp_of(os.stat(self.path)) != self.stamp
        except OSError:
            return True


@dataclass
class Tree:
    """What a walk found: files by key order, failures as (path, reason), and the number of folders without files."""

    files: list[LocalFile] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
    empty_folders: int = 0


def read_tree(source: Path, destination: str) -> Tree:
    """The files of `source`, a folder or a file. TransferError when it is not there.

    A link is followed, as a model cache is made of them; one that leads back into its own folders is not.
    Keys are composed (NFC), so that a tree from macOS gets the same keys as one from Linux.
    """
    if not source.exists():
        raise TransferError(f"{source} is not there. Fix: name a folder or a file, or - for standard input.")
    if source.is_dir():
        tree, prefix = Tree(), destination.rstrip("/") + "/"
        _walk(str(source), prefix, (), tree)
    else:
        tree = Tree()
        key = destination + source.name if destination.endswith("/") else destination
        _add(str(source), unicodedata.normalize("NFC", key), tree)
    _refuse_twins(tree)
    return tree


def stamp_of(status: os.stat_result) -> tuple[int, int, int]:
    """Length, time of change and inode."""
    return status.st_size, status.st_mtime_ns, status.st_ino


def _walk(folder: str, prefix: str, above: tuple[tuple[int, int], ...], tree: Tree) -> None:
    try:
        status = os.stat(folder)
        here = (status.st_dev, status.st_ino)
        if here in above:
            tree.failures.append((folder, "it is a link into a folder above it, a loop; remove the link"))
            return
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        tree.failures.append((folder, f"it cannot be read: {error.strerror}"))
        return
    if not entries:
        tree.empty_folders += 1
    for entry in entries:
        key = prefix + unicodedata.normalize("NFC", entry.name)
        if _is_folder(entry):
            _walk(entry.path, f"{key}/", (*above, here), tree)
        else:
            _add(entry.path, key, tree)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        # A link to itself.
        return False


def _add(path: str, key: str, tree: Tree) -> None:
    fault = key_fault(key)
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            fault = fault or "it is neither a file nor a folder"
        elif not os.access(path, os.R_OK):
            fault = fault or "it may not be read"
        part_bytes(status.st_size)
    except OSError as error:
        fault = (
            "it is a link that leads nowhere"
            if os.path.islink(path)
            else f"it cannot be read: {error.strerror}"
        )
    except PartError as error:
        fault = str(error)
    if fault:
        tree.failures.append((path, fault))
    else:
        tree.files.append(LocalFile(path, key, status.st_size, stamp_of(status)))


def _refuse_twins(tree: Tree) -> None:
    """Two names that differ only in how an accent is written would be one object; neither is sent."""
    by_key: dict[str, list[LocalFile]] = {}
    for file in tree.files:
        by_key.setdefault(file.key, []).append(file)
    tree.files = [files[0] for files in by_key.values() if len(files) == 1]
    tree.failures += list(_twins(by_key))


def _twins(by_key: dict[str, list[LocalFile]]) -> Iterator[tuple[str, str]]:
    for key, files in by_key.items():
        if len(files) > 1:
            names = " and ".join(ascii(os.path.basename(file.path)) for file in files)
            yield files[0].path, f"{names} would both be {key}; rename one"
