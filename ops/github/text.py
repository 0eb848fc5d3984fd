"""Texts for comments, issues and job summaries, within GitHub's limits. Pure."""

import re

# A comment or an issue takes 65,536 characters, a step's summary 1 MiB
# (https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#step-isolation-and-limits).
LONGEST_BODY = 65_000
LONGEST_SUMMARY_BYTES = 1_000_000
CUT = "\n\n(The rest is cut off here; the log of the run has it.)\n"


def marker(about: str) -> str:
    """What tells our own comment or issue from others: unseen by readers, first in its text."""
    return f"<!-- ai-platform: {about} -->"


def fenced(text: str, language: str = "text") -> str:
    """A block that shows `text` as it is: the fence is longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def cut(text: str, characters: int = LONGEST_BODY) -> str:
    """At most so many characters; a text that is cut says so."""
    return text if len(text) <= characters else text[: characters - len(CUT)] + CUT
