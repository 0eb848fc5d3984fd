"""Findings as text for people and as JSON for machines."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from ops.preflight.findings import Finding, Status
from ops.preflight.stack import Stack

TITLES = {
    Status.FAILED: "FAILED",
    Status.UNCHECKED: "NOT CHECKED",
    Status.WARNING: "WARNING",
    Status.PASSED: "passed",
}


def as_text(stack: Stack, account_id: str, findings: Sequence[Finding]) -> str:
    """A line for each finding; what is not a pass tells why and how to mend it."""
    lines = [line for finding in findings for line in _lines(finding, stack.region)]
    return "\n".join([_headline(stack, account_id, findings), "", *lines])


def _headline(stack: Stack, account_id: str, findings: Sequence[Finding]) -> str:
    counts = Counter(finding.status for finding in findings)
    told = ", ".join(f"{counts[status]} {title.lower()}" for status, title in TITLES.items())
    return f"{stack.recording.project}, stack {stack.name}, account {account_id} in {stack.region}: {told}"


def _lines(finding: Finding, region: str) -> Iterator[str]:
    limit = f" (quota {finding.quota} in {region})" if finding.quota else ""
    if finding.status is Status.PASSED:
        needed = f", need {finding.needed}" if limit else ""
        yield f"{TITLES[finding.status]} {finding.what}: have {finding.found}{needed}"
        return
    yield f"{TITLES[finding.status]} {finding.what}: need {finding.needed}, have {finding.found}{limit}"
    if finding.detail:
        yield f"    {finding.detail}"
    if finding.fix:
        yield f"    Fix: {finding.fix}"


def as_json(stack: Stack, account_id: str, findings: Sequence[Finding]) -> str:
    """One document; the findings have the order of the text."""
    counts = Counter(finding.status for finding in findings)
    document = {
        "project": stack.recording.project,
        "stack": stack.name,
        "region": stack.region,
        "account": account_id,
        "counts": {status: counts[status] for status in Status},
        "findings": [asdict(finding) for finding in findings],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)
