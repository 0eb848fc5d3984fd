"""A spot node on this machine: a metadata service, the interruption watcher beside it, and one training process."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from gpu_node.watcher.handling import start_ticks
from ops.capture.program import PROJECT_ROOT
from standins.loopback import Reply, Request, serving

SAVE_EVERY_STEPS = 25
TRAINING = PROJECT_ROOT / "tests/gpu_node/training_process.py"
# Products of matrices have the same bits in every process only when they are summed up in the same order.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
NOTICE = json.dumps({"action": "terminate", "time": "2026-01-01T00:02:00Z"}).encode()


class MetadataService:
    """What EC2 answers on a node; `interrupted` brings the notice, and `noticed` tells that it was fetched."""

    def __init__(self) -> None:
        self.interrupted, self.noticed = False, threading.Event()

    def answer(self, request: Request) -> Reply:
        if (request.method, request.path) == ("PUT", "/latest/api/token"):
            return Reply(body=b"T1", content_type="text/plain")
        if self.interrupted and request.path == "/latest/meta-data/spot/instance-action":
            self.noticed.set()
            return Reply(body=NOTICE)
        return Reply(status=404)


class SpotNode:
    """The training process, its data and its reports."""

    def __init__(self, steps: int, shared: Path, scratch: Path | None) -> None:
        folders = [str(shared), *([str(scratch)] if scratch else [])]
        self.metadata = MetadataService()
        self.process = subprocess.Popen(
            [sys.executable, str(TRAINING), str(steps), str(SAVE_EVERY_STEPS), *folders],
            env=os.environ | ONE_THREAD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.resumed_step = int(self.process.stdout.readline().removeprefix("resumed "))
        self.last_step, self.result = self.resumed_step, ""

    def feed(self, steps: int) -> None:
        """Hands out the data of so many steps; a process that has ended takes none."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write("\n" * steps)
            self.process.stdin.flush()
        except BrokenPipeError:
            assert self.process.wait() is not None

    def train(self, steps: int) -> None:
        """Waits until so many steps are done."""
        self.feed(steps)
        assert self.process.stdout is not None
        for _ in range(steps):
            self._note(self.process.stdout.readline())

    def ended(self, seconds: float) -> bool:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """Reads what was reported until the process ended."""
        assert self.process.stdin is not None and self.process.stdout is not None
        if self.process.stdout.closed:
            return
        for line in self.process.stdout:
            self._note(line)
        self.process.wait()
        self.process.stdout.close()
        try:
            self.process.stdin.close()
        except BrokenPipeError:  # data that nobody took
            return

    def _note(self, line: str) -> None:
        word, _, value = line.rstrip("\n").partition(" ")
        if word == "step" and line.endswith("\n"):
            self.last_step = int(value)
        elif word == "result":
            self.result = value


@contextmanager
def spot_node(folder: Path, steps: int, shared: Path, scratch: bool) -> Generator[SpotNode]:
    """A new node in `folder`: nothing but `shared` is known from the last one."""
    node = SpotNode(steps, shared, folder / "scratch" if scratch else None)
    with (
        serving(node.metadata.answer) as address,
        _watcher(folder, address.removeprefix("http://"), node.process),
    ):
        try:
            yield node
        finally:
            node.process.kill()
            node.close()


@contextmanager
def _watcher(folder: Path, address: str, process: subprocess.Popen[str]) -> Generator[None]:
    """The watcher as it runs on an interactive node, only that it asks every 20 ms."""
    shutil.copytree(PROJECT_ROOT / "gpu_node/watcher", folder / "watcher")
    (folder / "pids").mkdir()
    (folder / "terminals").mkdir()
    (folder / "pids" / str(process.pid)).write_text(f"{process.pid} {start_ticks(process.pid)}\n")
    settings = {
        "TARGETS": "processes", "METADATA_ADDRESS": address, "POLL_SECONDS": "0.02",
        "PROCESSES_FOLDER": str(folder / "pids"), "TERMINALS_FOLDER": str(folder / "terminals"),
    }  # fmt: skip
    (folder / "watcher/settings").write_text("".join(f"{name}={value}\0" for name, value in settings.items()))
    with (folder / "watcher.log").open("wb") as log:
        watcher = subprocess.Popen([sys.executable, "-m", "watcher"], cwd=folder, stdout=log, stderr=log)
        try:
            yield
        finally:
            watcher.kill()
            watcher.wait()
