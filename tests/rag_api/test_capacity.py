"""How many questions are answered at once, what happens beyond that, and that nobody waits for ever."""

import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import pytest

from rag.answers import Answer, Prompt
from rag.openai_answer import OpenAIAnswerer, OpenAISettings
from tests.lambda_src.openai_server import openai_server
from tests.rag_api.scene import (
    ANSWER,
    PATIENCE_SECONDS,
    Outside,
    Reply,
    events,
    read,
    served,
    two_pieces,
    until,
)

ASKED = {"query": "hi"}


@pytest.fixture
def gate() -> Generator[threading.Event]:
    """Holds a thread of the service until the test opens it; open at the end whatever happens."""
    event = threading.Event()
    yield event
    event.set()


def test_as_many_questions_as_configured_are_answered_side_by_side_and_one_more_is_refused() -> None:
    everybody = threading.Barrier(65)

    def meet(prompt: Prompt) -> Iterator[str | Answer]:
        everybody.wait(PATIENCE_SECONDS)
        yield ANSWER

    outside = Outside(streams=meet)
    with served(outside, maximum_concurrency=64) as service, ThreadPoolExecutor(64) as pool:
        replies = [pool.submit(service.post, "/v1/query", ASKED) for _ in range(64)]
        until(lambda: len(outside.prompts) == 64, "all 64 are at the model")
        refused = service.post("/v1/query", ASKED)
        assert refused.error == (503, "busy")
        assert refused.headers["retry-after"] == "1"
        assert service.request("GET", "/healthz").status == 200, "a full server would be killed"
        everybody.wait(PATIENCE_SECONDS)
        assert {reply.result(PATIENCE_SECONDS).status for reply in replies} == {200}


def test_64_streams_run_side_by_side() -> None:
    everybody = threading.Barrier(64)

    def pieces(prompt: Prompt) -> Iterator[str | Answer]:
        yield "They"
        everybody.wait(PATIENCE_SECONDS)
        yield " sleep."
        yield ANSWER

    with served(Outside(streams=pieces), maximum_concurrency=64) as service, ThreadPoolExecutor(64) as pool:
        replies = list(pool.map(lambda _: service.post("/v1/query/stream", ASKED), range(64)))
    assert [events(reply.content)[-1][1]["answer"] for reply in replies] == ["They sleep."] * 64


@pytest.mark.parametrize("path", ["/v1/query", "/v1/query/stream", "/v1/chat/completions"])
def test_a_stream_counts_until_its_end(gate: threading.Event, path: str) -> None:
    def pieces(prompt: Prompt) -> Iterator[str | Answer]:
        yield "They"
        gate.wait(PATIENCE_SECONDS)
        yield " sleep."
        yield ANSWER

    with served(Outside(streams=pieces), maximum_concurrency=1) as service:
        with closing(service.connection()) as connection:
            streaming = service.send(connection, "POST", "/v1/query/stream", ASKED)
            refused = service.post(path, {**ASKED, "messages": [{"role": "user", "content": "hi"}]})
            assert refused.error == (503, "busy")
            gate.set()
            read(streaming)
        until(lambda: service.post("/v1/query", ASKED).status == 200, "the place is free again")


def test_a_full_server_refuses_before_it_reads_the_body(gate: threading.Event) -> None:
    outside = Outside(embeds=lambda: _held(gate))
    with served(outside, maximum_concurrency=1) as service, ThreadPoolExecutor(1) as pool:
        first = pool.submit(service.post, "/v1/query", ASKED)
        until(lambda: outside.embedded == 1, "the place is taken")
        with closing(service.connection()) as connection:
            connection.putrequest("POST", "/v1/query")
            connection.putheader("content-length", "100")
            connection.endheaders()
            assert read(connection.getresponse()).error == (503, "busy")
        gate.set()
        assert first.result(PATIENCE_SECONDS).status == 200


def test_whoever_sends_its_body_slowly_takes_no_place() -> None:
    with served(Outside(), maximum_concurrency=1) as service, service.socket() as slow:
        slow.sendall(b'POST /v1/query HTTP/1.1\r\nhost: x\r\ncontent-length: 15\r\n\r\n{"query"')
        assert service.post("/v1/query", ASKED).status == 200
        slow.sendall(b': "hi"}')
        assert b" 200 " in slow.makefile("rb").readline()


def test_a_crowd_that_sends_its_bodies_slowly_is_refused_and_makes_room_when_it_leaves() -> None:
    head = b"POST /v1/query HTTP/1.1\r\nhost: x\r\ncontent-length: 15\r\n\r\n"
    with served(Outside(), maximum_concurrency=2) as service:
        with ExitStack() as slow:
            for _ in range(4):
                slow.enter_context(service.socket()).sendall(head + b'{"query"')
            busy = (503, "busy")
            until(lambda: _fails(service.post("/v1/query", ASKED)) == busy, "four halves are being read")
            refused = service.post("/v1/query", ASKED)
            assert refused.error == busy, "halves of bodies would fill the memory"
        until(lambda: service.post("/v1/query", ASKED).status == 200, "the slow ones have gone")


