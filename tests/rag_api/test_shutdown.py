"""SIGTERM to a real uvicorn: what runs may finish, nothing new is taken, nobody is cut off without a word."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from uvicorn.main import main as uvicorn_command

from components.rag_task import STOP_TIMEOUT_SECONDS
from ops.capture.program import PROJECT_ROOT
from rag_api.lifecycle import LAST_WORDS_SECONDS, Lifecycle
from tests.rag_api.child import ASKED
from tests.rag_api.scene import PATIENCE_SECONDS, Outside, Served, events, served, until

COMMAND = (sys.executable, "-m", "uvicorn", "--factory", "tests.rag_api.child:application", "--port", "0")
QUESTION = {"query": "hi"}


class Child:
    """uvicorn as its own process, as in the container."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.served = Served(port)

    def wait_until_asked(self, times: int) -> None:
        """Until the model has as many questions as that."""
        assert self.process.stdout
        for _ in range(times):
            assert any(ASKED in line for line in self.process.stdout), "the model was never asked"

    def go_on(self) -> None:
        """Let one question go on."""
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def stop(self) -> None:
        """Send SIGTERM, and wait until no connection is taken any more."""
        self.process.send_signal(signal.SIGTERM)
        until(self.refuses, "the server stops listening")

    def refuses(self) -> bool:
        """True when nobody listens."""
        try:
            self.served.socket().close()
        except ConnectionRefusedError:
            return True
        except ConnectionResetError:
            return False
        return False


@contextmanager
def child(grace_seconds: int) -> Generator[Child]:
    """A server that is killed at the end of the test if it still runs."""
    environment = {**os.environ, "PYTHONPATH": f"{PROJECT_ROOT}:{PROJECT_ROOT / 'lambda_src'}"}
    with subprocess.Popen(
        [*COMMAND, "--timeout-graceful-shutdown", str(grace_seconds), "--no-access-log"],
        cwd=PROJECT_ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr
            started = (re.search(r"running on http://127\.0\.0\.1:(\d+)", line) for line in process.stderr)
            yield Child(process, int(next(match for match in started if match)[1]))
        finally:
            process.kill()


def ask(pool: ThreadPoolExecutor, running: Child, path: str) -> "Future[Any]":
    """A question whose reply comes later."""
    return pool.submit(running.served.post, path, QUESTION)


def test_answers_and_streams_that_run_may_finish_and_nothing_new_is_taken() -> None:
    with child(grace_seconds=PATIENCE_SECONDS) as running, ThreadPoolExecutor(2) as pool:
        idle = running.served.socket()
        plain = ask(pool, running, "/v1/query")
        streamed = ask(pool, running, "/v1/query/stream")
        running.wait_until_asked(2)
        running.stop()
        assert idle.recv(1) == b"", "an idle connection would hold up the end"
        idle.close()
        assert not plain.done() and not streamed.done()
        running.go_on()
        running.go_on()
        assert plain.result(PATIENCE_SECONDS).document["answer"] == "They sleep."
        assert events(streamed.result(PATIENCE_SECONDS).content)[-1][0] == "result"
        assert running.process.wait(PATIENCE_SECONDS) == -signal.SIGTERM, "a shell shows this as 143"


def test_what_outlives_the_grace_is_told_so_and_holds_up_nobody() -> None:
    with child(grace_seconds=1) as running, ThreadPoolExecutor(2) as pool:
        plain = ask(pool, running, "/v1/query")
        streamed = ask(pool, running, "/v1/query/stream")
        running.wait_until_asked(2)
        running.stop()
        assert plain.result(PATIENCE_SECONDS).error == (503, "shutting_down")
        name, body = events(streamed.result(PATIENCE_SECONDS).content)[-1]
        assert (name, body["error"]["code"]) == ("error", "shutting_down"), "the stream was cut off"
        # The threads of both still wait for their line.
        assert running.process.wait(PATIENCE_SECONDS) == -signal.SIGTERM


def test_a_server_that_was_told_to_stop_is_not_ready_and_takes_no_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rag_api.app.Lifecycle", _stopping)
    with served(Outside()) as service:
        assert service.request("GET", "/readyz").error == (503, "shutting_down")
        assert service.post("/v1/query", QUESTION).error == (503, "shutting_down")
        assert service.request("GET", "/healthz").status == 200


def _stopping() -> Lifecycle:
    lifecycle = Lifecycle()
    lifecycle.is_stopping = True
    return lifecycle


def test_the_signal_is_noted_and_handed_on() -> None:
    heard: list[int] = []

    def hear(number: int, frame: object) -> None:
        heard.append(number)

    before = signal.signal(signal.SIGTERM, hear)

    async def life(lifecycle: Lifecycle) -> None:
        async with lifecycle.run():
            assert not lifecycle.is_stopping
            signal.raise_signal(signal.SIGTERM)
            assert lifecycle.is_stopping

    try:
        asyncio.run(life(Lifecycle()))
        assert heard == [signal.SIGTERM], "the server would never stop"
        assert signal.getsignal(signal.SIGTERM) is hear, "the handler that was there is not back"
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_end_waits_for_last_words() -> None:
    said: list[str] = []

    async def request(lifecycle: Lifecycle, end: asyncio.Event) -> None:
        lifecycle.enter()
        await end.wait()
        said.append("sorry")

    async def life(lifecycle: Lifecycle) -> None:
        end = asyncio.Event()
        async with lifecycle.run():
            running = asyncio.ensure_future(request(lifecycle, end))
            await asyncio.sleep(0)
            asyncio.get_running_loop().call_soon(end.set)
        assert said == ["sorry"], "a slow client's stream would be cut off"
        await running

    asyncio.run(life(Lifecycle()))


def test_the_variable_of_the_task_definition_reaches_uvicorn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UVICORN_TIMEOUT_KEEP_ALIVE", "180")
    context = uvicorn_command.make_context("uvicorn", ["module:app"], auto_envvar_prefix="UVICORN")
    assert context.params["timeout_keep_alive"] == 180, "the balancer would answer 502 now and then"


def test_grace_and_last_words_fit_into_the_stop_time_out_of_ecs() -> None:
    dockerfile = (PROJECT_ROOT / "rag_api" / "Dockerfile").read_text(encoding="utf-8")
    match = re.search(r'"--timeout-graceful-shutdown", "(\d+)"', dockerfile)
    assert match
    assert int(match[1]) + LAST_WORDS_SECONDS < STOP_TIMEOUT_SECONDS, (
        "ECS would kill it in the middle of a word"
    )
