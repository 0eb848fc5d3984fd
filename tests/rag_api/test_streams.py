"""Server-sent events over real sockets: order, heartbeats, slow clients, clients that leave, time limits."""

import json
import threading
from collections.abc import Generator, Iterator
from contextlib import closing
from http.client import HTTPResponse
from typing import Any

import pytest

from rag.answers import Answer, Prompt
from rag.errors import ThrottledError
from rag.results import Delta
from rag_api.bridge import ITEMS_AHEAD
from tests.rag_api.scene import ANSWER, PATIENCE_SECONDS, Outside, events, read, served, two_pieces, until

SOURCES = [{"document_key": "raw/pdfs/cats.pdf", "page": 7, "score": 0.9}]
STREAM = "/v1/query/stream"
ASKED = {"query": "hi"}


@pytest.fixture
def gate() -> Generator[threading.Event]:
    """Holds a thread of the service until the test opens it; open at the end whatever happens."""
    event = threading.Event()
    yield event
    event.set()


def held(gate: threading.Event) -> None:
    """Wait in a thread of the service."""
    assert gate.wait(PATIENCE_SECONDS)


def test_sources_come_first_then_the_text_and_last_the_whole_result() -> None:
    with served(Outside()) as service:
        reply = service.post(STREAM, ASKED)
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert reply.headers["cache-control"] == "no-cache"
    assert reply.headers["x-accel-buffering"] == "no", "a proxy would hold the text back"
    found = events(reply.content)
    assert [name for name, _ in found] == ["sources", "delta", "delta", "result"]
    assert found[0][1] == {"sources": SOURCES}
    assert found[1][1]["text"] + found[2][1]["text"] == found[3][1]["answer"] == "They sleep."
    assert found[3][1]["usage"] == {"input_tokens": 3, "output_tokens": 2, "embedding_tokens": 5}
    assert found[3][1]["request_id"] == reply.headers["x-request-id"]


def test_the_text_arrives_while_the_model_still_writes(gate: threading.Event) -> None:
    def pieces(prompt: Prompt) -> Iterator[str | Answer]:
        yield "They"
        held(gate)
        yield " sleep."
        yield ANSWER

    with served(Outside(streams=pieces)) as service, closing(service.connection()) as connection:
        response = service.send(connection, "POST", STREAM, ASKED)
        assert _until_event(response, "delta") == {"text": "They"}
        gate.set()
        assert [name for name, _ in events(read(response).content)] == ["delta", "result"]


def test_a_text_of_any_characters_stays_one_event() -> None:
    text = 'a\nb\r\nc\u2028d: "e"\n\nevent: error \U0001f600'

    def pieces(prompt: Prompt) -> Iterator[str | Answer]:
        yield text
        yield Answer(text=text, stop_reason="end_turn")

    with served(Outside(streams=pieces)) as service:
        found = events(service.post(STREAM, ASKED).content)
    assert [name for name, _ in found] == ["sources", "delta", "result"], "a document could forge events"
    assert found[1][1]["text"] == found[2][1]["answer"] == text


def test_a_quiet_stream_is_kept_open_by_comments(gate: threading.Event) -> None:
    outside = Outside(embeds=lambda: held(gate))
    with served(outside, heartbeat_seconds=0.01) as service, closing(service.connection()) as connection:
        response = service.send(connection, "POST", STREAM, ASKED)
        assert response.status == 200, "the balancer would give up before the first word"
        assert [response.readline() for _ in range(4)] == [b": ping\n", b"\n", b": ping\n", b"\n"]
        gate.set()
        assert events(read(response).content)[-1][0] == "result"


def test_a_failure_in_the_middle_is_the_last_event() -> None:
    def pieces(prompt: Prompt) -> Iterator[str | Answer]:
        yield "They"
        raise ThrottledError("inner")

    with served(Outside(streams=pieces)) as service:
        reply = service.post(STREAM, ASKED)
    name, body = events(reply.content)[-1]
    assert (reply.status, name) == (200, "error")
    assert body["error"]["code"] == "throttled"
    assert body["request_id"] == reply.headers["x-request-id"]
    assert b"inner" not in reply.content


def test_a_time_out_that_the_pipeline_did_not_expect_is_no_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    def parts(*arguments: Any) -> Iterator[Any]:
        raise TimeoutError
        yield

    monkeypatch.setattr("rag_api.api.stream_answer", parts)
    with served(Outside()) as service:
        reply = service.post(STREAM, ASKED)
    assert reply.error == (500, "internal_error"), "the stream would send comments for ever"


