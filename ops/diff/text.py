"""The report for a terminal. Pure."""

import textwrap
from collections.abc import Iterator, Mapping

from ops.diff.comparison import Comparison
from ops.diff.sections import headline, sections
from ops.diff.values import printable

Outcome = Comparison | str


def text(title: str, outcomes: Mapping[str, Outcome], width: int | None) -> str:
    """Every stack under its headline; lines are wrapped at `width`, or never."""
    lines = [title]
    for stack, outcome in outcomes.items():
        if isinstance(outcome, str):
            lines += ["", f"{stack}: {outcome}"]
        else:
            lines += ["", *_stack(stack, outcome)]
    return "\n".join(part for line in "\n".join(lines).split("\n") for part in _wrapped(line, width))


def _stack(stack: str, item: Comparison) -> Iterator[str]:
    yield f"{stack}: {headline(item)}"
    for section in sections(item):
        yield ""
        yield f"{'!! ' if section.loud else ''}{section.title}"
        yield from (f"{'!! ' if section.loud else '  '}{printable(''.join(line))}" for line in section.lines)
    if item.picture:
        yield ""
        yield f"Picture (python -m ops diagram --stack {stack})"
        yield from (f"  + {line}" for line in item.picture.new)
        yield from (f"  - {line}" for line in item.picture.gone)


def _wrapped(line: str, width: int | None) -> list[str]:
    if width is None or len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
