"""The process that reads files of strangers: where it is started from, when it ends, and whose answers it gives."""

import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from socket import socketpair
from typing import Any

import pytest

from ingestion import apart
from ingestion.apart import Reader
from ingestion.errors import DocumentError
from rag.chunking import Block
from rag.errors import UnavailableError

SOURCES = Path(__file__).parents[2] / "lambda_src"
PAGE = b"<p>text"


@pytest.fixture
def reader() -> Iterator[Reader]:
    one = Reader()
    yield one
    one.stop()


def assert_ends(process_id: int, harm: str) -> None:
    try:
        descriptor = os.pidfd_open(process_id)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], 60)[0], harm
    finally:
        os.close(descriptor)


def test_it_starts_from_the_archive_wherever_the_function_was_started(tmp_path: Path) -> None:
    archive = tmp_path / "task"
    for package in ("ingestion", "rag"):
        shutil.copytree(SOURCES / package, archive / package, ignore=shutil.ignore_patterns("__pycache__"))
    program = (
        f"import sys; sys.path.insert(0, {str(archive)!r})\n"
        "from ingestion.extraction import extract\n"
        "print([block.text for block in extract('raw/a.html', b'<p>text')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd="/", env={"PYTHONSAFEPATH": "1"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert run.stdout == "['text']\n", run.stderr


def test_it_gets_the_few_variables_that_python_needs_and_no_other(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "secret")
    monkeypatch.setenv("TZ", "UTC")
    reader.read(".html", PAGE, 60)
    assert reader._process
    environment = Path(f"/proc/{reader._process.pid}/environ")
    if not environment.exists():
        pytest.skip("this system does not tell the environment of a process")
    names = {variable.partition("=")[0] for variable in environment.read_text().split("\0") if variable}
    assert "TZ" in names
    assert names <= set(apart.ENVIRONMENT), "a hostile file finds the function's credentials"


@pytest.mark.parametrize("program", ["/bin/false", "/nowhere/python"])
def test_a_process_that_does_not_start_is_no_documents_fault(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    with pytest.raises(UnavailableError, match="did not start"):
        reader.read(".html", PAGE, 60)
    monkeypatch.undo()
    assert reader.read(".html", PAGE, 60) == [Block("text")]


def test_an_answer_that_nobody_took_is_not_taken_for_the_next_documents(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(connection: Connection) -> None:
        raise KeyboardInterrupt

    reader.read(".html", PAGE, 60)
    with monkeypatch.context() as patch:
        patch.setattr(Connection, "recv_bytes", interrupted)
        with pytest.raises(KeyboardInterrupt):
            reader.read(".html", b"<p>first", 60)
    assert reader.read(".html", b"<p>second", 60) == [Block("second")], (
        "a document is found by another's text"
    )


def test_what_the_process_sends_cannot_run_code(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that takes the process over could answer with anything."""

    def unpickle(connection: Connection) -> Any:
        raise AssertionError("a pickle from the process is loaded where the credentials are")

    monkeypatch.setattr(Connection, "recv", unpickle)
    assert reader.read(".html", PAGE, 60) == [Block("text")]
    with pytest.raises(DocumentError, match="damaged"):
        reader.read(".pdf", b"%PDF-1.4 and nothing else", 60)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system has no handles of processes")
def test_it_ends_with_the_function_that_started_it() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(SOURCES)!r})\n"
        "from ingestion.apart import Reader\n"
        "one = Reader(); one.read('.html', b'<p>text', 60)\n"
        "print(one._process.pid, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as function:
        assert function.stdout
        child = int(function.stdout.readline())
        function.kill()
    assert_ends(child, "processes pile up in the execution environment")


def test_it_ends_in_the_middle_of_a_document_that_nobody_waits_for_any_more() -> None:
    ours, theirs = socketpair()
    program = (
        "from ingestion import reader\n"
        "def read(suffix, content):\n    while True: pass\n"
        "reader.read, reader.MARGIN_SECONDS = read, 1\n"
        "reader.main()"
    )
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(theirs.fileno()), "700000000"], cwd=SOURCES, pass_fds=[theirs.fileno()]
        )  # fmt: skip
    connection = Connection(ours.detach())
    try:
        connection.recv_bytes()
        connection.send_bytes(json.dumps([".html", 0]).encode())
        connection.send_bytes(PAGE)
        connection.close()
        assert process.wait(60) != 0, "a hostile file keeps a processor busy for ever"
    finally:
        process.kill()
        process.wait()