def test_a_failure_after_a_heartbeat_is_an_event_too(gate: threading.Event) -> None:
    def fail() -> None:
        held(gate)
        raise ThrottledError("inner")

    outside = Outside(embeds=fail)
    with served(outside, heartbeat_seconds=0.01) as service, closing(service.connection()) as connection:
        response = service.send(connection, "POST", STREAM, ASKED)
        gate.set()
        assert events(read(response).content)[-1][0] == "error"


def test_a_client_that_leaves_ends_the_model_s_stream() -> None:
    tick, closed = threading.Event(), threading.Event()

    def pieces(prompt: Prompt) -> Iterator[str | Answer]:
        try:
            for _ in range(100_000):
                yield "word "
                tick.wait(0.001)
        finally:
            closed.set()

    outside = Outside(streams=pieces)
    with served(outside, maximum_concurrency=1) as service:
        with closing(service.connection()) as connection:
            _until_event(service.send(connection, "POST", STREAM, ASKED), "delta")
            connection.close()
        assert closed.wait(PATIENCE_SECONDS), "tokens that nobody reads would be paid for"
        outside.streams = two_pieces
        until(lambda: service.post("/v1/query", ASKED).status == 200, "the place is free again")


class NotingSemaphore(threading.Semaphore):
    """Tells when somebody has to wait."""

    waited = threading.Event()

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        if super().acquire(blocking=False):
            return True
        self.waited.set()
        return super().acquire(blocking, timeout)


def test_a_client_that_reads_slowly_holds_up_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_api.bridge.threading.Semaphore", NotingSemaphore)
    size, pieces_in_all, sent = 500_000, 200, [0]
    NotingSemaphore.waited.clear()

    def pieces(prompt: Prompt) -> Iterator[str | Answer]:
        for _ in range(pieces_in_all):
            sent[0] += 1
            yield "x" * size
        yield ANSWER

    with served(Outside(streams=pieces)) as service, closing(service.connection()) as connection:
        response = service.send(connection, "POST", STREAM, ASKED)
        assert NotingSemaphore.waited.wait(PATIENCE_SECONDS), "everything would be held in memory"
        until(lambda: sent[0] > ITEMS_AHEAD, "the model is ahead")
        connection_is_full = sent[0]
        assert connection_is_full < pieces_in_all / 2, "the model went on without its reader"
        read_on = response.read(pieces_in_all * size // 2)
        assert len(read_on) == pieces_in_all * size // 2, "the model never went on"


def test_a_client_that_never_reads_does_not_outlive_the_request_s_time(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_api.events.LAST_WORDS_SECONDS", 0.01)
    ended = threading.Event()

    def parts(*arguments: Any) -> Iterator[Any]:
        try:
            yield from endless()
        finally:
            ended.set()

    monkeypatch.setattr("rag_api.api.stream_answer", parts)
    with (
        served(Outside(), request_timeout_seconds=0.3) as service,
        closing(service.connection()) as connection,
    ):
        assert service.send(connection, "POST", STREAM, ASKED).status == 200
        assert ended.wait(PATIENCE_SECONDS), "a client that reads nothing would keep a thread for ever"
        until(lambda: "without completing response" in caplog.text, "uvicorn closes the connection")


def endless() -> Iterator[Delta]:
    while True:
        yield Delta("x" * 100_000)


def test_a_stream_that_outlives_the_request_s_time_ends_with_an_error(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parts(*arguments: Any) -> Iterator[Any]:
        held(gate)
        yield from ()

    monkeypatch.setattr("rag_api.api.stream_answer", parts)
    with served(Outside(), heartbeat_seconds=0.01, request_timeout_seconds=0.2) as service:
        reply = service.post(STREAM, ASKED)
        gate.set()
    name, body = events(reply.content)[-1]
    assert (name, body["error"]["code"]) == ("error", "out_of_time")


def test_a_stream_without_a_result_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_api.api.stream_answer", lambda *arguments: (part for part in ()))
    with served(Outside()) as service:
        assert service.post(STREAM, ASKED).error == (500, "internal_error")


def _until_event(response: HTTPResponse, name: str) -> Any:
    """The data of the next event called `name`."""
    while True:
        line = response.readline().decode().rstrip("\n")
        if line == f"event: {name}":
            return json.loads(response.readline().decode().removeprefix("data: "))
        assert line is not None
