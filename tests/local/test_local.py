"""The platform on this machine as a person starts it: in a process of its own, which leaves nothing behind."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.local.command import main
from tests.local.environment import PROJECT_ROOT
from tests.local.platform import Options

COMMAND = [sys.executable, "-m", "tests.local"]
LONGEST_SECONDS = 180
# Nobody listens there.
PROXY = "http://127.0.0.1:9"


@contextmanager
def started(temporary: Path) -> "Generator[subprocess.Popen[str]]":
    arguments = ["--folder", str(temporary / "documents")]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen(
        [*COMMAND, *arguments], cwd=PROJECT_ROOT, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def read_until(process: "subprocess.Popen[str]", words: str) -> str:
    """What was printed up to the line with `words`, or all of it when no line has them."""
    lines = []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if words in line:
            break
    return "".join(lines)


def children_of(process_id: int) -> list[int]:
    """Its children; the file system that tells them exists on Linux only."""
    path = Path(f"/proc/{process_id}/task/{process_id}/children")
    if not path.exists():
        pytest.skip("this system does not tell the children of a process")
    return [int(one) for one in path.read_text().split()]


def assert_gone(process_ids: Sequence[int]) -> None:
    for process_id in process_ids:
        try:
            descriptor = os.pidfd_open(process_id)
        except ProcessLookupError:
            continue
        try:
            ready, _, _ = select.select([descriptor], [], [], 30)
            assert ready, f"process {process_id} outlived the command"
        finally:
            os.close(descriptor)


def test_a_document_makes_its_round_trip_through_every_service_behind_any_proxy() -> None:
    environment = {**os.environ, "HTTP_PROXY": PROXY, "https_proxy": PROXY, "ALL_PROXY": PROXY}
    environment.pop("NO_PROXY", None)
    done = subprocess.run(
        [*COMMAND, "--check"], cwd=PROJECT_ROOT, env=environment, text=True, timeout=LONGEST_SECONDS, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "The round trip is complete." in done.stdout


def test_it_starts_with_samples_tells_what_fails_and_stops_on_ctrl_c(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    with started(tmp_path) as process:
        summary = read_until(process, "Press Ctrl-C")
        assert "/v1/query" in summary and "openai" in summary, summary
        assert (folder / "handbook.md").is_file(), "a first start has something to ask about"
        (folder / "broken.pdf").write_bytes(b"%PDF-1.4 and nothing else")
        assert "Not indexed: raw/broken.pdf" in read_until(process, "Not indexed")
        children = children_of(process.pid)
        assert len(children) == 3
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert_gone(children)
    assert [path.name for path in tmp_path.iterdir()] == ["documents"], "logs would pile up"


def test_the_services_end_with_a_command_that_is_killed(tmp_path: Path) -> None:
    with started(tmp_path) as process:
        read_until(process, "Press Ctrl-C")
        children = children_of(process.pid)
        process.kill()
        process.wait()
        assert_gone(children)


@pytest.mark.parametrize("name", ["file", "file/below", "n" * 300])
def test_a_folder_that_is_none_and_cannot_be_made_is_refused_with_a_sentence(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(options: Options) -> None:
        raise AssertionError("the platform runs on a folder that is none")

    monkeypatch.setattr("tests.local.command.running", start)
    (tmp_path / "file").write_text("text")
    assert main(["--folder", str(tmp_path / name)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"--folder {tmp_path / name} cannot be used: ")
    assert "Name a folder" in told and "Traceback" not in told
