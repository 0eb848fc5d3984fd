"""Answers from an OpenAI-compatible service, against a loopback server."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from rag.errors import ConfigurationError, PipelineError, ThrottledError, UnavailableError
from rag.prompt import SYSTEM_TEXT
from rag_api.openai_answer import OpenAIAnswerer
from rag_api.settings import OpenAISettings
from tests.lambda_src.fakes import passage


class Server(HTTPServer):
    """Gives one reply to everything and keeps what it received."""

    reply: tuple[int, Any]
    received: list[tuple[str, dict[str, str], dict[str, Any]]]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: Any = self.server
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        server.received.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        status, reply = server.reply
        content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("location", "/elsewhere")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.received = []
        server.reply = (200, completion("They sleep."))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def completion(text: str | None) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}


def answerer(server: Server, api_key: str = "sk-1") -> OpenAIAnswerer:
    base_url = f"http://127.0.0.1:{server.server_port}/v1"
    return OpenAIAnswerer(OpenAISettings(base_url=base_url, model="gpt", api_key=api_key))


def test_an_answer_comes_from_chat_completions(server: Server) -> None:
    result = answerer(server)("Why?", [passage()], 5)
    assert (result.text, result.stop_reason, result.input_tokens, result.output_tokens) == (
        "They sleep.",
        "stop",
        3,
        2,
    )
    path, headers, body = server.received[0]
    assert (path, headers["authorization"], body["model"]) == ("/v1/chat/completions", "Bearer sk-1", "gpt")
    assert body["messages"][0] == {"role": "system", "content": SYSTEM_TEXT}
    assert "Cats sleep a lot." in body["messages"][1]["content"]
    assert body["max_completion_tokens"] > 0
    assert "temperature" not in body


def test_without_a_key_none_is_sent(server: Server) -> None:
    answerer(server, api_key="")("Why?", [passage()], 5)
    assert "authorization" not in server.received[0][1]


@pytest.mark.parametrize("text", [None, "", " "])
def test_an_empty_completion_is_no_answer(server: Server, text: str | None) -> None:
    server.reply = (200, completion(text))
    assert answerer(server)("Why?", [passage()], 5).text is None


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ((429, {}), ThrottledError),
        ((503, {}), UnavailableError),
        ((401, {"error": "sk-1"}), ConfigurationError),
        ((307, {}), ConfigurationError),
        ((200, b"<html>"), UnavailableError),
        ((200, {"choices": []}), UnavailableError),
        ((200, [1]), UnavailableError),
    ],
)
def test_whatever_goes_wrong_is_an_error_of_ours(
    server: Server, reply: tuple[int, Any], expected: type[PipelineError]
) -> None:
    server.reply = reply
    with pytest.raises(expected) as error:
        answerer(server)("Why?", [passage()], 5)
    assert "sk-1" not in str(error.value)
    assert len(server.received) == 1, "a redirect was followed with the key"


def test_a_server_that_cannot_be_reached_is_unavailable() -> None:
    settings = OpenAISettings(base_url="http://127.0.0.1:1/v1", model="gpt", api_key="")
    with pytest.raises(UnavailableError):
        OpenAIAnswerer(settings)("Why?", [passage()], 5)
