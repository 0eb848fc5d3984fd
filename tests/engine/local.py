"""`pulumi preview`, `up` or `destroy` of a stack on this machine, with the stub in place of AWS: to watch and to learn.

A stand-in: it shows what the engine does with the program, not that AWS accepts it. State, made-up account and the
project's copy lie in `.engine/local/`; delete that folder to start anew.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from ops.capture.program import PROJECT_ROOT
from tests.engine.command_line import MISSING, environment, find_pulumi
from tests.engine.project import make_project
from tests.engine.stub.account import Account
from tests.engine.stub.server import serving

FOLDER = PROJECT_ROOT / ".engine" / "local"
ASKING = ("up", "refresh", "destroy")
# Scripted faults, a JSON list with the fields of `Fault`: to watch an `up` fail half-way, and the next one recover.
FAULTS = FOLDER / "faults.json"


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line on this terminal and gives its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.engine.local", description=__doc__)
    parser.add_argument("command", choices=("preview", "up", "refresh", "destroy", "stack"))
    parser.add_argument("--stack", default="dev")
    known, flags = parser.parse_known_args(arguments)
    pulumi = find_pulumi()
    if pulumi is None:
        print(MISSING, file=sys.stderr)
        return 1
    print("No AWS here: a stub answers in its place, and nothing is billed.", file=sys.stderr)
    if known.command in ASKING and not sys.stdin.isatty() and "--yes" not in flags:
        flags.append("--yes")  # nobody is there to answer, and nothing can be lost
    return run(pulumi, known.command, known.stack, flags)


def run(pulumi: Path, command: str, stack: str, flags: list[str]) -> int:
    """One command on one stack, whose account lasts from run to run."""
    project = FOLDER / "project"
    make_project(project)
    account = Account(FOLDER / f"account-{stack}.json")
    if FAULTS.is_file():
        account.faults.load(FAULTS)
    with serving(account) as providers:
        variables = environment(FOLDER, pulumi, providers)
        select = [str(pulumi), "stack", "select", "--create", stack]
        subprocess.run(select, cwd=project, env=variables, check=True, stdout=subprocess.DEVNULL)
        return subprocess.run(
            [str(pulumi), command, "--stack", stack, *flags], cwd=project, env=variables
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
