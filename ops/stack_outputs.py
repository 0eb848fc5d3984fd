"""What a deployed stack has told Pulumi about itself, read through the Pulumi command line."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.config_sections import NAMESPACE
from ops.capture.stack_files import load_stack_config

PROJECT_ROOT = Path(__file__).resolve().parents[1]
TIMEOUT_SECONDS = 120


class StackOutputsError(Exception):
    """The outputs cannot be read, or one is not there; the message says why and what to do."""


@dataclass(frozen=True)
class StackOutputs:
    """The outputs of one stack. A secret one is not shown by Pulumi and reads `[secret]`."""

    stack: str
    values: Mapping[str, Any]

    def text(self, name: str) -> str:
        """One output that is a text. StackOutputsError when the stack does not have it."""
        value = self.values.get(name)
        if isinstance(value, str) and value:
            return value
        known = ", ".join(sorted(self.values)) or "none"
        raise StackOutputsError(
            f"Stack {self.stack} has no output {name} (it has: {known}). "
            "Fix: switch on what it belongs to, such as ingestion, and run `pulumi up`."
        )


def stack_outputs(stack: str, root: Path = PROJECT_ROOT, *, instead: str = "") -> StackOutputs:
    """The outputs of `stack`. StackOutputsError tells of a missing command line, stack or deployment.

    `instead` is what the caller's user may do without Pulumi, as in `name the bucket with --bucket`.
    """
    command = ["pulumi", "stack", "output", "--json", "--non-interactive", "--stack", stack]
    environment = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true", "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
        )
    except FileNotFoundError:
        fix = f"install it, or {instead}" if instead else "install it"
        raise StackOutputsError(
            f"The Pulumi command line is not installed or not on the PATH. Fix: {fix}."
        ) from None
    except subprocess.TimeoutExpired:
        raise StackOutputsError(
            f"`{' '.join(command)}` did not end within {TIMEOUT_SECONDS} seconds. Fix: check that the backend of the state can be reached."
        ) from None
    if done.returncode != 0:
        raise StackOutputsError(f"The outputs of stack {stack} cannot be read: {_reason(done.stderr)}")
    return StackOutputs(stack, _parsed(stack, done.stdout))


def stack_region(stack: str, root: Path = PROJECT_ROOT) -> str:
    """The region that the stack's file names. Raises StackFileError when there is no such file.

    A stack may be named with its organisation and project, as in `acme/ai-platform/dev`.
    """
    return load_stack_config(root, stack.rpartition("/")[2]).values.get(f"{NAMESPACE}:region", "")


def _parsed(stack: str, text: str) -> Mapping[str, Any]:
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise StackOutputsError(f"Pulumi's answer about stack {stack} is no JSON object.")
    if not values:
        raise StackOutputsError(f"Stack {stack} has no outputs: it was never deployed. Fix: run `pulumi up`.")
    return values


def _reason(stderr: str) -> str:
    """The first error that the command line wrote; its other lines are advice and warnings."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return next(iter([*errors, *lines]), "Pulumi gave no reason.")
