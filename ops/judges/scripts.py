"""Asks shellcheck about the boot scripts as nodes get them: https://www.shellcheck.net."""

import base64
import email
from collections.abc import Iterator, Mapping

from ops.capture.recording import RecordedResource, Recording
from ops.judges.environment import ask, beside_python
from ops.judges.findings import Finding, of_resource

JUDGE = "shellcheck"
LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


def script_findings(recordings: Mapping[str, Recording]) -> list[Finding]:
    """Complaints about the rendered user data of every launch template. Raises JudgeMissing or JudgeFailed."""
    program = beside_python("shellcheck")
    found: list[Finding] = []
    for text, template in _scripts(recordings).items():
        found += [
            of_resource(JUDGE, f"SC{item['code']}", template, f"line {item['line']}: {item['message']}")
            for item in ask([program, "--format", "json", "--shell", "bash", "-"], allowed=(0, 1), stdin=text)
        ]
    return found


def _scripts(recordings: Mapping[str, Recording]) -> dict[str, RecordedResource]:
    """Every script with a template that has it; templates share some."""
    return {
        script: template
        for recording in recordings.values()
        for template in recording.of_type(LAUNCH_TEMPLATE)
        for script in scripts_in(str(template.inputs.get("userData") or ""))
    }


def scripts_in(user_data: str) -> Iterator[str]:
    """The shell scripts of one base64 text: the text itself, or the parts of one with several (as Batch wants it)."""
    text = base64.b64decode(user_data).decode()
    if text.startswith("#!"):
        yield text
        return
    for part in email.message_from_string(text).walk():
        if part.get_content_type() == "text/x-shellscript":
            yield str(part.get_payload())
