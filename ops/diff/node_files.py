"""What changes inside of a node's user data: the scripts and files that travel packed in it. Pure."""

import base64
import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from ops.boot_files import ARCHIVE, packed_files, scripts_in
from ops.diff.matching import with_texts

# Changed lines of one file beyond these are counted.
SHOWN_LINES = 3


def node_files(value: Any, names: Mapping[str, str]) -> dict[str, str]:
    """The texts of a user data value by path, with names for made-up ids; what carries them is `script`.

    Empty for a value that carries no files.
    """
    try:
        text = base64.b64decode(value, validate=True).decode()
        packed = packed_files(text)
    except (TypeError, ValueError):
        return {}
    carrying = "\n".join(ARCHIVE.sub("", script) for script in scripts_in(text))
    texts = {**packed, "script": carrying} if packed else {}
    return {path: with_texts(content, names) for path, content in texts.items()}


def changed_lines(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Path, lines gone and lines new of each file that differs; beyond a few they are counted."""
    for path in sorted(before.keys() | after.keys()):
        old, new = (side.get(path, "").splitlines() for side in (before, after))
        # The first two lines name the files.
        lines = list(difflib.unified_diff(old, new, lineterm="", n=0))[2:]
        if lines:
            yield path, _joined(lines, "-"), _joined(lines, "+")


def _joined(lines: list[str], sign: str) -> str:
    found = [line[1:].strip() for line in lines if line[0] == sign]
    rest = len(found) - SHOWN_LINES
    return " / ".join(found[:SHOWN_LINES]) + (f" and {rest} more lines" if rest > 0 else "")
