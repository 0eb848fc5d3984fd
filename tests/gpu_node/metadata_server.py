"""A metadata service on the loopback interface that answers as a test says, byte for byte where it wants to."""

import socketserver
import threading
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager

TOKEN = "/latest/api/token"
NOTICE = "/latest/meta-data/spot/instance-action"
REBALANCE = "/latest/meta-data/events/recommendations/rebalance"

# What EC2 sends, as its user guide shows it.
TERMINATE = '{"action": "terminate", "time": "2026-12-01T08:22:00Z"}'
RECOMMENDATION = '{"noticeTime": "2026-12-01T08:02:00Z"}'


def answer(status: int, body: str = "") -> bytes:
    """One HTTP response."""
    content = body.encode("utf-8", "surrogatepass")
    return f"HTTP/1.1 {status} \r\nContent-Length: {len(content)}\r\n\r\n".encode() + content


class MetadataServer(socketserver.ThreadingTCPServer):
    """Answers each path with what stands for it in `answers`, a function of the session token; 404 for the rest.

    None is no answer at all: the connection stays open until the server ends.
    """

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.requests: dict[str, list[str]] = defaultdict(list)
        self.answers: dict[str, Callable[[str], bytes | None]] = {}
        self.ended = threading.Event()
        self.reset()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def reset(self) -> None:
        """Forgets everything: tokens are T1, T2 and so on, and nothing is announced."""
        self.requests.clear()
        self.answers.clear()
        self.answers[TOKEN] = lambda _: answer(200, f"T{len(self.requests[TOKEN])}")

    def announce(self, path: str, body: str, status: int = 200) -> None:
        self.answers[path] = lambda _: answer(status, body)


class _Connection(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, MetadataServer)
        lines = self.request.recv(65536).decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        if (method == "PUT") != (path == TOKEN):
            raise AssertionError(f"EC2 knows no {method} {path}")
        if path == TOKEN and not headers["x-aws-ec2-metadata-token-ttl-seconds"].isdigit():
            raise AssertionError("EC2 gives no token without a lifetime")
        token = headers.get("x-aws-ec2-metadata-token", "")
        self.server.requests[path].append(token)
        found = self.server.answers.get(path, lambda _: answer(404))(token)
        if found is None:
            self.server.ended.wait()
        else:
            self.request.sendall(found)


@contextmanager
def metadata_server() -> Generator[MetadataServer]:
    """A server that runs for as long as the block does."""
    with MetadataServer() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
