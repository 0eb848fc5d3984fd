"""Breaks the code in known ways, each alone on a fresh copy, and counts what the tests catch: `make mutants`.

A mutant that survives means that a person could break that line and see green.
"""

import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ops.capture.program import PROJECT_ROOT
from tests.mutant_table import MUTANTS, Mutant

# The libraries of functions, see components/library_bundle.py.
BUNDLES = ".bundles"

# It compares the table with the sources, so every mutant would turn it red for no merit of the suite.
TABLE_TEST = "tests/test_house_rules.py::test_every_known_fault_can_still_be_planted"


@dataclass(frozen=True)
class Verdict:
    """What became of one mutant: the first failing test, or None when every test stayed green."""

    mutant: Mutant
    caught_by: str | None


def source_files() -> list[str]:
    """Files of the project: tracked ones, and new ones that git does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT_ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [name for name in listed.stdout.splitlines() if (PROJECT_ROOT / name).is_file()]


def broken_copy(mutant: Mutant, files: list[str], folder: Path) -> None:
    """Copies the project to `folder` with the mutant's change made; ValueError when its text is not there once."""
    for name in files:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(PROJECT_ROOT / name, target)
    # Downloaded once for all copies.
    (PROJECT_ROOT / BUNDLES).mkdir(exist_ok=True)
    (folder / BUNDLES).symlink_to(PROJECT_ROOT / BUNDLES)
    path = folder / mutant.file
    text = path.read_text(encoding="utf-8")
    if mutant.old not in text:
        raise ValueError(f"{mutant.file} no longer holds {mutant.old!r}: mend the table of mutants")
    path.write_text(text.replace(mutant.old, mutant.new, 1), encoding="utf-8")


def run_tests(folder: Path, selection: list[str]) -> str | None:
    """The first failing line of the tests in `folder`, or None when they pass."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-p",
        "no:cacheprovider",
        "--no-header",
        "--tb=no",
        f"--deselect={TABLE_TEST}",
        *selection,
    ]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
    if run.returncode == 0:
        return None
    failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return (failed or (run.stdout + run.stderr).strip().splitlines() or ["the test runner itself failed"])[0]


def judge(mutant: Mutant, files: list[str]) -> Verdict:
    """Runs the tests nearest to the change first, then all of them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        broken_copy(mutant, files, folder)
        caught = run_tests(folder, list(mutant.near)) if mutant.near else None
        return Verdict(mutant, caught or run_tests(folder, []))


def main() -> int:
    parser = argparse.ArgumentParser(description="Count how many known faults the tests catch.")
    parser.add_argument("--only", default="", help="run only mutants whose sentence holds this text")
    only = parser.parse_args().only
    chosen = [mutant for mutant in MUTANTS if only in mutant.sentence]
    files = source_files()
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        verdicts = list(pool.map(lambda mutant: judge(mutant, files), chosen))
    for verdict in verdicts:
        mark = "caught  " if verdict.caught_by else "SURVIVED"
        print(f"{mark} {verdict.mutant.sentence}\n           {verdict.caught_by or 'no test went red'}")
    caught = sum(verdict.caught_by is not None for verdict in verdicts)
    print(f"{caught} of {len(verdicts)} mutants caught")
    return 0 if caught == len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
