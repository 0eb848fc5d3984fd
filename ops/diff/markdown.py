"""The report as Markdown for a pull request, within the length of a comment. Pure."""

import re
from collections.abc import Iterator, Mapping

from ops.diff.comparison import Comparison
from ops.diff.picture import Picture
from ops.diff.sections import Code, Line, Section, headline, sections
from ops.diff.text import Outcome
from ops.github.text import LONGEST_BODY, cut, fenced

# How many lines of a section are shown, tried until the report fits; then it goes without pictures, too.
LINE_LIMITS = (1000, 300, 100, 40, 15, 5, 0)
# Room for what a workflow puts around the report.
RESERVE = 1000
# More lines than these are folded away.
OPEN_LINES = 8
SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&])")
# GitHub looks for people and issues after all escapes are taken away, so that something must stand in between.
REFERS = re.compile(r"([@#])")
NO_SPACE = "&#8203;"


def markdown(title: str, outcomes: Mapping[str, Outcome], command: str) -> str:
    """The report with at most as many characters as a comment takes; what is left out is told with its command."""
    longest = LONGEST_BODY - RESERVE
    for limit in LINE_LIMITS:
        for pictures in (True, False):
            text = _rendered(title, outcomes, command, limit, pictures)
            if len(text) <= longest:
                return text
    # What is fenced comes first, so that the end is not cut off inside of a fence.
    first = dict(sorted(outcomes.items(), key=lambda item: not isinstance(item[1], str)))
    text = _rendered(title, first, command, LINE_LIMITS[-1], False)
    rest = f"\n\nThe rest is left out, since a comment takes no more: {code(command)}\n"
    return text[: longest - len(rest)] + rest


def code(text: str) -> str:
    """`text` as it is: the fence is longer than any run of backticks in it."""
    line = " ".join(text.split()) or '""'
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def escaped(text: str) -> str:
    """`text` without a meaning for Markdown; neither an at sign nor a number sign refers to anything."""
    return REFERS.sub(rf"\1{NO_SPACE}", SPECIAL.sub(r"\\\1", " ".join(text.split())))


def _rendered(title: str, outcomes: Mapping[str, Outcome], command: str, limit: int, pictures: bool) -> str:
    lines = ["## Change report", "", escaped(title)]
    # Half of a comment for all failures together, each in a fence of its own.
    longest = LONGEST_BODY // (2 * len(outcomes))
    for stack, outcome in outcomes.items():
        if isinstance(outcome, str):
            lines += ["", f"### Stack {code(stack)}", "", fenced(cut(outcome, longest)).rstrip()]
        else:
            lines += ["", *_stack(stack, outcome, command, limit, pictures)]
    return "\n".join(lines) + "\n"


def _stack(stack: str, item: Comparison, command: str, limit: int, pictures: bool) -> Iterator[str]:
    if item.is_same:
        yield f"Stack {code(stack)}: no change"
        return
    yield f"### Stack {code(stack)}"
    yield ""
    yield escaped(headline(item))
    for section in sections(item):
        yield ""
        yield from _loud(section) if section.loud else _section(section, command, limit)
    if item.picture:
        yield ""
        if pictures:
            yield from _picture(item.picture)
        else:
            yield f"The picture has changed and is left out: {code(f'python -m ops diagram --stack {stack}')}"


def _loud(section: Section) -> Iterator[str]:
    """An alert of GitHub's."""
    yield "> [!CAUTION]"
    yield f"> **{escaped(section.title)}**"
    yield ">"
    yield from (f"> - {_line(line)}" for line in section.lines)


def _section(section: Section, command: str, limit: int) -> Iterator[str]:
    shown = section.lines[:limit]
    left_out = len(section.lines) - len(shown)
    lines = [f"{_indent(line)}- {_line(line)}" for line in shown]
    if left_out:
        lines.append(f"- {left_out} more lines are left out here: {code(command)}")
    if len(lines) <= OPEN_LINES:
        yield from (f"**{escaped(section.title)}**", "", *lines)
    else:
        yield from (
            f"<details><summary><b>{_html(section.title)}</b></summary>",
            "",
            *lines,
            "",
            "</details>",
        )


def _line(line: Line) -> str:
    return "".join(code(part) if isinstance(part, Code) else _plain(part) for part in line if part.strip())


def _plain(part: str) -> str:
    """Escaped, with the blanks at its ends, which part it from its neighbours."""
    return f"{' ' * part.startswith(' ')}{escaped(part)}{' ' * part.endswith(' ')}"


def _indent(line: Line) -> str:
    return "  " if line[0].startswith("    ") else ""


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _picture(picture: Picture) -> Iterator[str]:
    yield "<details><summary><b>The picture: green is new, yellow is changed</b></summary>"
    yield from ("", fenced(picture.chart, "mermaid").rstrip(), "")
    for line in picture.gone:
        yield f"- gone: {code(line)}"
    yield from ("", "</details>")
