"""The IAM policy that the checks of a stack take: reading only."""

from collections.abc import Iterable
from typing import Any

from ops.preflight.checks import Check


def minimal_policy(checks: Iterable[Check]) -> dict[str, Any]:
    """One statement for the actions on each set of resources, sorted. sts:GetCallerIdentity needs no permission."""
    resources: dict[str, set[str]] = {}
    for check in checks:
        for action in check.actions:
            resources.setdefault(action, set()).update(check.resources)
    together: dict[tuple[str, ...], list[str]] = {}
    for action in sorted(resources):
        together.setdefault(tuple(sorted(resources[action])), []).append(action)
    statements = [
        {"Effect": "Allow", "Action": actions, "Resource": list(arns)}
        for arns, actions in sorted(together.items())
    ]
    return {"Version": "2012-10-17", "Statement": statements}
