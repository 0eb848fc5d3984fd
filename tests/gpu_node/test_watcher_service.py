"""The watcher as it runs on a node: unpacked from user data, started as its unit says, on that node's Python."""

import ast
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from components.node_archive import WATCHER_FILES, WATCHER_FOLDER, watcher_texts, without_comments
from gpu_node.watcher.announcer import EARLY, LATE
from gpu_node.watcher.settings import Settings, read_settings
from tests.gpu_node.metadata_server import (
    NOTICE,
    REBALANCE,
    RECOMMENDATION,
    TERMINATE,
    MetadataServer,
    metadata_server,
)

SOURCES = sorted(WATCHER_FOLDER.glob("*.py"))
UNIT = WATCHER_FOLDER / "interruption-watcher.service"
TRAINING = f"""
import signal, sys
signal.signal({EARLY}, lambda *_: print("saved", flush=True))
signal.signal({LATE}, lambda *_: sys.exit(75))
print("training", flush=True)
while True: signal.pause()
"""
sources = pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)


@contextmanager
def watcher(folder: Path, target: str, **told: object) -> Generator[subprocess.Popen[str]]:
    """A running watcher with the files that such a node gets and these settings, once it says that it watches."""
    for name, text in watcher_texts(target).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    given = {"TARGETS": target, "POLL_SECONDS": "0.02", **told}
    (folder / "watcher" / "settings").write_text(
        "".join(f"{name}={value}\0" for name, value in given.items())
    )
    command = [sys.executable, "-W", "error", *unit_value("ExecStart").split()[1:]]
    environment = {"PATH": f"{folder}:/usr/bin:/bin"}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert "watching for interruptions" in line_of(process)
            yield process
        finally:
            process.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().rstrip("\n")


def unit_value(name: str) -> str:
    return next(
        line.split("=", 1)[1] for line in UNIT.read_text().splitlines() if line.startswith(f"{name}=")
    )


@pytest.fixture
def server() -> Iterator[MetadataServer]:
    with metadata_server() as running:
        yield running


def test_a_registered_command_saves_on_a_recommendation_and_leaves_on_a_notice(
    tmp_path: Path, server: MetadataServer
) -> None:
    pids, script = tmp_path / "pids", tmp_path / "interruption-run"
    script.write_text((WATCHER_FOLDER / script.name).read_text().replace("/run/interruption/pids", str(pids)))
    folders = {"PROCESSES_FOLDER": pids, "TERMINALS_FOLDER": tmp_path}
    with watcher(tmp_path, "processes", METADATA_ADDRESS=server.address, **folders):
        command = ["bash", str(script), sys.executable, "-c", TRAINING]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as training:
            assert line_of(training) == "training"
            server.announce(REBALANCE, RECOMMENDATION)
            assert line_of(training) == "saved", "time to save would pass unused"
            server.announce(NOTICE, TERMINATE)
            assert training.wait() == 75, "the work since the last save would be lost"


def test_a_file_that_an_earlier_process_of_this_number_left_stops_no_command(tmp_path: Path) -> None:
    script = tmp_path / "interruption-run"
    script.write_text(
        (WATCHER_FOLDER / script.name).read_text().replace("/run/interruption/pids", str(tmp_path))
    )
    # A folder, since a file of somebody else would not refuse root, who may run the tests.
    command = f'mkdir "{tmp_path}/$$"; exec bash "{script}" echo trained'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("trained\n", ""), "the command would not start at all"


def test_a_job_in_a_container_is_told_to_leave(tmp_path: Path, server: MetadataServer) -> None:
    with subprocess.Popen([sys.executable, "-c", TRAINING], stdout=subprocess.PIPE, text=True) as job:
        assert line_of(job) == "training"
        labels = '{"com.amazonaws.ecs.task-arn": "arn"}'
        docker = tmp_path / "docker"
        docker.write_text(
            f"#!/bin/bash\ncase $1 in ps) echo job ;; inspect) echo 'job {job.pid} {labels}' ;;\n"
            f'kill) [[ "$*" == "kill --signal SIGTERM job" ]] && kill {job.pid} ;; esac\n'
        )
        docker.chmod(0o755)
        server.announce(NOTICE, TERMINATE)
        with watcher(tmp_path, "containers", METADATA_ADDRESS=server.address) as running:
            assert job.wait() == 75, "the work since the last save would be lost"
            assert "EC2 takes this node back at 2026-12-01T08:22:00Z" in line_of(running)
            assert line_of(running) == "WARNING: container job was told with SIGTERM"


def test_the_watcher_outlives_every_failure() -> None:
    assert unit_value("Restart") == "always" and unit_value("StartLimitIntervalSec") == "0", (
        "a watcher that failed often would stay down, and nobody would learn of an interruption"
    )
    assert "After=" not in UNIT.read_text(), (
        "started from the boot script, it could wait for that script to end"
    )


@sources
def test_it_runs_on_the_python_of_every_node_image(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and node.level == 0
            else []
        )
    }
    assert imported <= sys.stdlib_module_names, "Amazon Linux 2023 has Python 3.9 and no library"
    assert path.name == "__init__.py" or "annotations" in path.read_text(encoding="utf-8"), (
        "Python 3.9 would evaluate annotations that it cannot"
    )


@sources
def test_what_a_node_gets_is_the_source_without_its_comments(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    carried = without_comments(source)
    assert len(carried) <= len(source) and "# " not in carried, "user data has no room for comments"

    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and len(body) > 1 else None
        if isinstance(body, list) and isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            del body[0]
    assert ast.dump(ast.parse(carried)) == ast.dump(tree), "a node would run other code than the tests"


def test_every_file_of_the_watcher_goes_to_a_node() -> None:
    carried = {name for names in WATCHER_FILES.values() for name in names}
    there = {path.name for path in WATCHER_FOLDER.iterdir() if path.is_file()}
    assert there == carried, "a file is dead, or one is missing"


def test_settings_are_read_whatever_they_hold(tmp_path: Path) -> None:
    path = tmp_path / "settings"
    path.write_text("TARGETS=processes\0AWS_REGION='=\n$(x)%é\0IDLE_MINUTES=60\0")
    assert read_settings(str(path)) == Settings(targets="processes", aws_region="'=\n$(x)%é", idle_minutes=60)


@pytest.mark.parametrize(
    "text", ["", "TARGETS=both\0", "TARGETS=processes\0IDLE=1\0", "TARGETS=processes\0IDLE_MINUTES=x\0"]
)
def test_settings_that_mean_nothing_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "settings").write_text(text)
    with pytest.raises(ValueError, match="TARGETS must be|invalid literal"):
        read_settings(str(tmp_path / "settings"))
