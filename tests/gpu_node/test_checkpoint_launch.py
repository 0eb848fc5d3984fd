"""A training under a launcher such as torchrun: it is told, it is waited for, and its end is told as what it is."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gpu_node.checkpoint import EXIT_INTERRUPTED, CheckpointFolder
from gpu_node.checkpoint.launch import EXIT_NOT_STARTED, EXIT_USAGE, main
from gpu_node.watcher.announcer import EARLY, LATE
from gpu_node.watcher.handling import handles
from ops.capture.program import PROJECT_ROOT

HERE = Path(__file__).parent
PR_SET_CHILD_SUBREAPER = 36
RANKS = 2
# A rank that is sent SIGTERM by the agent has this long, and torchrun's 30 seconds are no less short for a real model.
GRACE_SECONDS = "0.05"

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts the launcher with a command, in a session of its own."""
    started: list[subprocess.Popen[str]] = []

    def launch(command: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "checkpoint.launch", *command],
            cwd=PROJECT_ROOT / "gpu_node", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True, **options,
        )  # fmt: skip
        started.append(process)
        return process

    yield launch
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()


def training(folder: Path, *options: str, grace: str = GRACE_SECONDS) -> list[str]:
    agent = [sys.executable, str(HERE / "elastic_agent.py"), str(RANKS), grace]
    return [*agent, sys.executable, str(HERE / "rank_process.py"), str(RANKS), str(folder), *options]


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.mark.parametrize("options", [(), ("--slow",)], ids=["quick save", "save longer than the grace"])
def test_ranks_that_save_and_leave_are_an_interruption(
    tmp_path: Path, start: Start, options: tuple[str, ...]
) -> None:
    process = start(training(tmp_path, *options))
    assert first_line(process) == "ready\n"
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=60)

    assert process.returncode == EXIT_INTERRUPTED, f"nobody would resume this run: {output}{errors}"
    assert CheckpointFolder(tmp_path / "shared").latest(), f"the last save was cut off: {output}{errors}"
    assert "agent" not in output, "torchrun would have given the last save 30 seconds"
    assert f"ended with 1, and has left to be resumed: {EXIT_INTERRUPTED}" in errors


def test_the_early_signal_saves_and_the_training_goes_on_to_its_end(tmp_path: Path, start: Start) -> None:
    process = start(training(tmp_path))
    assert first_line(process) == "ready\n"
    process.send_signal(signal.SIGUSR1)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (0, "saved\n"), errors


def test_an_error_of_one_rank_is_no_interruption_though_the_others_save_and_leave(
    tmp_path: Path, start: Start
) -> None:
    process = start(training(tmp_path, "--fails", "1", grace="60"))
    assert first_line(process) == "ready\n"
    (tmp_path / "fail").touch()
    output, errors = process.communicate(timeout=60)
    assert CheckpointFolder(tmp_path / "shared").latest(), "rank 0 was expected to take it for a notice"
    assert process.returncode == 1, f"a user's error would be paid for again and again: {output}{errors}"


def test_ranks_that_leave_because_of_another_node_are_an_interruption(tmp_path: Path, start: Start) -> None:
    """The other node's launcher was told, and this one was not."""
    command = training(tmp_path)
    for call in range(1, 40):  # a third rank, which does not save: it is told before the sixth step
        (tmp_path / "steps").mkdir(exist_ok=True)
        (tmp_path / "steps" / f"{call}-2").write_text("2" if call == 12 else "0")
    command[command.index(str(RANKS), command.index(str(HERE / "rank_process.py")))] = "3"
    process = start(command)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == EXIT_INTERRUPTED, f"half of the nodes would end as failed: {output}{errors}"


def test_a_training_that_is_not_ready_yet_is_told_as_soon_as_it_can_save(
    tmp_path: Path, start: Start
) -> None:
    os.mkfifo(tmp_path / "go")
    slow_start = f'echo up; read -r line <"$1"; shift; exec {sys.executable} "$@"'
    rank = [str(HERE / "rank_process.py"), "1", str(tmp_path)]
    process = start(["/bin/sh", "-c", slow_start, "sh", str(tmp_path / "go"), *rank])
    assert first_line(process) == "up\n"
    process.send_signal(signal.SIGTERM)
    assert process.stderr and "no process is in the block of a Checkpointer" in process.stderr.readline()
    (tmp_path / "go").write_text("\n")
    output, errors = process.communicate(timeout=60)
    assert process.returncode == EXIT_INTERRUPTED, f"it was ended, or never told: {output}{errors}"


def test_the_nodes_watcher_sees_that_both_signals_are_handled(start: Start) -> None:
    process = start([sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()"])
    assert first_line(process) == "up\n"
    assert handles(process.pid, EARLY) and handles(process.pid, LATE), "it would be passed over"


@pytest.mark.parametrize(
    ("command", "code"),
    [("exit 0", 0), ("exit 3", 3), ("exit 75", 75), ("kill -KILL $$", 137), ("kill -TERM $$", 143)],
)
def test_the_commands_own_end_is_passed_on(start: Start, command: str, code: int) -> None:
    process = start(["/bin/sh", "-c", command])
    process.communicate(timeout=60)
    assert process.returncode == code


def test_a_command_that_is_missing_is_told(capsys: pytest.CaptureFixture[str], start: Start) -> None:
    process = start(["no-such-command", "train.py"])
    _, errors = process.communicate(timeout=60)
    assert process.returncode == EXIT_NOT_STARTED
    assert "ERROR: no-such-command cannot be started: [Errno 2]" in errors
    assert main([]) == EXIT_USAGE and "usage: " in capsys.readouterr().err


def test_the_command_does_not_ignore_what_python_ignores(start: Start) -> None:
    process = start(["/bin/sh", "-c", "grep SigIgn /proc/self/status"])
    output, _ = process.communicate(timeout=60)
    assert int(output.split()[1], 16) >> (signal.SIGPIPE - 1) & 1 == 0, "a pipe would never break"


def test_processes_without_a_parent_are_taken_in(tmp_path: Path, start: Start) -> None:
    """As process 1 of a container; a process may also ask for it."""
    os.mkfifo(tmp_path / "orphan")
    orphan = f"({sys.executable} -c 'import os; print(os.getpid())' >'{tmp_path}/orphan' &)"
    process = start(
        ["/bin/sh", "-c", f"{orphan}; cat '{tmp_path}/orphan'; read -r line"],
        stdin=subprocess.PIPE,
        preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0),
    )
    number = int(first_line(process))
    while Path(f"/proc/{number}").exists():
        assert process.poll() is None, "it ended before its command"
    process.communicate("\n", timeout=60)
    assert process.returncode == 0
