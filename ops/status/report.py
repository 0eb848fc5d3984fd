"""The screen as text and as JSON. Pure."""

import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict

from ops.preview_text import BOLD, DIM, YELLOW, Paint
from ops.status.sections import Deployed, Section, State

MARKS = {State.UNHEALTHY: "!!", State.UNREAD: "??", State.OK: "ok", State.ABSENT: "--"}
STYLES = {State.UNHEALTHY: YELLOW, State.UNREAD: YELLOW, State.OK: "", State.ABSENT: DIM}

# Between a title and a text: two blanks, the mark, a blank.
MARGIN = 5
LEAST_COLUMNS = 30


def as_text(
    deployed: Deployed, sections: Sequence[Section], *, colour: bool, columns: int | None = None
) -> str:
    """One line for each thing, with its mark; a section's title stands before its first.

    What is longer than `columns` goes on below, under its own text.
    """
    paint = Paint(colour)
    width = max((len(section.title) for section in sections), default=0)
    lines = [paint(BOLD, part) for part in _folded(headline(deployed, sections), columns)]
    room = None if columns is None else columns - width - MARGIN
    for section in sections:
        titles = [section.title]
        for line in section.lines:
            marks = [MARKS[line.state]]
            for part in _folded(line.text, room):
                title, mark = (some.pop() if some else "" for some in (titles, marks))
                lines.append(f"{title:<{width}}  {paint(STYLES[line.state], f'{mark:<2} {part}')}")
    return "\n".join(lines)


def _folded(text: str, columns: int | None) -> list[str]:
    """Names and commands are not broken: they could not be copied."""
    if columns is None:
        return [text]
    narrowest = max(columns, LEAST_COLUMNS)
    return textwrap.wrap(text, narrowest, break_long_words=False, break_on_hyphens=False)


def headline(deployed: Deployed, sections: Sequence[Section]) -> str:
    """What to look at first."""
    by_state = {state: [each.title for each in sections if each.state is state] for state in State}
    parts = [
        f"{state}: {', '.join(by_state[state])}"
        for state in (State.UNHEALTHY, State.UNREAD)
        if by_state[state]
    ]
    place, at = deployed.account.region, f"{deployed.now:%Y-%m-%d %H:%M:%S}"
    return f"{deployed.project}, stack {deployed.outputs.stack} in {place}, {at} UTC: {'; '.join(parts) or 'all is well'}"


def as_json(deployed: Deployed, sections: Sequence[Section]) -> str:
    """One document, in the order of the text."""
    document = {
        "project": deployed.project,
        "stack": deployed.outputs.stack,
        "region": deployed.account.region,
        "at": deployed.now.isoformat(),
        "healthy": is_well(sections),
        "sections": [
            {"title": each.title, "state": each.state, "lines": [asdict(line) for line in each.lines]}
            for each in sections
        ],
    }
    return json.dumps(document, indent=2, default=str)


def is_well(sections: Sequence[Section]) -> bool:
    """Whether nothing is unhealthy and everything could be read."""
    return all(section.state in (State.OK, State.ABSENT) for section in sections)
