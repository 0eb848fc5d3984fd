"""Asks checkov about every stack, by the plan that Terraform would show: https://www.checkov.io."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ops.capture.recording import Recording
from ops.judges.environment import JudgeFailed, ask, isolated
from ops.judges.findings import Finding, of_resource
from ops.judges.plan import plan, resources_by_address

JUDGE = "checkov"


def checkov_findings(recordings: Mapping[str, Recording]) -> list[Finding]:
    """Failed checks of all stacks in one run, which takes seconds to begin. Raises JudgeMissing or JudgeFailed."""
    program = isolated("checkov")
    try:
        resources = {stack: resources_by_address(recording) for stack, recording in recordings.items()}
    except LookupError as error:
        raise JudgeFailed(str(error)) from error
    with tempfile.TemporaryDirectory() as folder:
        for stack, recording in recordings.items():
            Path(folder, f"{stack}.json").write_text(json.dumps(plan(recording)), encoding="utf-8")
        # Without the download it keeps to what is installed; a failed check is an exit code of 1.
        report = ask(
            [program, "--directory", folder, "--framework", "terraform_plan", "--skip-download", "--quiet",
             "--compact", "--output", "json"],
            allowed=(0, 1),
        )  # fmt: skip
    if not isinstance(report, dict) or "summary" not in report:
        # It then tells in another form that there was nothing to check.
        raise JudgeFailed("checkov found nothing to check in the plans.")
    expected = sum(map(len, resources.values()))
    seen = report["summary"]["resource_count"]
    if report["summary"]["parsing_errors"] or seen != expected:
        raise JudgeFailed(f"checkov read {seen} resources of {expected}: it did not understand the plan.")
    found = {
        of_resource(
            JUDGE,
            check["check_id"],
            resources[Path(check["file_path"]).stem][check["resource"]],
            f"{check['check_name'].rstrip('.')}.",
        )
        for check in report["results"]["failed_checks"]
    }
    return sorted(found)