def test_when_the_client_of_a_plain_answer_leaves_no_further_stage_begins(
    gate: threading.Event, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = Outside(embeds=lambda: _held(gate))
    with served(outside, maximum_concurrency=1) as service:
        with closing(service.connection()) as connection:
            connection.request("POST", "/v1/query", b'{"query": "hi"}')
            until(lambda: outside.embedded == 1, "the question is embedded")
        output: list[str] = []
        until(lambda: _said(capsys, output, "caller_gone"), "the log tells that the client left")
        assert service.post("/v1/query", ASKED).error == (503, "busy"), "its thread still works"
        gate.set()
        until(lambda: service.post("/v1/query", ASKED).status == 200, "the place is free again")
    assert len(outside.filters) == len(outside.prompts) == 1, "the answer that nobody reads was paid for"


@pytest.mark.parametrize("path", ["/v1/query", "/v1/chat/completions"])
def test_when_the_client_of_a_plain_answer_leaves_the_model_s_stream_is_closed(path: str) -> None:
    tick, written, closed = threading.Event(), threading.Event(), threading.Event()

    def pieces(prompt: Prompt) -> Iterator[str | Answer]:
        try:
            for _ in range(100_000):
                yield "word "
                written.set()
                tick.wait(0.001)
        finally:
            closed.set()

    asked = (
        b'{"query": "hi"}' if path == "/v1/query" else b'{"messages": [{"role": "user", "content": "hi"}]}'
    )
    outside = Outside(streams=pieces)
    with served(outside, maximum_concurrency=1) as service:
        with closing(service.connection()) as connection:
            connection.request("POST", path, asked)
            assert written.wait(PATIENCE_SECONDS)
        assert closed.wait(PATIENCE_SECONDS), "tokens that nobody reads would be paid for"
        outside.streams = two_pieces
        until(lambda: service.post("/v1/query", ASKED).status == 200, "the place is free again")


def test_a_service_that_sends_nothing_but_comments_keeps_no_place_for_a_client_that_left() -> None:
    tick = threading.Event()

    def comments() -> Iterator[bytes]:
        for _ in range(100_000):
            yield b": keep-alive\n\n"
            tick.wait(0.001)

    with openai_server() as upstream:
        upstream.reply = (200, comments())
        settings = OpenAISettings(base_url=upstream.base_url, model="gpt", api_key="")
        outside = Outside(streams=lambda prompt: OpenAIAnswerer(settings, 500).stream(prompt, 20))
        with served(outside, maximum_concurrency=1) as service:
            with closing(service.connection()) as connection:
                connection.request("POST", "/v1/query", b'{"query": "hi"}')
                until(lambda: bool(upstream.received), "the service is asked")
            assert upstream.gone.wait(PATIENCE_SECONDS), "the thread listens to comments for ever"
            outside.streams = two_pieces
            until(lambda: service.post("/v1/query", ASKED).status == 200, "the place is free again")


def test_nobody_waits_longer_than_a_request_may_last(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*arguments: Any) -> Iterator[Any]:
        gate.wait(PATIENCE_SECONDS)
        yield from ()

    monkeypatch.setattr("rag_api.answering.stream_answer", never)
    with served(Outside(), request_timeout_seconds=0.05) as service:
        assert service.post("/v1/query", ASKED).error == (504, "out_of_time")
        gate.set()


def test_too_little_time_for_a_single_call_is_a_time_out() -> None:
    outside = Outside()
    with served(outside, request_timeout_seconds=3) as service:
        assert service.post("/v1/query", ASKED).status == 504
    assert outside.embedded == 0


def test_many_questions_in_turn_need_no_more_threads_than_there_are_places() -> None:
    before = len(_threads())
    with served(Outside(), maximum_concurrency=3) as service, ThreadPoolExecutor(3) as pool:
        replies = list(pool.map(lambda _: service.post("/v1/query", ASKED).status, range(60)))
        assert set(replies) <= {200, 503}
        assert len(_threads()) <= before + 3
        assert all(thread.daemon for thread in _threads()), (
            "a call that hangs would keep a stopped process alive"
        )
    until(lambda: len(_threads()) <= before, "the threads end with the server")


def _threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "rag-worker"]


def _held(gate: threading.Event) -> None:
    assert gate.wait(PATIENCE_SECONDS)


def _fails(reply: Reply) -> tuple[int, str] | None:
    return None if reply.status == 200 else reply.error


def _said(capsys: pytest.CaptureFixture[str], output: list[str], word: str) -> bool:
    output.append(capsys.readouterr().out)
    return word in "".join(output)
