"""The screen as text and as JSON. Pure."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from ops.preview_text import BOLD, DIM, YELLOW, Paint
from ops.status.sections import Deployed, Section, State

MARKS = {State.UNHEALTHY: "!!", State.UNREAD: "??", State.OK: "ok", State.ABSENT: "--"}
STYLES = {State.UNHEALTHY: YELLOW, State.UNREAD: YELLOW, State.OK: "", State.ABSENT: DIM}


def as_text(deployed: Deployed, sections: Sequence[Section], *, colour: bool) -> str:
    """One line for each thing, with its mark; a section's title stands before its first."""
    paint = Paint(colour)
    width = max((len(section.title) for section in sections), default=0)
    lines = [paint(BOLD, headline(deployed, sections))]
    for section in sections:
        for place, line in enumerate(section.lines):
            title = f"{section.title if place == 0 else '':<{width}}"
            lines.append(f"{title}  {paint(STYLES[line.state], f'{MARKS[line.state]} {line.text}')}")
    return "\n".join(lines)


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
