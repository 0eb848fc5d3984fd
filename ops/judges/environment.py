"""Where the judges' programs lie, and how one is run. Two of them would change the program's own packages."""

import json
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ops.capture.program import PROJECT_ROOT

FOLDER = PROJECT_ROOT / ".judges"
NODE_FOLDER = FOLDER / "node"
MISSING = "the judges' own environment is not set up. Fix: `make judges`, with Node.js for the pictures."


class JudgeMissing(Exception):
    """A judge cannot be asked; the message names what is missing and the fix."""


class JudgeFailed(Exception):
    """A judge broke down instead of giving an answer; the message is what it said last."""


def isolated(name: str, folder: Path = FOLDER) -> Path:
    """A program of the judges' own environment. Raises JudgeMissing."""
    path = folder / "bin" / name
    if not path.is_file():
        raise JudgeMissing(f"{name}: {MISSING}")
    return path


def beside_python(name: str) -> Path:
    """A program that comes with the development packages. Raises JudgeMissing."""
    path = Path(sysconfig.get_path("scripts")) / name
    if not path.is_file():
        raise JudgeMissing(f"{name} is not installed beside {sys.executable}. Fix: `make check` sets it up.")
    return path


def node(folder: Path = NODE_FOLDER) -> Path:
    """Node.js, where the packages for it are installed. Raises JudgeMissing."""
    found = shutil.which("node")
    if found is None or not (folder / "node_modules" / "mermaid").is_dir():
        raise JudgeMissing(f"mermaid: {MISSING}")
    return Path(found)


def ask(
    command: Sequence[str | Path], *, allowed: Sequence[int], stdin: str = "", cwd: Path = PROJECT_ROOT
) -> Any:
    """The JSON that a program prints. Raises JudgeFailed for anything else, and for an exit code that is not allowed."""
    result = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, cwd=cwd)
    name, said = Path(command[0]).name, " ".join((result.stderr or result.stdout).strip().splitlines()[-5:])
    if result.returncode not in allowed:
        raise JudgeFailed(f"{name} exited with {result.returncode}: {said}")
    try:
        return json.loads(result.stdout)
    except ValueError as error:
        raise JudgeFailed(f"{name} gave no JSON: {said or 'nothing at all'}") from error
