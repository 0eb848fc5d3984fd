"""The vector store's client against a loopback server that checks signature, hash and shape."""

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from botocore.credentials import Credentials

from rag.errors import ConfigurationError, SearchError, ThrottledError, UnavailableError
from rag.opensearch_http import OpenSearchHttp
from rag.search import IndexedChunk, OpenSearchClient


class Server(HTTPServer):
    """Replies with what was queued and keeps what it received."""

    replies: list[tuple[int, Any]]
    received: list[tuple[str, str, dict[str, str], bytes]]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: Any = self.server
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        server.received.append((self.command, self.path, headers, body))
        status, reply = server.replies.pop(0)
        content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.replies, server.received = [], []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()


@pytest.fixture
def client(server: Server) -> OpenSearchClient:
    endpoint = f"http://127.0.0.1:{server.server_port}"
    return OpenSearchClient(OpenSearchHttp(endpoint, "eu-central-1", Credentials("key", "secret", "token")))


def a_chunk(number: int) -> IndexedChunk:
    return IndexedChunk(
        document_key="raw/a.txt", chunk_number=number, text="t", model_id="m", embedding=[0.5, 0.5]
    )


def bulk_reply(*items: dict[str, Any]) -> dict[str, Any]:
    return {
        "errors": any(item["status"] >= 300 for item in items),
        "items": [{"index": item} for item in items],
    }


def test_a_search_is_signed_for_aoss_and_returns_passages(server: Server, client: OpenSearchClient) -> None:
    source = {"text": "Cats.", "document_key": "raw/a.txt", "chunk_number": 3}
    server.replies = [(200, {"hits": {"hits": [{"_id": "1", "_score": 1.5, "_source": source}]}})]
    found = client.search("documents", [0.5, 0.5], 4)
    assert [(one.text, one.document_key, one.chunk_number, one.score) for one in found] == [
        ("Cats.", "raw/a.txt", 3, 1.5)
    ]
    method, path, headers, body = server.received[0]
    assert (method, path) == ("POST", "/documents/_search")
    assert "/eu-central-1/aoss/aws4_request" in headers["authorization"]
    assert "x-amz-content-sha256" in headers["authorization"], "the hash must be signed"
    assert headers["x-amz-content-sha256"] == hashlib.sha256(body).hexdigest(), (
        "the store refuses this with 403"
    )
    assert headers["x-amz-security-token"] == "token"
    assert json.loads(body)["query"] == {"knn": {"embedding": {"vector": [0.5, 0.5], "k": 4}}}


def test_own_ids_are_sent_where_given_and_left_out_where_not(
    server: Server, client: OpenSearchClient
) -> None:
    server.replies = [
        (200, bulk_reply({"_id": "x-0", "status": 201})),
        (200, bulk_reply({"_id": "g", "status": 201})),
    ]
    assert client.bulk_index("documents", [a_chunk(0)], ["x-0"]) == ["x-0"]
    assert client.bulk_index("documents", [a_chunk(0)], None) == ["g"]
    actions = [json.loads(body.splitlines()[0]) for *_, body in server.received]
    assert actions == [{"index": {"_id": "x-0"}}, {"index": {}}], "CLASSIC refuses a bulk request with ids"
    assert server.received[0][2]["content-type"] == "application/x-ndjson"
    assert json.loads(server.received[0][3].splitlines()[1])["document_key"] == "raw/a.txt"


def test_many_chunks_go_in_requests_of_a_hundred_and_keep_their_order(
    server: Server, client: OpenSearchClient
) -> None:
    ids = [f"x-{number}" for number in range(101)]
    server.replies = [
        (200, bulk_reply(*({"_id": one, "status": 201} for one in ids[:100]))),
        (200, bulk_reply({"_id": ids[100], "status": 201})),
    ]
    assert client.bulk_index("documents", [a_chunk(number) for number in range(101)], ids) == ids


def test_a_failed_item_of_a_bulk_request_is_an_error_without_document_text(
    server: Server, client: OpenSearchClient
) -> None:
    error = {"type": "mapper_parsing_exception", "reason": "Preview of field's value: 'secret'"}
    server.replies = [
        (200, bulk_reply({"_id": "1", "status": 201}, {"_id": "2", "status": 400, "error": error}))
    ]
    with pytest.raises(SearchError) as caught:
        client.bulk_index("documents", [a_chunk(0), a_chunk(1)], None)
    assert "1 of 2 items" in str(caught.value)
    assert "mapper_parsing_exception" in str(caught.value)
    assert "secret" not in str(caught.value), "document text would reach the log"


def test_throttled_items_are_worth_another_attempt(server: Server, client: OpenSearchClient) -> None:
    server.replies = [(200, bulk_reply({"_id": "1", "status": 429, "error": {"type": "rejected"}}))]
    with pytest.raises(ThrottledError):
        client.bulk_index("documents", [a_chunk(0)], None)


def test_deleting_what_is_gone_is_no_error(server: Server, client: OpenSearchClient) -> None:
    server.replies = [(200, {"items": [{"delete": {"_id": "1", "status": 404}}]})]
    client.bulk_delete("documents", ["1"])
    client.bulk_delete("documents", [])
    assert len(server.received) == 1, "an empty bulk request is answered with 400"


@pytest.mark.parametrize(
    ("status", "expected"),
    [(429, ThrottledError), (503, UnavailableError), (403, SearchError), (400, SearchError)],
)
def test_a_refused_search_raises_by_its_status(
    server: Server, client: OpenSearchClient, status: int, expected: type[Exception]
) -> None:
    server.replies = [(status, b"<html>no json</html>")]
    with pytest.raises(expected):
        client.search("documents", [0.5], 1)


def test_the_ids_of_a_document_are_found_by_its_key(server: Server, client: OpenSearchClient) -> None:
    server.replies = [(200, {"hits": {"hits": [{"_id": "a"}, {"_id": "b"}]}})]
    assert client.document_ids("documents", "raw/a.txt") == {"a", "b"}
    assert json.loads(server.received[0][3])["query"] == {"term": {"document_key": "raw/a.txt"}}


def test_a_missing_index_has_no_dimension_and_a_missing_alias_no_target(
    server: Server, client: OpenSearchClient
) -> None:
    missing = {"error": {"type": "index_not_found_exception"}, "status": 404}
    properties = {"embedding": {"type": "knn_vector", "dimension": 512}}
    server.replies = [
        (404, missing),
        (200, {"documents-1": {"mappings": {"properties": properties}}}),
        (404, {"error": "alias [documents] missing", "status": 404}),
        (200, {"documents-1": {"aliases": {"documents": {}}}}),
        (404, missing),
    ]
    assert client.index_dimension("documents-1") is None
    assert client.index_dimension("documents-1") == 512
    assert client.alias_targets("documents") == []
    assert client.alias_targets("documents") == ["documents-1"]
    with pytest.raises(SearchError):
        client.alias_targets("documents")


def test_without_credentials_nothing_is_sent(server: Server) -> None:
    http = OpenSearchHttp(f"http://127.0.0.1:{server.server_port}", "eu-central-1", None)
    with pytest.raises(ConfigurationError, match="credentials"):
        OpenSearchClient(http).search("documents", [0.5], 1)
    assert server.received == []


def test_a_collection_that_cannot_be_reached_is_unavailable() -> None:
    http = OpenSearchHttp("http://127.0.0.1:1", "eu-central-1", Credentials("key", "secret"))
    with pytest.raises(UnavailableError, match="could not be reached"):
        OpenSearchClient(http).search("documents", [0.5], 1)
