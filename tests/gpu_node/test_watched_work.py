"""Whom the watcher tells: containers by their labels, registered processes, and nobody who has no ear for it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gpu_node.watcher.announcer import EARLY, LATE, Announcer
from gpu_node.watcher.containers import Containers
from gpu_node.watcher.handling import handles, start_ticks
from gpu_node.watcher.processes import Process, Processes, Terminals

SAVES = f"""
import signal, sys
signal.signal({EARLY}, lambda *_: print("saved", flush=True))
signal.signal({LATE}, lambda *_: sys.exit(75))
print("ready", flush=True)
while True: signal.pause()
"""
IGNORES = "import signal; print('ready', flush=True); signal.pause()"
# Can save only once it is sent SIGHUP.
BEGINS = f"""
import signal
def begin(*_):
    signal.signal({EARLY}, lambda *_: None)
    print("can save", flush=True)
signal.signal(signal.SIGHUP, begin)
print("ready", flush=True)
while True: signal.pause()
"""
# As docker-init does: it starts the job, blocks every signal and hands on what comes.
INIT = f"""
import signal, subprocess, sys
job = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
job.stdout.readline()
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
open("/proc/self/comm", "w").write(sys.argv[2])
print("ready", flush=True)
job.send_signal(signal.sigwait([{LATE}]))
"""
# Knows what the Docker client is asked here, over the containers in a file; it notes whom it signals.
DOCKER = """
import json, os, sys
folder = os.path.dirname(__file__)
containers = json.load(open(os.path.join(folder, "containers")))
command, *rest = sys.argv[1:]
if command == "ps" and rest[:3] == ["--quiet", "--no-trunc", "--filter"]:
    label = rest[3].split("=", 1)[1]
    print("\\n".join(id for id, container in containers.items() if label in container["labels"]))
elif command == "inspect" and rest[:2] == ["--format", "{{.Id}} {{.State.Pid}} {{json .Config.Labels}}"]:
    for id in rest[2:]:
        if id == "ended":
            del containers[id]
            json.dump(containers, open(os.path.join(folder, "containers"), "w"))
            sys.exit(f"no such object: {id}")
        if id == "mute":
            sys.exit("the daemon does not answer")
        print(id, containers[id]["pid"], json.dumps(containers[id]["labels"]))
elif command == "kill" and rest[0] == "--signal":
    print(*rest[1:], file=open(os.path.join(folder, "told"), "a"))
else:
    sys.exit(f"unknown: {sys.argv}")
