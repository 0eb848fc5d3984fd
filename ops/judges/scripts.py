"""Asks shellcheck about the boot scripts as nodes get them: https://www.shellcheck.net."""

import base64
from collections.abc import Mapping

from ops.boot_files import shell_texts
from ops.capture.recording import RecordedResource, Recording
from ops.judges.environment import JudgeFailed, ask, beside_python
from ops.judges.findings import Finding, of_resource

JUDGE = "shellcheck"
LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


def script_findings(recordings: Mapping[str, Recording]) -> list[Finding]:
    """Complaints about the rendered user data of every launch template, and about the scripts packed in it.

    Raises JudgeMissing or JudgeFailed.
    """
    program = beside_python("shellcheck")
    found: list[Finding] = []
    for text, (template, path) in _scripts(recordings).items():
        for item in ask([program, "--format", "json", "--shell", "bash", "-"], allowed=(0, 1), stdin=text):
            # The line itself is not shown: it may hold a secret, and the log of a pipeline keeps what is printed.
            place = f"line {item['line']} of {path}"
            found.append(of_resource(JUDGE, f"SC{item['code']}", template, f"{place}: {item['message']}"))
    return found


def _scripts(recordings: Mapping[str, Recording]) -> dict[str, tuple[RecordedResource, str]]:
    """Every script with a template that has it, and its path there; templates share most."""
    scripts: dict[str, tuple[RecordedResource, str]] = {}
    for recording in recordings.values():
        for template in recording.of_type(LAUNCH_TEMPLATE):
            for path, script in _of_template(template).items():
                scripts.setdefault(script, (template, path))
    return scripts


def _of_template(template: RecordedResource) -> dict[str, str]:
    user_data = base64.b64decode(str(template.inputs.get("userData") or "")).decode()
    try:
        return shell_texts(user_data)
    except ValueError as error:
        raise JudgeFailed(f"{template.name}: {error}") from error
