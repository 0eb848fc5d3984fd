"""What a check found, what it needed, and the command that mends the difference."""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How a check ended, the most urgent first. What could not be checked is never a pass."""

    FAILED = "failed"
    UNCHECKED = "unchecked"
    WARNING = "warning"
    PASSED = "passed"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing of the account.

    `quota` is the service and code of a limit, as in `ec2 L-3819A6DF`. `fix` is a command, or what to allow.
    """

    status: Status
    what: str
    needed: str
    found: str
    quota: str = ""
    detail: str = ""
    fix: str = ""


def judged(
    good: bool,
    what: str,
    *,
    needed: str,
    found: str,
    quota: str = "",
    detail: str = "",
    fix: str = "",
    otherwise: Status = Status.FAILED,
) -> Finding:
    """A pass, which needs no fix, or else `otherwise`."""
    if good:
        return Finding(
            status=Status.PASSED, what=what, needed=needed, found=found, quota=quota, detail=detail
        )
    return Finding(
        status=otherwise, what=what, needed=needed, found=found, quota=quota, detail=detail, fix=fix
    )


def in_order(findings: list[Finding]) -> list[Finding]:
    """Failures first, then what could not be checked, warnings and passes, each in the order of the checks."""
    ranks = list(Status)
    return sorted(findings, key=lambda finding: ranks.index(finding.status))


def amount(value: float) -> str:
    """A number without a needless `.0`."""
    return str(int(value)) if float(value).is_integer() else str(value)