"""
TASK = {"com.amazonaws.ecs.task-arn": "arn:aws:ecs:eu-central-1:111122223333:task/batch/1"}


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts Python code, and returns once it has said that it is ready."""
    started: list[subprocess.Popen[str]] = []

    def run(code: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", code, *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        started.append(process)
        assert process.stdout and process.stdout.readline() == "ready\n"
        return process

    yield run
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout:
            process.stdout.close()


class Docker:
    """A fake Docker client first on the PATH."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "docker").write_text(f"#!{sys.executable}\n{DOCKER}")
        (folder / "docker").chmod(0o755)

    def runs(self, **containers: tuple[int, dict[str, str]]) -> None:
        about = {name: {"pid": pid, "labels": labels} for name, (pid, labels) in containers.items()}
        (self._folder / "containers").write_text(json.dumps(about))

    def told(self) -> list[str]:
        path = self._folder / "told"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return Docker(tmp_path)


def register(folder: Path, pid: int, ticks: int | None = None) -> Path:
    path = folder / str(pid)
    path.write_text(f"{pid} {start_ticks(pid) if ticks is None else ticks}\n")
    return path


def test_only_containers_of_tasks_are_told_and_never_the_agent_or_its_helpers(
    docker: Docker, start: Callable[..., subprocess.Popen[str]]
) -> None:
    pid = start(SAVES).pid
    name = "com.amazonaws.ecs.container-name"
    docker.runs(
        agent=(pid, {"org.opencontainers.image.title": "ecs-agent"}),
        network=(pid, {**TASK, name: "~internal~ecs~pause"}),
        service=(pid, {**TASK, "ai-platform.interruption": "ecs-drains"}),
        job=(pid, {**TASK, name: "default"}),
    )
    announcer = Announcer(Containers())
    announcer.announce(LATE, "a notice")
    announcer.announce(LATE, "a notice")

    assert docker.told() == ["SIGTERM job"], "ECS would lose its agent, a task its network, or a job its work"


def test_a_container_that_ends_between_two_questions_hides_no_other(
    docker: Docker, start: Callable[..., subprocess.Popen[str]]
) -> None:
    docker.runs(job=(start(SAVES).pid, TASK), ended=(1, TASK))
    Announcer(Containers()).announce(LATE, "a notice")

    assert docker.told() == ["SIGTERM job"]


def test_docker_is_asked_again_when_it_told_nothing_of_what_runs(
    docker: Docker, start: Callable[..., subprocess.Popen[str]], caplog: pytest.LogCaptureFixture
) -> None:
    docker.runs(job=(start(SAVES).pid, TASK), mute=(1, TASK))
    announcer = Announcer(Containers())
    announcer.announce(LATE, "a notice")
    assert docker.told() == [] and "cannot be listed" in caplog.text

    docker.runs(job=(start(SAVES).pid, TASK))
    announcer.announce(LATE, "a notice")
    assert docker.told() == ["SIGTERM job"], "a moment's failure of Docker would cost the work of the node"


def test_docker_is_asked_again_when_it_gave_no_answer(
    docker: Docker, start: Callable[..., subprocess.Popen[str]], caplog: pytest.LogCaptureFixture
) -> None:
    announcer = Announcer(Containers())
    announcer.announce(LATE, "a notice")
    assert len(caplog.records) == 1 and "cannot be listed" in caplog.text, "nobody would learn why"

    docker.runs(job=(start(SAVES).pid, TASK))
    announcer.announce(LATE, "a notice")
    assert docker.told() == ["SIGTERM job"], "the job would lose its work to a hiccup of Docker"


def test_a_job_that_starts_after_the_notice_keeps_its_attempt(
    docker: Docker, start: Callable[..., subprocess.Popen[str]]
) -> None:
    pid = start(SAVES).pid
    deaf = start(IGNORES).pid
    docker.runs(job=(pid, TASK), deaf=(deaf, TASK))
    announcer = Announcer(Containers())
    announcer.announce(EARLY, "a recommendation")
    announcer.announce(LATE, "a notice")
    docker.runs(job=(pid, TASK), deaf=(deaf, TASK), next=(pid, TASK))
    announcer.announce(LATE, "a notice")

    assert docker.told() == ["SIGUSR1 job", "SIGTERM job"], "attempts would be used up on a node that ends"


def test_a_job_without_a_handler_is_left_alone_until_it_has_one(
    docker: Docker, start: Callable[..., subprocess.Popen[str]]
) -> None:
    job = start(BEGINS)
    docker.runs(job=(job.pid, TASK))
    announcer = Announcer(Containers())
    announcer.announce(EARLY, "a recommendation")
    assert docker.told() == [], "a mere recommendation would end a job that cannot save yet"

    job.send_signal(signal.SIGHUP)
    assert job.stdout and job.stdout.readline() == "can save\n"
    announcer.announce(EARLY, "a recommendation")
    assert docker.told() == ["SIGUSR1 job"], "a job that was still starting would never be told"


@pytest.mark.parametrize(("job", "heard"), [(SAVES, True), (IGNORES, False)], ids=["saves", "ignores"])
def test_an_init_of_a_container_hears_what_its_job_hears(
    start: Callable[..., subprocess.Popen[str]], job: str, heard: bool
) -> None:
    assert handles(start(INIT, job, "docker-init").pid, LATE) == heard, "jobs of AWS Batch run under it"
    assert not handles(start(INIT, job, "bash").pid, LATE), "a shell hands nothing on"
    assert handles(start(job).pid, EARLY) == heard
    assert not handles(2**22 + 1, LATE), "there is no such process"


def test_a_registered_process_is_told_each_signal_once(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    process = start(SAVES)
    register(tmp_path, process.pid)
    announcer = Announcer(Processes(str(tmp_path)))
    for told in (EARLY, EARLY, LATE, LATE):
        announcer.announce(told, "a reason")

    assert process.communicate()[0] == "saved\n" and process.returncode == 75, "the work would be lost"


def test_a_pid_that_another_process_has_taken_is_never_signalled(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    process = start(SAVES)
    register(tmp_path, process.pid, start_ticks(process.pid) - 1)
    processes = Processes(str(tmp_path))
    assert processes.running() == [], "a stranger's process would be ended"

    with pytest.raises(ProcessLookupError):
        processes.send(Process(process.pid, start_ticks(process.pid) - 1), LATE)
    assert process.poll() is None, "it was ended between the look and the signal"


def test_nobody_registers_the_process_of_another(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = register(tmp_path, start(SAVES).pid)
    assert len(Processes(str(tmp_path)).running()) == 1

    found = os.fstat
    stranger = os.getuid() + 1
    monkeypatch.setattr(
        os, "fstat", lambda handle: os.stat_result([*found(handle)[:4], stranger, *found(handle)[5:]])
    )
    assert Processes(str(tmp_path)).running() == [], f"whoever writes {path} could end any process of root"


@pytest.mark.parametrize("text", ["", "1", "1 1", "x y", "1 2 3", "-1 0", "9" * 5000, "\0"])
def test_a_file_that_names_no_process_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(register(tmp_path, os.getpid()))

    assert [process.pid for process in Processes(str(tmp_path)).running()] == [os.getpid()]


def test_everybody_may_register_and_nobody_may_remove(tmp_path: Path) -> None:
    Processes(str(tmp_path / "pids")).open_folder()

    assert (tmp_path / "pids").stat().st_mode & 0o7777 == 0o1777


def test_people_are_told_at_every_terminal_and_the_last_key_counts(tmp_path: Path) -> None:
    for name, typed_at in (("0", 100.0), ("12", 300.0), ("ptmx", 900.0)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (typed_at, 0))
    terminals = Terminals(str(tmp_path))
    assert terminals.last_input() == 300.0, "the node would end under somebody's hands"

    terminals.tell("the end")
    told = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert told == dict.fromkeys(("0", "12"), "\n*** the end ***\n") | {"ptmx": ""}
    assert Terminals(str(tmp_path / "none")).last_input() == 0


def test_a_process_that_cannot_be_told_keeps_no_other_from_it(
    start: Callable[..., subprocess.Popen[str]], caplog: pytest.LogCaptureFixture
) -> None:
    pids = sorted((start(SAVES).pid, start(SAVES).pid), key=str)
    told = []

    class Work:
        def running(self) -> Sequence[Process]:
            return [Process(pid, 1) for pid in pids]

        def send(self, target: Any, signal: signal.Signals, /) -> None:
            told.append(target.pid)
            if target.pid == pids[0]:
                raise ProcessLookupError

    Announcer(Work()).announce(LATE, "a notice")
    assert told == pids and "could not be told" in caplog.text
