"""What `make` and CI offer: help that can be read, and all that the tests ask for set up before they run."""

import re
import subprocess
from pathlib import Path

import pytest

from benchmarks import judges
from ops.capture.program import PROJECT_ROOT

MAKEFILE = (PROJECT_ROOT / "Makefile").read_text(encoding="utf-8")
PAGE_COMMAND = re.compile(r"python -m ((?:ops|policies)[a-z._]*page)\b")


def test_the_help_of_make_is_a_table() -> None:
    told = subprocess.run(
        ["make", "help"], cwd=PROJECT_ROOT, check=True, capture_output=True, text=True
    ).stdout
    lines = [line for line in told.splitlines() if line.startswith("  make ")]
    named = re.findall(r"^[a-z-]+:.*## ", MAKEFILE, flags=re.M)
    assert len(lines) == len(named)
    assert len({len(line) - len(re.sub(r"^  make \S+ +", "", line)) for line in lines}) == 1, told


def _sources() -> list[Path]:
    return [path for folder in ("ops", "tests") for path in sorted((PROJECT_ROOT / folder).rglob("*.py"))]


def _target(command: str) -> str:
    """The target of `make TARGET`, or the one whose recipe runs the command."""
    if command.startswith("make "):
        return command.removeprefix("make ")
    return MAKEFILE[: MAKEFILE.index(command)].rpartition("\n\n")[2].partition(":")[0]


def test_ci_sets_up_whatever_a_test_misses() -> None:
    """A test without its environment says with which command that is made, and fails where CI is set."""
    script = (PROJECT_ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "export CI=true" in script, "the tests would be skipped, and nobody would know"
    made = {
        target for targets in re.findall(r"\bmake ([a-z -]+)", script) for target in targets.strip().split()
    }
    missed = {
        _target(command)
        for path in _sources()
        for command in re.findall(r"^MISSING = [^`]*`([^`]+)`", path.read_text(encoding="utf-8"), re.M)
    }
    assert {"engine", "opensearch", "policy-pack", "judges"} <= missed
    # The judges' environment is a prerequisite of `make check`.
    assert "check" in made and re.search(r"^check:.*\.judges/\.made", MAKEFILE, flags=re.M)
    assert missed - {"judges"} <= made, "tests would be skipped, or fail on a clean checkout"


def test_make_pages_writes_every_page_that_a_test_compares() -> None:
    recipe = MAKEFILE.split("\npages:")[1].split("\n\n")[0]
    told = {
        module for path in _sources() for module in PAGE_COMMAND.findall(path.read_text(encoding="utf-8"))
    }
    assert told and told <= set(PAGE_COMMAND.findall(recipe.replace("$(BIN)/", ""))), recipe
    assert recipe.startswith(" diagrams "), "the pictures are pages too"


@pytest.mark.parametrize("stack", ["dev"])
def test_the_benchmark_asks_each_of_our_own_judges(stack: str) -> None:
    seconds = judges.laps(stack)
    assert set(seconds) == {"recording", "cost", "policies", "diagrams", "iam", "plan view"}
    assert all(value > 0 for value in seconds.values())
    assert judges.ratio({"recording": 2.0, "cost": 0.5, "iam": 0.5}) == 0.5
