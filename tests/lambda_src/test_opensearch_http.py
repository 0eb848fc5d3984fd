"""Requests to the vector store over a real socket: signature, connections, and what a reply becomes."""

import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from botocore.credentials import Credentials
from botocore.exceptions import CredentialRetrievalError, MetadataRetrievalError

from rag import opensearch_http
from rag.deadline import Deadline
from rag.errors import ConfigurationError, ThrottledError, UnavailableError, UpstreamTimeoutError
from rag.opensearch_http import KEPT_CONNECTIONS, OpenSearchHttp

CREDENTIALS = Credentials("key", "secret", "token")


class Server(ThreadingHTTPServer):
    """Replies with `reply` and keeps what it received; waits for `go_on` first."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply: tuple[int, bytes] = (200, b"{}")
        self.received: list[tuple[str, str, dict[str, str], bytes]] = []
        self.connections: set[Any] = set()
        self.go_on = threading.Event()
        self.go_on.set()
        self.arrivals = threading.Semaphore(0)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server: Any = self.server
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        server.received.append((self.command, self.path, headers, body))
        server.connections.add(self.client_address)
        server.arrivals.release()
        server.go_on.wait(20)
        status, content = server.reply
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_DELETE = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.go_on.set()
        server.shutdown()


@pytest.fixture
def http(server: Server) -> OpenSearchHttp:
    return OpenSearchHttp(f"http://127.0.0.1:{server.server_port}", "eu-central-1", CREDENTIALS)


def test_a_request_is_signed_for_the_service_with_the_hash_of_its_body(
    server: Server, http: OpenSearchHttp
) -> None:
    server.reply = (200, b'{"took": 1}')
    reply = http.send("POST", "/documents/_search", {"size": 1}, 20)
    assert (reply.status, reply.document) == (200, {"took": 1})
    method, path, headers, body = server.received[0]
    assert (method, path, json.loads(body)) == ("POST", "/documents/_search", {"size": 1})
    assert "/eu-central-1/aoss/aws4_request" in headers["authorization"]
    assert "x-amz-content-sha256" in headers["authorization"], "the hash must be signed"
    assert headers["x-amz-content-sha256"] == hashlib.sha256(body).hexdigest(), (
        "the store refuses this with 403"
    )
    assert headers["x-amz-security-token"] == "token"
    assert headers["content-type"] == "application/json"


def test_json_lines_go_as_they_are_with_get_too(server: Server, http: OpenSearchHttp) -> None:
    http.send("GET", "/documents/_msearch", b"{}\n{}\n", 20)
    method, _, headers, body = server.received[0]
    assert (method, body) == ("GET", b"{}\n{}\n"), "a search that arrives without its body finds anything"
    assert headers["content-type"] == "application/x-ndjson"


def test_a_request_without_payload_has_neither_body_nor_content_type(
    server: Server, http: OpenSearchHttp
) -> None:
    http.send("GET", "/_alias", None, 20)
    _, _, headers, body = server.received[0]
    assert body == b""
    assert "content-type" not in headers
    assert headers["x-amz-content-sha256"] == hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize(
    ("status", "expected"), [(429, ThrottledError), (500, UnavailableError), (503, UnavailableError)]
)
def test_a_busy_or_broken_store_raises_by_its_status(
    server: Server, http: OpenSearchHttp, status: int, expected: type[Exception]
) -> None:
    server.reply = (status, b"<html>no json</html>")
    with pytest.raises(expected, match=str(status)):
        http.send("POST", "/documents/_search", {}, 20)


def test_a_refusal_is_returned_whatever_its_body(server: Server, http: OpenSearchHttp) -> None:
    server.reply = (403, b"<html>no json</html>")
    reply = http.send("POST", "/documents/_search", {}, 20)
    assert (reply.status, reply.document, reply.error_type, reply.reason) == (403, {}, "", "")


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b"\xff"])
def test_a_success_that_is_no_json_object_is_no_empty_result(
    server: Server, http: OpenSearchHttp, content: bytes
) -> None:
    server.reply = (200, content)
    with pytest.raises(UnavailableError, match="something else than a JSON object"):
        http.send("POST", "/documents/_search", {}, 20)


def test_without_credentials_nothing_is_sent(server: Server) -> None:
    http = OpenSearchHttp(f"http://127.0.0.1:{server.server_port}", "eu-central-1", None)
    with pytest.raises(ConfigurationError, match="credentials"):
        http.send("GET", "/_alias", None, 20)
    assert server.received == []


@pytest.mark.parametrize(
    "raised",
    [
        CredentialRetrievalError(provider="container-role", error_msg="secret"),
        MetadataRetrievalError(error_msg="secret"),
    ],
)
def test_credentials_that_cannot_be_renewed_at_the_moment_are_an_error_of_ours(
    server: Server, raised: Exception
) -> None:
    class Expired:
        def get_frozen_credentials(self) -> Any:
            raise raised

    http = OpenSearchHttp(f"http://127.0.0.1:{server.server_port}", "eu-central-1", Expired())
    with pytest.raises(UnavailableError, match="no credentials") as error:
        http.send("GET", "/_alias", None, 20)
    assert "secret" not in str(error.value)
    assert server.received == []


def test_a_store_that_cannot_be_reached_is_unavailable() -> None:
    http = OpenSearchHttp("http://127.0.0.1:1", "eu-central-1", CREDENTIALS)
    with pytest.raises(UnavailableError, match="could not be reached"):
        http.send("GET", "/_alias", None, 20)


def test_a_store_that_says_nothing_in_time_is_a_timeout(server: Server, http: OpenSearchHttp) -> None:
    server.go_on.clear()
    instant: Any = 0.05
    with pytest.raises(UpstreamTimeoutError):
        http.send("GET", "/_alias", None, instant)


def test_sixty_four_threads_share_kept_connections(server: Server, http: OpenSearchHttp) -> None:
    def burst() -> None:
        server.go_on.clear()
        with ThreadPoolExecutor(KEPT_CONNECTIONS) as pool:
            for _ in range(KEPT_CONNECTIONS):
                pool.submit(http.send, "GET", "/_alias", None, 35)
            for _ in range(KEPT_CONNECTIONS):
                assert server.arrivals.acquire(timeout=20), "a request waits for another one's connection"
            server.go_on.set()

    burst()
    burst()
    assert len(server.connections) == KEPT_CONNECTIONS, "each burst would pay for new TLS connections"


def test_one_request_after_the_other_uses_one_connection(server: Server, http: OpenSearchHttp) -> None:
    for _ in range(3):
        http.send("GET", "/_alias", None, 35)
    assert len(server.connections) == 1


def test_a_deadline_that_runs_out_makes_few_pools_of_connections(http: OpenSearchHttp) -> None:
    timeouts = {Deadline(lambda left=left: left / 7).read_timeout_seconds(35) for left in range(60, 700)}
    assert len(timeouts) < 12, "each time-out keeps connections of its own"


def test_a_request_is_not_held_back_until_the_last_packet_was_acknowledged(
    http: OpenSearchHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[dict[str, Any]] = []

    class Recording(opensearch_http.URLLib3Session):
        def __init__(self, **options: Any) -> None:
            made.append(options)
            super().__init__(**options)

    monkeypatch.setattr(opensearch_http, "URLLib3Session", Recording)
    http.send("POST", "/documents/_search", {}, 5)
    assert (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1) in made[0]["socket_options"], (
        "each search would take some 40 ms longer"
    )
