"""What a judge found, and what of it we accept, each with a reason. Pure besides reading the file of reasons."""

import tomllib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ops.capture.recording import RecordedResource

ACCEPTED = Path(__file__).with_name("accepted.toml")


class AcceptedError(Exception):
    """The file of accepted findings cannot be read; the message names the entry and the fix."""


@dataclass(frozen=True, order=True, kw_only=True)
class Finding:
    """One fault: `rule` is the judge's own name for it, `subject` a resource (`name (type)`) or a file without a stack."""

    judge: str
    rule: str
    subject: str
    message: str
    stack: str = ""


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """Findings that we disagree with; `subject` may hold `*` and `?`. Without `stacks` it holds in all of them."""

    judge: str
    rule: str
    subject: str
    reason: str
    stacks: tuple[str, ...] = ()

    def covers(self, finding: Finding) -> bool:
        same_rule = (self.judge, self.rule) == (finding.judge, finding.rule)
        in_stack = not self.stacks or finding.stack in self.stacks
        return same_rule and in_stack and fnmatchcase(finding.subject, self.subject)


def accepted(path: Path = ACCEPTED) -> tuple[Acceptance, ...]:
    """The entries of the file. Raises AcceptedError for one that lacks a field or a reason."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("accepted", [])
    return tuple(_entry(entry, path) for entry in entries)


def of_resource(judge: str, rule: str, resource: RecordedResource, message: str) -> Finding:
    """A finding about a resource of the stack that its URN names."""
    stack = resource.urn.split(":")[2]
    subject = f"{resource.name} ({resource.type})"
    return Finding(judge=judge, rule=rule, subject=subject, message=message, stack=stack)


def _entry(entry: dict[str, Any], path: Path) -> Acceptance:
    wanted = ("judge", "rule", "subject", "reason")
    missing = [key for key in wanted if not str(entry.get(key, "")).strip()]
    if missing or set(entry) - {*wanted, "stacks"}:
        problem = f"lacks {', '.join(missing)}" if missing else "has a field that nothing reads"
        raise AcceptedError(
            f"{path.name}: the entry {entry} {problem}. Fix: give judge, rule, subject and reason."
        )
    judge, rule, subject, reason = (str(entry[key]) for key in wanted)
    stacks = tuple(entry.get("stacks", ()))
    return Acceptance(judge=judge, rule=rule, subject=subject, reason=reason, stacks=stacks)


def split(
    findings: Iterable[Finding], acceptances: Sequence[Acceptance]
) -> tuple[list[Finding], list[Finding], list[Acceptance]]:
    """The findings that stand, those that are accepted, and the acceptances that nothing needs any more."""
    standing: set[Finding] = set()
    covered: set[Finding] = set()
    used: set[tuple[Acceptance, str]] = set()
    by_rule: dict[tuple[str, str], list[Acceptance]] = {}
    for acceptance in acceptances:
        by_rule.setdefault((acceptance.judge, acceptance.rule), []).append(acceptance)
    for finding in findings:
        matching = [item for item in by_rule.get((finding.judge, finding.rule), []) if item.covers(finding)]
        used.update((item, finding.stack) for item in matching)
        (covered if matching else standing).add(finding)
    return sorted(standing), sorted(covered), list(_unneeded(acceptances, used))


def _unneeded(
    acceptances: Iterable[Acceptance], used: Collection[tuple[Acceptance, str]]
) -> Iterator[Acceptance]:
    """Those that no finding needs; of one that names its stacks, with the stacks where none does."""
    anywhere = {item for item, _ in used}
    for item in acceptances:
        idle = tuple(stack for stack in item.stacks if (item, stack) not in used)
        if idle or item not in anywhere:
            yield replace(item, stacks=idle)
