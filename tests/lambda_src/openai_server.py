"""An OpenAI-compatible service on loopback that gives the reply a test chose."""

import json
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 3, "completion_tokens": 2}


class Server(ThreadingHTTPServer):
    """Gives one reply to everything and keeps what it received.

    A list or an iterator as reply is streamed, each item a piece of its own; an exception in it cuts the connection, and a
    threading.Event waits until the client has gone or the test is over.
    """

    reply: tuple[int, Any]
    received: list[tuple[str, dict[str, str], dict[str, Any]]]
    connections: set[Any]
    gone: threading.Event

    @property
    def base_url(self) -> str:
        """Where clients find it."""
        return f"http://127.0.0.1:{self.server_port}/v1"

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
        if isinstance(reply, list | Iterator):
            self._stream(server, reply)
        else:
            content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def _stream(self, server: Server, pieces: Iterable[Any]) -> None:
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
            try:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            except OSError:
                server.gone.set()
                raise
        self.wfile.write(b"0\r\n\r\n")

    def _wait_for_the_end(self, server: Server) -> None:
        """A client that closes its connection is seen as an empty read; one that never does is waited for in vain."""
        self.close_connection = True
        self.connection.settimeout(10)
        with suppress(TimeoutError):
            try:
                left = self.connection.recv(1) == b""
            except ConnectionError:
                left = True
            if left:
                server.gone.set()

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""


@contextmanager
def openai_server() -> Generator[Server]:
    """The running service."""
    with Server(("127.0.0.1", 0), Handler) as server:
        server.received, server.connections, server.gone = [], set(), threading.Event()
        server.reply = (200, completion("They sleep."))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def completion(content: Any, finish_reason: str = "stop") -> dict[str, Any]:
    """A plain reply."""
    message = {"role": "assistant", "content": content}
    return {"choices": [{"message": message, "finish_reason": finish_reason}], "usage": USAGE}


def delta(finish_reason: str | None = None, **delta: Any) -> dict[str, Any]:
    """An event of a stream."""
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}], "usage": None}
