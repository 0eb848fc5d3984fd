"""One check: what it looks at, which permissions it takes, and how its failures are told."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ops.aws_calls import AwsCallError, is_denied, refusal
from ops.preflight.account import Account, UnansweredError
from ops.preflight.findings import Finding, Status


@dataclass(frozen=True, kw_only=True)
class Check:
    """`actions` are the IAM actions that `ask` needs, on `resources`."""

    what: str
    ask: Callable[[Account], Iterable[Finding]]
    actions: tuple[str, ...]
    resources: tuple[str, ...] = ("*",)


def run_check(check: Check, account: Account) -> list[Finding]:
    """What the check found. Whatever AWS refuses or leaves out is a finding of its own, never a pass."""
    from botocore.exceptions import BotoCoreError, ClientError

    findings: list[Finding] = []
    try:
        # What was found before a refusal stands.
        for finding in check.ask(account):
            findings.append(finding)
    except ClientError as error:
        findings.append(_refused(check, error))
    except (AwsCallError, BotoCoreError, UnansweredError) as error:
        findings.append(_unchecked(check.what, "no answer", f"{' '.join(str(error).split()).rstrip('.')}."))
    except KeyError as error:
        findings.append(_unchecked(check.what, "no answer", f"AWS's answer has no {error.args[0]}."))
    return findings


def _refused(check: Check, error: Any) -> Finding:
    if not is_denied(error):
        return _unchecked(check.what, "refused", f"AWS refused {error.operation_name}: {refusal(error)}")
    action = _action(check, error.operation_name)
    return Finding(
        status=Status.UNCHECKED,
        what=check.what,
        needed=f"permission {action}",
        found="access denied",
        detail=refusal(error),
        fix=f"allow {action}; `python -m ops preflight --policy` prints a policy with all that is needed",
    )


def _action(check: Check, operation: str) -> str:
    """The check's own action for an operation; IAM names actions after operations."""
    return next((action for action in check.actions if action.endswith(f":{operation}")), operation)


def _unchecked(what: str, found: str, detail: str) -> Finding:
    return Finding(status=Status.UNCHECKED, what=what, needed="an answer", found=found, detail=detail)
