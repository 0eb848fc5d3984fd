"""The shell steps of the workflows, run as GitHub runs them, with stand-ins for `pulumi`, `aws`, `gh` and our own tools."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from ops.capture.program import PROJECT_ROOT

PLAN = '{"resourcePlans": {}}'
DIGEST = hashlib.sha256(PLAN.encode()).hexdigest()
needs_sha256sum = pytest.mark.skipif(not shutil.which("sha256sum"), reason="needs sha256sum")


class Job:
    """A working copy with programs that log how they were called and then do what a test says, in shell."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log, self.output = folder / "copy", folder / "calls.txt", folder / "output.txt"
        self._programs = folder / "bin"
        for made in (self.folder, self._programs):
            made.mkdir()
        self.log.touch()

    def program(self, name: str, script: str = "", folder: Path | None = None) -> None:
        path = (folder or self._programs) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> "{self.log}"\n{script}\n', encoding="utf-8")
        path.chmod(0o755)

    def run(self, workflow: str, job: str, step: str, variables: Mapping[str, str] | None = None) -> int:
        text = (PROJECT_ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text(encoding="utf-8")
        steps = yaml.safe_load(text)["jobs"][job]["steps"]
        (script,) = [item["run"] for item in steps if item.get("name") == step]
        environment = {
            "PATH": f"{self._programs}{os.pathsep}{os.environ['PATH']}", "HOME": str(self.folder.parent),
            "GITHUB_OUTPUT": str(self.output), "STACK": "dev", **(variables or {}),
        }  # fmt: skip
        # https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax: what `shell: bash` runs.
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        return subprocess.run(shell, cwd=self.folder, env=environment, capture_output=True).returncode

    @property
    def calls(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


@pytest.mark.parametrize(
    ("pulumi", "ends", "told"),
    [("echo same", 0, ""), ("echo a queue differs; exit 7", 0, "a queue differs\n"), ("exit 255", 255, None)],
    ids=["same", "drifted", "failed"],
)
def test_drift_is_told_and_a_failure_to_look_fails_the_job(
    job: Job, pulumi: str, ends: int, told: str | None
) -> None:
    job.program("pulumi", pulumi)
    assert job.run("drift", "drift", "Compare with AWS") == ends
    if told is not None:
        assert (job.folder / "drift.txt").read_text(encoding="utf-8") == told


@needs_sha256sum
def test_a_plan_is_kept_with_its_digest(job: Job) -> None:
    job.program("pulumi", f"printf '%s' '{PLAN}' > plan.json; echo 1 to create")
    job.program("aws")
    assert job.run("deploy-stack", "plan", "Plan", {"PLAN": "s3://state/plans/1-1/dev.json"}) == 0
    assert job.output.read_text(encoding="utf-8").splitlines() == [
        f"digest={DIGEST}", "place=s3://state/plans/1-1/dev.json",
    ]  # fmt: skip
    assert job.calls[1] == "aws s3 cp --only-show-errors plan.json s3://state/plans/1-1/dev.json"
    assert (job.folder / "preview.txt").read_text(encoding="utf-8") == "1 to create\n", (
        "nothing to approve by"
    )


def test_a_preview_that_fails_leaves_no_plan(job: Job) -> None:
    job.program("pulumi", "exit 1")
    job.program("aws")
    assert job.run("deploy-stack", "plan", "Plan", {"PLAN": "s3://state/plans/1-1/dev.json"}) != 0
    assert not [call for call in job.calls if call.startswith("aws")]


@needs_sha256sum
@pytest.mark.parametrize(
    ("digest", "applied"), [(DIGEST, True), ("0" * 64, False)], ids=["approved", "exchanged"]
)
def test_only_the_plan_that_was_approved_is_applied(job: Job, digest: str, applied: bool) -> None:
    job.program("aws", f"printf '%s' '{PLAN}' > plan.json")
    job.program("pulumi")
    variables = {"DIGEST": digest, "PLACE": "s3://state/plans/1-1/dev.json"}
    code = job.run("deploy-stack", "apply", "Apply the plan that was approved", variables)
    assert (code == 0) == applied
    ran = [call for call in job.calls if call.startswith("pulumi")]
    assert bool(ran) == applied, "somebody exchanged the plan in the bucket, and it was applied"
    if ran:
        assert ran[0].startswith("pulumi up --stack dev --yes") and ran[0].endswith("--plan plan.json")


def test_prices_that_cannot_be_read_are_not_proposed(job: Job) -> None:
    job.program("python", "exit 1", job.folder / ".venv" / "bin")
    job.program("make")
    assert job.run("prices", "read", "Read the prices") != 0
    assert len(job.calls) == 1, "the rest of the regions would hide that one is missing"


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments],
        cwd=folder, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip


def _repository(job: Job, patch: bool) -> Path:
    """A copy of a repository whose patch of prices waits, if there is one."""
    origin = job.folder.parent / "origin.git"
    _git(job.folder.parent, "init", "--quiet", "--bare", str(origin))
    _git(job.folder, "init", "--quiet", "--initial-branch", "main")
    _git(job.folder, "remote", "add", "origin", str(origin))
    prices = job.folder / "prices.csv"
    prices.write_text("price\n1\n", encoding="utf-8")
    _git(job.folder, "add", ".")
    _git(job.folder, "commit", "--quiet", "--message", "first")
    if patch:
        prices.write_text("price\n2\n", encoding="utf-8")
    (job.folder / "prices.patch").write_text(_git(job.folder, "diff"), encoding="utf-8")
    _git(job.folder, "checkout", "--quiet", ".")
    return origin


@pytest.mark.parametrize("opened", [0, 1], ids=["first", "again"])
def test_new_prices_come_as_one_pull_request(job: Job, opened: int) -> None:
    origin = _repository(job, patch=True)
    job.program("gh", f'[ "$1 $2" != "pr list" ] || echo {opened}')
    assert job.run("prices", "propose", "Open or update the pull request") == 0
    assert _git(origin, "show", "prices:prices.csv") == "price\n2\n"
    assert "prices.patch" not in _git(origin, "ls-tree", "--name-only", "prices")
    assert len([call for call in job.calls if call.startswith("gh pr create")]) == 1 - opened


def test_prices_that_are_as_they_were_propose_nothing(job: Job) -> None:
    origin = _repository(job, patch=False)
    job.program("gh")
    assert job.run("prices", "propose", "Open or update the pull request") == 0
    assert not job.calls and not _git(origin, "branch", "--list")
