"""Runs of preflight against an account in memory, for several test files."""

import functools
import json
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from ops.capture.program import record
from ops.preflight.account import Account
from ops.preflight.command import all_checks, ask_all
from ops.preflight.findings import Finding, Status
from ops.preflight.stack import Stack
from recordings import recorded
from tests.ops.preflight_account import FakeAccount


def stack_of(name: str) -> Stack:
    """A stack with its own file."""
    return Stack(recorded(name))


def stack_with(stack: str, changes: Mapping[str, Any]) -> Stack:
    """A stack with other configuration, recorded once for all tests."""
    return _recorded_with(stack, json.dumps(changes))


@functools.cache
def _recorded_with(stack: str, changes: str) -> Stack:
    return Stack(record(stack, changes=json.loads(changes)))


def findings_of(stack: Stack, account: FakeAccount, *areas: ModuleType, action: str = "") -> list[Finding]:
    """The findings of all areas or of some, of all checks or of those that take an action."""
    checks = [check for area in areas for check in area.checks(stack)] if areas else all_checks(stack)
    wanted = [check for check in checks if not action or action in check.actions]
    return ask_all(wanted, Account(stack.region, make_client=account.client))


def about(findings: list[Finding], words: str) -> Finding:
    """The only finding whose subject has these words."""
    found = [finding for finding in findings if words in finding.what]
    assert len(found) == 1, f"{words}: {[finding.what for finding in findings]}"
    return found[0]


def not_passed(findings: list[Finding]) -> list[str]:
    return [finding.what for finding in findings if finding.status is not Status.PASSED]
