"""What a rule is, and what it finds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from ops.capture.recording import RecordedResource
from policies.view import View


class Severity(StrEnum):
    """An error stops a pipeline; a warning only tells."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What a check found at a resource: `what` continues a sentence that begins with the resource's name."""

    resource: RecordedResource
    what: str
    fix: str = ""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule in words: what holds where it is kept, what harm comes where not, and what to do then."""

    id: str
    severity: Severity
    promise: str
    harm: str
    fix: str


@dataclass(frozen=True, kw_only=True)
class RecordingRule(Rule):
    """A rule that one recording can break. A value that only AWS can tell breaks none."""

    check: Callable[[View], Iterator[Fault]]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A broken rule at a resource. `message` names the fault and its harm; `name` is the program's for the resource."""

    rule: str
    severity: Severity
    urn: str
    name: str
    message: str
    fix: str


def finding(rule: Rule, fault: Fault) -> Finding:
    """The fault in the rule's words; a fix of the fault's own is more exact than the rule's."""
    return Finding(
        rule=rule.id,
        severity=rule.severity,
        urn=fault.resource.urn,
        name=fault.resource.name,
        message=f"{fault.resource.name} {fault.what}: {rule.harm}",
        fix=fault.fix or rule.fix,
    )
