"""A small HTTP server on the loopback interface: what every stand-in is served with."""

import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Generator, Mapping, MutableMapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

# What a stand-in remembers of the calls it got: a platform on one machine may run for weeks.
KEPT_CALLS = 1000


class Cut(Exception):
    """Raised while a reply is sent: the connection is closed in the middle of it."""


@dataclass(frozen=True)
class Request:
    """`target` is path and query as they came over the wire; names of headers are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A generator as `body` is sent in chunks, each as soon as it is there."""

    status: int = 200
    body: bytes | Generator[bytes] = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


Handle = Callable[[Request], Reply]


def json_reply(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(status=status, body=json.dumps(document).encode(), headers=headers or {})


def leave_proxies(environment: MutableMapping[str, str] = os.environ) -> None:
    """Take a network's proxies out of `environment`: they would be asked for what runs on this machine."""
    for name in [name for name in environment if name.lower().endswith("_proxy")]:
        del environment[name]
    # Without any variable some libraries ask the system for its proxies.
    environment["NO_PROXY"] = "127.0.0.1,localhost"


@contextmanager
def serving(handle: Handle, port: int = 0) -> Generator[str]:
    """The address under which `handle` answers; any free port by default. Nothing is left when it closes."""
    server = _Server(("127.0.0.1", port), handle)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.end_connections()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # closing waits for the threads, so that none outlives its test
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], answer_with: Handle) -> None:
        super().__init__(address, _Handler)
        self.answer_with = answer_with
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is none of our faults; anything else is shown."""
        if not isinstance(sys.exception(), ConnectionError | Cut):
            super().handle_error(request, client_address)

    def end_connections(self) -> None:
        """Connections that clients keep open end here; their threads see the end and finish."""
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def answer(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = cast(_Server, self.server).answer_with(
            Request(self.command, self.path, headers, self.rfile.read(length))
        )
        self.send_response(reply.status)
        self.send_header("content-type", reply.content_type)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if isinstance(reply.body, bytes):
            self._send_whole(reply.body)
        else:
            self._send_chunks(reply.body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = answer

    def _send_whole(self, body: bytes) -> None:
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_chunks(self, chunks: Generator[bytes]) -> None:
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        with closing(chunks):
            for chunk in chunks:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *arguments: Any) -> None:
        """Stand-ins are quiet."""
