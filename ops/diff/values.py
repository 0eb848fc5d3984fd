"""How two values are told: each on one line and short, texts of many lines by the lines that differ. Pure."""

import difflib
import os.path
from collections.abc import Mapping, Sequence
from typing import Any

from ops.diff.matching import with_texts
from ops.preview_clauses import shorten, shown

NOT_SET = "(not set)"
LONGEST_SHOWN = 80
# Of a text on one line that is longer only its length is shown.
LONG_TEXT = 400
# Of a text of several lines: so many of those that differ, and of each so many characters.
SHOWN_LINES = 5
LONGEST_LINE = 160

# What made-up names and ids are shown by, as `ops.diff.matching.names_in` tells it.
Names = Mapping[str, str]


def told(old: Any, new: Any, names: tuple[Names, Names]) -> tuple[str, str]:
    """Words for both; None is a value that is not set. They differ, whatever was left out of them."""
    texts = [None if value is None else shown(value) for value in (old, new)]
    if any("\n" in (text or "") for text in texts):
        words = _lines_told(texts, names)
    else:
        words = _shortened(
            [
                NOT_SET if text is None else with_texts(text, known)
                for text, known in zip(texts, names, strict=True)
            ]
        )
    words = [one_line(text) or '""' for text in words]
    return words[0], words[1] if words[0] != words[1] else f"another {words[1].removeprefix('a ')}"


def one_line(text: str) -> str:
    """`text` without line breaks, and with nothing that a terminal would obey."""
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    """`text`, in which what cannot be seen is written out: a value must not end its line or paint the terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _shortened(texts: list[str]) -> list[str]:
    """Long values from where they differ, and very long ones by their length."""
    if any(len(text) > LONG_TEXT for text in texts) and NOT_SET not in texts:
        return [f"a text of {len(text):,} characters" for text in texts]
    return _where_they_differ(texts, LONGEST_SHOWN)


def _where_they_differ(texts: list[str], longest: int) -> list[str]:
    """Both whole, or from a little before the first difference."""
    if all(len(text) <= longest for text in texts):
        return texts
    start = max(0, len(os.path.commonprefix(texts)) - longest // 4)
    return [f"{'…' if start else ''}{shorten(text[start:], longest)}" for text in texts]


def _lines_told(texts: Sequence[str | None], names: tuple[Names, Names]) -> list[str]:
    """The lines that only one of the two has; what stands in both is left out."""
    old, new = [[] if text is None else text.split("\n") for text in texts]
    only: tuple[list[str], list[str]] = [], []
    for kind, *places in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            only[0].extend(old[places[0] : places[1]])
            only[1].extend(new[places[2] : places[3]])
    lines = [[with_texts(line, known) for line in found] for found, known in zip(only, names, strict=True)]
    if all(len(found) == 1 for found in lines):
        lines = [[line] for line in _where_they_differ([found[0] for found in lines], LONGEST_LINE)]
    return [NOT_SET if text is None else _listed(found) for text, found in zip(texts, lines, strict=True)]


def _listed(lines: Sequence[str]) -> str:
    if not lines:
        return "no line"
    shown_lines = [_cut(line) or '""' for line in lines[:SHOWN_LINES]]
    left_out = len(lines) - SHOWN_LINES
    more = [f"and {left_out:,} more"] if left_out > 0 else []
    return f"{len(lines):,} line{'s' * (len(lines) != 1)}: {' ⏎ '.join([*shown_lines, *more])}"


def _cut(line: str) -> str:
    """A long line says how long it is: what stands at its end may be what matters."""
    line = " ".join(line.split())
    return line if len(line) <= LONGEST_LINE + 2 else f"{line[:LONGEST_LINE]}… ({len(line):,} characters)"
