"""The stand-in for a collection refuses what OpenSearch Serverless refuses."""

import hashlib
import json
from collections.abc import Generator
from typing import Any

import pytest
import urllib3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.standins.aoss import MAX_REQUEST_BYTES, Collection, serving_collection
from tests.standins.aoss_calls import is_allowed
from tests.standins.loopback import KEPT_CALLS, Request
from tests.standins.signature import ACCESS_KEY_ID, SECRET_ACCESS_KEY


@pytest.fixture
def http() -> Generator[urllib3.PoolManager]:
    with urllib3.PoolManager(retries=False) as pool:
        yield pool


@pytest.fixture
def collection() -> Generator[Collection]:
    with serving_collection(generation="CLASSIC") as one:
        yield one


def signed(
    url: str,
    method: str,
    body: bytes,
    *,
    service: str = "aoss",
    secret: str = SECRET_ACCESS_KEY,
    hashed: bool = True,
) -> AWSRequest:
    request = AWSRequest(method, url, data=body)
    if hashed:
        request.headers["x-amz-content-sha256"] = hashlib.sha256(body).hexdigest()
    SigV4Auth(Credentials(ACCESS_KEY_ID, secret), service, "eu-central-1").add_auth(request)
    return request


def send(http: urllib3.PoolManager, request: AWSRequest, body: bytes | None = None) -> tuple[int, Any]:
    assert request.method and request.url
    headers = dict(request.headers.items())
    reply = http.request(
        request.method, request.url, body=request.data if body is None else body, headers=headers
    )
    return reply.status, json.loads(reply.data or b"{}")


def test_a_right_signature_is_let_in(http: urllib3.PoolManager, collection: Collection) -> None:
    assert send(http, signed(f"{collection.url}/_alias", "GET", b"")) == (200, {})
    status, _ = send(http, signed(f"{collection.url}/a%20b%2B%C3%BC/_mapping?x=1&a=2", "GET", b""))
    assert status == 404, "there is no such index, but the signature of a strange path is right"


@pytest.mark.parametrize(
    "fault", [{"service": "es"}, {"secret": "another"}, {"hashed": False}], ids=["service", "secret", "hash"]
)
def test_a_wrong_signature_is_refused(
    http: urllib3.PoolManager, collection: Collection, fault: dict[str, Any]
) -> None:
    status, document = send(http, signed(f"{collection.url}/_alias", "GET", b"", **fault))
    assert (status, document["error"]["type"]) == (403, "Forbidden")


def test_a_request_without_a_signature_is_refused(http: urllib3.PoolManager, collection: Collection) -> None:
    assert http.request("GET", f"{collection.url}/_alias").status == 403


def test_a_body_that_was_changed_on_the_way_is_refused(
    http: urllib3.PoolManager, collection: Collection
) -> None:
    request = signed(f"{collection.url}/_aliases", "POST", b'{"actions": []}')
    assert send(http, request, b'{"actions": [ ]}')[0] == 403


@pytest.mark.parametrize(
    "call",
    [
        "POST /_refresh", "GET /_cluster/health", "GET /", "POST /documents/_delete_by_query", "POST /_reindex",
        "POST /documents/_refresh", "POST /_msearch", "POST /documents/_msearch", "PUT /documents/_doc/1",
        "POST /documents/_create/1", "POST /documents/_update/1", "GET /_nodes", "POST /_search/scroll",
        "GET /_cat/health", "PUT /_cluster/settings", "POST /documents/_forcemerge",
    ],
)  # fmt: skip
def test_what_a_vector_collection_does_not_have_is_refused(
    http: urllib3.PoolManager, collection: Collection, call: str
) -> None:
    method, path = call.split()
    assert send(http, signed(collection.url + path, method, b""))[0] == 404


@pytest.mark.parametrize(
    "call",
    ["PUT /documents-1", "DELETE /documents-1", "HEAD /documents-1", "GET /documents-1/_mapping",
     "POST /documents/_search", "GET /documents/_msearch", "POST /documents/_count", "POST /documents/_bulk",
     "POST /_aliases", "GET /_alias/documents", "GET /_alias", "GET /_mapping", "POST /documents/_doc",
     "DELETE /documents/_doc/1%3A0%3Aab", "GET /_cat/indices"],
)  # fmt: skip
def test_what_the_documentation_lists_is_allowed(call: str) -> None:
    assert is_allowed(*call.split())


def test_a_request_that_is_too_large_is_refused(http: urllib3.PoolManager, collection: Collection) -> None:
    body = b" " * (MAX_REQUEST_BYTES + 1)
    assert send(http, signed(f"{collection.url}/_bulk", "POST", body))[0] == 413


def test_a_write_that_asks_for_a_refresh_is_refused(
    http: urllib3.PoolManager, collection: Collection
) -> None:
    status, document = send(http, signed(f"{collection.url}/_bulk?refresh=true", "POST", b""))
    assert (status, document["error"]["type"]) == (400, "status_exception")


def test_other_engines_than_faiss_are_refused(http: urllib3.PoolManager, collection: Collection) -> None:
    field = {"type": "knn_vector", "dimension": 4, "method": {"name": "hnsw", "engine": "lucene"}}
    body = json.dumps({"mappings": {"properties": {"embedding": field}}}).encode()
    assert send(http, signed(f"{collection.url}/documents-1", "PUT", body))[0] == 400


def test_only_the_items_with_an_id_are_refused_by_a_classic_collection(
    http: urllib3.PoolManager, collection: Collection
) -> None:
    send(http, signed(f"{collection.url}/documents-1", "PUT", b"{}"))
    lines = [{"index": {}}, {"n": 1}, {"index": {"_id": "ours"}}, {"n": 2}, {"delete": {"_id": "none"}}]
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    status, document = send(http, signed(f"{collection.url}/documents-1/_bulk", "POST", body))
    outcomes = [next(iter(item.values())) for item in document["items"]]
    assert (status, document["errors"]) == (200, True)
    assert [outcome["status"] for outcome in outcomes] == [201, 400, 404]
    assert outcomes[0]["_id"].startswith("1%3A0%3A"), (
        "the ids that a collection gives must be quoted in paths"
    )


def test_writes_become_visible_when_their_time_has_come(http: urllib3.PoolManager) -> None:
    now = [0.0]
    with serving_collection(refresh_seconds=10, clock=lambda: now[0]) as collection:

        def count() -> int:
            return send(http, signed(f"{collection.url}/documents-1/_count", "POST", b""))[1]["count"]

        send(http, signed(f"{collection.url}/documents-1", "PUT", b"{}"))
        send(http, signed(f"{collection.url}/documents-1/_bulk", "POST", b'{"index": {}}\n{"n": 1}\n'))
        seen = []
        for now[0] in (0, 9, 10):
            seen.append(count())
        assert seen == [0, 0, 1]


def test_the_newest_calls_are_kept_and_the_others_forgotten(collection: Collection) -> None:
    for number in range(KEPT_CALLS + 1):
        collection.handle(Request("GET", f"/{number}/_search", {}, b""))
    assert len(collection.calls) == KEPT_CALLS, "a long run fills the memory"
    assert collection.calls[-1] == f"GET /{KEPT_CALLS}/_search"
