"""Files for a node as text that fits into user data. Pure."""

import ast
import base64
import bz2
import json
from collections.abc import Mapping
from pathlib import Path

NODE_FOLDER = Path(__file__).resolve().parent.parent / "gpu_node"
WATCHER_FOLDER = NODE_FOLDER / "watcher"
AGENT_FOLDER = NODE_FOLDER / "agent"
LINE_CHARACTERS = 100

COMMON_FILES = (
    "__init__.py",
    "__main__.py",
    "announcer.py",
    "handling.py",
    "interruption-watcher.service",
    "interruption.py",
    "metadata.py",
    "settings.py",
)
# What the watcher tells: the containers of a node of ECS or AWS Batch, or processes of an interactive node.
WATCHER_FILES = {
    "containers": (*COMMON_FILES, "containers.py"),
    "processes": (*COMMON_FILES, "interruption-run", "node_end.py", "processes.py"),
}
AGENT_FILES = ("agent.json", "configure.py", "install.sh", "node-agent.service")


def archive(texts: Mapping[str, str]) -> str:
    """The texts as lines of base 85: a JSON object by path, compressed with bzip2. gpu_node/boot/unpack.sh reads it.

    The same texts give the same lines on every machine. That is why it is no gzip: implementations of zlib compress
    differently, and a person's laptop would then decide whether nodes need a new launch template.
    """
    packed = base64.b85encode(bz2.compress(json.dumps(dict(texts)).encode())).decode()
    starts = range(0, len(packed), LINE_CHARACTERS)
    return "".join(f"{packed[start : start + LINE_CHARACTERS]}\n" for start in starts)


def watcher_texts(target: str) -> dict[str, str]:
    """The files of the interruption watcher that a node of this kind needs, by path."""
    return {f"watcher/{name}": _carried(WATCHER_FOLDER / name) for name in WATCHER_FILES[target]}


def agent_texts() -> dict[str, str]:
    """The files with which a node sets up its CloudWatch agent, by path."""
    return {f"agent/{name}": _carried(AGENT_FOLDER / name) for name in AGENT_FILES}


def without_comments(source: str) -> str:
    """Python source without docstrings, lines of comment and empty lines: user data is short of room."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        # A body needs something: a docstring that is all of it stays.
        if documented and ast.get_docstring(node) is not None and len(node.body) > 1:
            docstring = node.body[0]
            lines |= set(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    kept = [line for number, line in enumerate(source.splitlines(), 1) if number not in lines]
    return "".join(f"{line}\n" for line in kept if line.strip() and not line.lstrip().startswith("#"))


def without_comment_lines(source: str) -> str:
    """A script of bash or a unit of systemd without lines of comment, the first line of a script excepted."""
    lines = source.splitlines(keepends=True)
    return "".join(line for line in lines if line.startswith("#!") or not line.lstrip().startswith("#"))


def _carried(path: Path) -> str:
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return without_comments(source)
    if path.suffix == ".json":
        return json.dumps(json.loads(source), separators=(",", ":"))
    return without_comment_lines(source)
