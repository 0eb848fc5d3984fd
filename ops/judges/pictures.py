"""Asks mermaid's own parser about the pictures: those of the recordings, and those on every page."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from ops.capture.program import PROJECT_ROOT
from ops.capture.recording import Recording
from ops.diagram.command import PICTURES
from ops.judges.environment import NODE_FOLDER, ask, node
from ops.judges.findings import Finding

JUDGE = "mermaid"
PARSER = Path(__file__).parent / "node" / "parse.mjs"
FENCED = re.compile(r"```mermaid\n(.*?)```", flags=re.DOTALL)
# GitHub draws no picture beyond these: mermaid's `maxTextSize` and `maxEdges`,
# https://mermaid.js.org/config/schema-docs/config.html
MOST_CHARACTERS, MOST_EDGES = 50_000, 500


def picture_findings(recordings: Mapping[str, Recording], root: Path = PROJECT_ROOT) -> list[Finding]:
    """Pictures that mermaid cannot parse, or would not draw. Raises JudgeMissing or JudgeFailed."""
    charts = {
        f"{stack}: {kind}": draw(recording)
        for stack, recording in recordings.items()
        for kind, draw in PICTURES.items()
    }
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        for number, text in enumerate(FENCED.findall(page.read_text(encoding="utf-8")), start=1):
            charts[f"{page.relative_to(root)}: picture {number}"] = text
    return [*syntax_findings(charts), *_too_large(charts)]


def syntax_findings(charts: Mapping[str, str]) -> list[Finding]:
    """What mermaid says about the texts that it cannot parse, by their names."""
    answer = ask([node(), PARSER], allowed=(0,), stdin=json.dumps(charts), cwd=NODE_FOLDER)
    return [
        Finding(judge=JUDGE, rule="syntax", subject=name, message=" ".join(complaint.split()))
        for name, complaint in answer.items()
    ]


def _too_large(charts: Mapping[str, str]) -> list[Finding]:
    found: list[Finding] = []
    for name, text in charts.items():
        edges = len(re.findall(r"-->|\.->", text))
        if len(text) > MOST_CHARACTERS or edges > MOST_EDGES:
            message = f"{len(text)} characters and {edges} arrows; mermaid draws {MOST_CHARACTERS} and {MOST_EDGES}."
            found.append(Finding(judge=JUDGE, rule="too-large", subject=name, message=message))
    return found
