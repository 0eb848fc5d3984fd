"""Help comes at once: nothing that takes long to import is imported for it."""

import subprocess
import sys

import pytest

from ops.__main__ import VERBS
from ops.capture.program import PROJECT_ROOT

SLOW = ("boto3", "botocore", "pulumi", "pulumi_aws", "pulumi_awsx", "google", "grpc")
# Runs the command line, and then tells what of that was imported.
PROBE = f"""
import contextlib, io, sys
from ops.__main__ import main
with contextlib.redirect_stdout(io.StringIO()) as told:
    try:
        main(sys.argv[1:])
    except SystemExit as stopped:
        code = stopped.code
print(code, len(told.getvalue()) > 100, *sorted(set({SLOW!r}) & set(sys.modules)))
"""


def imported(*arguments: str) -> str:
    """Exit code, whether there was a help, and which slow packages it took."""
    command = [sys.executable, "-c", PROBE, *arguments]
    done = subprocess.run(command, cwd=PROJECT_ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.parametrize("verb", ["", *sorted(VERBS)])
def test_help_imports_neither_the_sdk_of_aws_nor_that_of_pulumi(verb: str) -> None:
    assert imported(*filter(None, [verb]), "--help") == "0 True", (
        "whoever only reads the help waits for what it does not need"
    )


def test_the_probe_sees_what_is_imported() -> None:
    told = subprocess.run(
        [sys.executable, "-c", PROBE.replace("from ops", "import boto3, pulumi\nfrom ops", 1), "--help"],
        cwd=PROJECT_ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "boto3" in told
    assert "pulumi" in told
