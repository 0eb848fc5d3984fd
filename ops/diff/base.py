"""The other version of the project: a commit of git, unpacked into a folder that is gone afterwards."""

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

SHORT_COMMIT = 10


class BaseError(Exception):
    """The commit cannot be had; the message says why and what to do."""


def commit_of(ref: str, root: Path) -> str:
    """The commit that a branch, tag or hash names in the repository around `root`. BaseError when it names none."""
    inside = _git(root, "rev-parse", "--is-inside-work-tree")
    if inside.returncode:
        raise BaseError(f"{root} is no repository of git that can be read here: {_said(inside)}.")
    found = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if found.returncode:
        raise BaseError(
            f"--base {ref}: git knows no such commit. "
            "Fix: name a branch, a tag or a commit; one that is not here yet comes with git fetch origin."
        )
    return found.stdout.decode().strip()


def common_ancestor(commit: str, root: Path) -> str:
    """The last commit that `commit` and the checked-out one share; empty where git knows none, as in a shallow clone."""
    return _git(root, "merge-base", commit, "HEAD").stdout.decode().strip()


@contextmanager
def unpacked(commit: str, root: Path) -> Generator[Path]:
    """A temporary folder with the project as of `commit`; working tree, index and references stay as they are."""
    # Only files below the folder it runs in: the project may be a part of a larger repository.
    archive = _git(root, "archive", "--format=tar", commit)
    if archive.returncode:
        raise BaseError(f"git cannot unpack {commit[:SHORT_COMMIT]}: {_said(archive)}.")
    with tempfile.TemporaryDirectory(prefix="ops-diff-") as scratch:
        folder = Path(scratch).resolve() / "base"
        folder.mkdir()
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extraction_filter = _as_it_is
            files.extractall(folder)
        yield folder


def _as_it_is(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo:
    """What git packs is what it would check out."""
    return member


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)
    except OSError as error:
        raise BaseError(f"git cannot be run: {error.strerror}. Fix: install git.") from error


def _said(run: subprocess.CompletedProcess[bytes]) -> str:
    return " ".join(run.stderr.decode(errors="replace").split()).rstrip(".") or f"exit code {run.returncode}"
