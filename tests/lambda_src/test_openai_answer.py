"""Answers from an OpenAI-compatible service, against a loopback server: whole, streamed, refused and broken off."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from rag.answers import Answer, Prompt, Turn
from rag.errors import (
    ConfigurationError,
    PipelineError,
    ThrottledError,
    UnavailableError,
    UpstreamTimeoutError,
)
from rag.openai_answer import OpenAIAnswerer, OpenAISettings

PROMPT = Prompt(
    system_text="Rules.",
    user_text="Why?",
    history=(Turn(role="user", text="Hi."), Turn(role="assistant", text="Hello.")),
)
USAGE = {"prompt_tokens": 3, "completion_tokens": 2}


class Server(ThreadingHTTPServer):
    """Gives one reply to everything and keeps what it received.

    A list as reply is streamed, each item a piece of its own; an exception in it cuts the connection, and a
    threading.Event waits until the client has gone or the test is over.
    """

    reply: tuple[int, Any]
    received: list[tuple[str, dict[str, str], dict[str, Any]]]
    connections: set[Any]
    gone: threading.Event

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle of a reply is what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server: Any = self.server
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        server.received.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        server.connections.add(self.client_address)
        status, reply = server.reply
        self.send_response(status)
        self.send_header("location", "/elsewhere")
        if isinstance(reply, list):
            self._stream(server, reply)
        else:
            content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def _stream(self, server: Server, pieces: list[Any]) -> None:
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            if isinstance(piece, threading.Event):
                self._wait_for_the_end(server)
                return
            if isinstance(piece, Exception):
                self.close_connection = True
                return
            data = piece if isinstance(piece, bytes) else b"data: " + json.dumps(piece).encode() + b"\n\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def _wait_for_the_end(self, server: Server) -> None:
        """A client that closes its connection is seen as an empty read."""
        self.close_connection = True
        self.connection.settimeout(10)
        try:
            if self.connection.recv(1) == b"":
                server.gone.set()
        except OSError:
            server.gone.set()

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.received, server.connections, server.gone = [], set(), threading.Event()
        server.reply = (200, completion("They sleep."))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def completion(content: Any, finish_reason: str = "stop") -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    return {"choices": [{"message": message, "finish_reason": finish_reason}], "usage": USAGE}


def delta(finish_reason: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}], "usage": None}


STREAM: list[Any] = [
    b": keep-alive\n\n",
    delta(role="assistant", content=""),
    delta(reasoning_content="Hm."),
    delta(content="They "),
    delta(content="sleep."),
    delta(finish_reason="stop"),
    {"choices": [], "usage": USAGE},
    b"data: [DONE]\n\n",
]


def answerer(server: Server, api_key: str = "sk-1", temperature: float | None = None) -> OpenAIAnswerer:
    base_url = f"http://127.0.0.1:{server.server_port}/v1"
    return OpenAIAnswerer(OpenAISettings(base_url=base_url, model="gpt", api_key=api_key), 1024, temperature)


def test_an_answer_comes_from_chat_completions(server: Server) -> None:
    answer = answerer(server).answer(PROMPT, 5)
    assert answer == Answer(text="They sleep.", stop_reason="stop", input_tokens=3, output_tokens=2)
    path, headers, body = server.received[0]
    assert (path, headers["authorization"]) == ("/v1/chat/completions", "Bearer sk-1")
    assert body == {
        "model": "gpt",
        "messages": [
            {"role": "system", "content": "Rules."},
            {"role": "user", "content": "Hi."},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "Why?"},
        ],
        "max_completion_tokens": 1024,
    }


def test_a_stream_brings_the_text_in_pieces_and_then_the_same_answer(server: Server) -> None:
    server.reply = (200, STREAM)
    *pieces, last = answerer(server).stream(PROMPT, 5)
    assert last == Answer(text="They sleep.", stop_reason="stop", input_tokens=3, output_tokens=2)
    assert [piece for piece in pieces if piece] == ["They ", "sleep."]
    assert "" in pieces, "while the model thinks nobody could look whether the caller is still there"
    body = server.received[0][2]
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


def test_a_sampling_parameter_is_sent_only_when_it_is_set(server: Server) -> None:
    answerer(server, temperature=0.0).answer(PROMPT, 5)
    assert server.received[0][2]["temperature"] == 0.0


def test_without_a_key_none_is_sent(server: Server) -> None:
    answerer(server, api_key="").answer(PROMPT, 5)
    assert "authorization" not in server.received[0][1]


def test_a_connection_is_kept_between_answers(server: Server) -> None:
    one = answerer(server)
    for _ in range(3):
        one.answer(PROMPT, 5)
    assert len(server.connections) == 1, "every answer pays for a new connection"


@pytest.mark.parametrize("content", [None, "", " ", []])
def test_an_empty_completion_is_no_answer(server: Server, content: Any) -> None:
    server.reply = (200, completion(content))
    assert answerer(server).answer(PROMPT, 5).text is None


def test_parts_of_a_message_are_picked_by_type(server: Server) -> None:
    parts = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "They sleep."}]
    server.reply = (200, completion(parts))
    assert answerer(server).answer(PROMPT, 5).text == "They sleep."
    server.reply = (200, [delta(content=parts), delta(finish_reason="stop")])
    assert list(answerer(server).stream(PROMPT, 5))[0] == "They sleep."


@pytest.mark.parametrize(
    ("finish_reason", "truncated"), [("stop", False), ("length", True), ("content_filter", True)]
)
def test_an_answer_that_was_cut_off_is_flagged(server: Server, finish_reason: str, truncated: bool) -> None:
    server.reply = (200, completion("They", finish_reason))
    assert answerer(server).answer(PROMPT, 5).truncated == truncated
    server.reply = (200, [delta(content="They"), delta(finish_reason=finish_reason)])
    *_, last = answerer(server).stream(PROMPT, 5)
    assert isinstance(last, Answer) and last.truncated == truncated


def test_a_stream_without_usage_counts_no_tokens(server: Server) -> None:
    server.reply = (200, [delta(content="Yes."), delta(finish_reason="stop"), b"data: [DONE]\n\n"])
    *_, last = answerer(server).stream(PROMPT, 5)
    assert last == Answer(text="Yes.", stop_reason="stop")


REFUSALS: list[tuple[tuple[int, Any], type[PipelineError]]] = [
    ((429, {}), ThrottledError),
    ((503, {}), UnavailableError),
    ((504, {}), UpstreamTimeoutError),
    ((401, {"error": "sk-1"}), ConfigurationError),
    ((307, {}), ConfigurationError),
]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        *REFUSALS,
        ((200, b"<html>"), UnavailableError),
        ((200, b"\xff"), UnavailableError),
        ((200, b"[" * 100_000), UnavailableError),
        ((200, {"choices": []}), UnavailableError),
        ((200, {"choices": 7}), UnavailableError),
        ((200, completion(7)), UnavailableError),
        ((200, [1]), UnavailableError),
        ((200, {"error": {"code": 429}}), ThrottledError),
    ],
)
def test_whatever_goes_wrong_is_an_error_of_ours(
    server: Server, reply: tuple[int, Any], expected: type[PipelineError]
) -> None:
    server.reply = reply if reply[1] != [1] else (200, b"[1]")
    with pytest.raises(expected) as error:
        answerer(server).answer(PROMPT, 5)
    assert "sk-1" not in str(error.value)
    assert len(server.received) == 1, "a redirect was followed with the key"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        *REFUSALS,
        ((200, [b"data: {\n\n"]), UnavailableError),
        ((200, [b"data: 7\n\n"]), UnavailableError),
        ((200, [delta(content="They"), b'data: {"choices": [{\n\n']), UnavailableError),
        (
            (200, [delta(content="They"), {"error": {"type": "server_error", "message": "sk-1"}}]),
            UnavailableError,
        ),
        ((200, [delta(content="They"), {"error": {"type": "rate_limit_error"}}]), ThrottledError),
        ((200, [delta(content="They"), ConnectionResetError()]), UnavailableError),
        ((200, [delta(content="They")]), UnavailableError),
        ((200, [b"x" * 5_000_000]), UnavailableError),
    ],
)
def test_a_stream_that_breaks_off_is_an_error_of_ours(
    server: Server, reply: tuple[int, Any], expected: type[PipelineError]
) -> None:
    server.reply = reply
    with pytest.raises(expected) as error:
        list(answerer(server).stream(PROMPT, 5))
    assert "sk-1" not in str(error.value)
    assert len(server.received) == 1


def test_a_service_that_stops_in_the_middle_of_a_stream_is_given_up(server: Server) -> None:
    server.reply = (200, [delta(content="They"), threading.Event()])
    stream = answerer(server).stream(PROMPT, 1)
    assert next(stream) == "They"
    with pytest.raises(UpstreamTimeoutError):
        next(stream)


def test_closing_a_stream_closes_its_connection(server: Server) -> None:
    server.reply = (200, [delta(content="They"), threading.Event()])
    stream: Any = answerer(server).stream(PROMPT, 5)
    assert next(stream) == "They", "a piece is shown only when the next one comes"
    stream.close()
    assert server.gone.wait(5), "the model goes on working for nobody"


def test_a_server_that_cannot_be_reached_is_unavailable() -> None:
    unreachable = OpenAISettings(base_url="http://127.0.0.1:1/v1", model="gpt", api_key="")
    with pytest.raises(UnavailableError):
        OpenAIAnswerer(unreachable, 1024).answer(PROMPT, 5)


def test_the_key_is_not_shown_with_the_settings() -> None:
    assert "sk-1" not in repr(OpenAISettings(base_url="http://a", model="gpt", api_key="sk-1"))
