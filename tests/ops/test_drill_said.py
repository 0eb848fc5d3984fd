"""The lines of the checkpoint helper as the drill understands them, said by the real helper."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ops.capture.program import PROJECT_ROOT
from ops.drill import said as drill_said
from ops.drill.said import Kind, meaning
from ops.train.logs import SAVED
from ops.train.runs import Attempt
from tests.ops.drill_world import DrillWorld
from tests.ops.training_world import LOG_GROUP, T0

TRAINING = """
import os, signal, sys
from gpu_node.checkpoint import Checkpointer, SaveInterval

shared, scratch, notice_at = sys.argv[1], sys.argv[2] or None, int(sys.argv[3])
def write(folder):
    (folder / "step").write_text(str(step))
with Checkpointer(shared, scratch_folder=scratch, interval=SaveInterval(steps=2)) as checkpoints:
    latest = checkpoints.latest()
    step = latest.step if latest else 0
    while step < 9:
        step += 1
        if step == notice_at:
            os.kill(os.getpid(), signal.SIGTERM)
        if checkpoints.after_step(step, write):
            break
"""


def lines_of(shared: Path, notice_at: int, scratch: str = "") -> tuple[int, list[str]]:
    """Exit code and standard error of a run that gets its notice after this step."""
    done = subprocess.run(
        [sys.executable, "-c", TRAINING, str(shared), scratch, str(notice_at)],
        cwd=PROJECT_ROOT, env={**os.environ, "PYTHONPATH": str(PROJECT_ROOT)}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stderr.splitlines()


def meant(lines: list[str]) -> list[tuple[Kind, int]]:
    found = filter(None, (meaning(0.0, line) for line in lines))
    return [(one.kind, one.step) for one in found]


def test_the_real_helpers_lines_are_understood_from_the_beginning_to_the_resumption(tmp_path: Path) -> None:
    code, lines = lines_of(tmp_path / "my run", notice_at=5)
    assert code == 75
    assert meant(lines) == [(Kind.BEGAN, 0), (Kind.SAFE, 2), (Kind.SAFE, 4), (Kind.SAFE, 5)], (
        f"the drill would not hear that the run saved on notice: {lines}"
    )
    code, lines = lines_of(tmp_path / "my run", notice_at=-1)
    assert meant(lines) == [(Kind.RESUMED, 5), (Kind.SAFE, 7), (Kind.SAFE, 9)], (
        f"the drill would not hear that the run went on: {lines}"
    )


def test_what_lies_on_the_nodes_own_disk_is_not_safe_until_it_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch" / "run"
    monkeypatch.setattr(drill_said, "SCRATCH", str(tmp_path / "scratch"))
    code, lines = lines_of(tmp_path / "shared", notice_at=-1, scratch=str(scratch))
    assert code == 0
    found = meant(lines)
    assert (Kind.ON_THE_NODE, 8) in found, (
        f"a checkpoint that goes with its node would count as safe: {lines}"
    )
    assert (Kind.SAFE, 8) in found, f"the copy to the shared files would go unheard: {lines}"
    assert found.index((Kind.ON_THE_NODE, 8)) < found.index((Kind.SAFE, 8))


def test_the_command_of_runs_hears_the_same_saves(tmp_path: Path) -> None:
    _, lines = lines_of(tmp_path, notice_at=5)
    assert [int(found[1]) for found in map(SAVED.search, lines) if found] == [2, 4, 5]


@pytest.mark.parametrize(
    "line",
    [
        "checkpoint: WARNING: skipped /mnt/shared-data/checkpoints/run/step-4: it is a symbolic link",
        "checkpoint: ERROR: step 4 was not copied to /mnt/shared-data/checkpoints/run: disk full",
        "checkpoint: uploaded step 4",
        "epoch 3: saved step 4 in 2 s",
        "",
    ],
)
def test_other_lines_tell_nothing(line: str) -> None:
    assert meaning(0.0, line) is None


def test_a_stream_that_does_not_exist_yet_has_said_nothing() -> None:
    world = DrillWorld()
    quiet = Attempt(
        job_id="job-1", capacity="spot", started=T0, stopped=None, log_group=LOG_GROUP, log_stream="late"
    )
    unnamed = Attempt(job_id="job-1", capacity="spot", started=T0, stopped=None)
    for attempt in (quiet, unnamed):
        assert drill_said.said(world.clients, attempt) == []
        assert drill_said.last_line_at(world.clients, attempt) is None
