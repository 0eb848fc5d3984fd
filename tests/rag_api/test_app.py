"""Who may ask, what comes back, and what is refused before the pipeline hears of it: over real sockets."""

import json
from collections.abc import Generator
from contextlib import closing
from typing import Any

import pytest

from rag.answers import Answer, Prompt
from rag.errors import ConfigurationError, ThrottledError, UnavailableError
from rag.passages import Filter
from rag.question import MAX_REQUEST_BYTES
from rag_api.errors import BusyError, ShuttingDownError
from tests.rag_api.scene import TOKEN, Outside, Reply, Served, read, served

QUERIES = ("/v1/query", "/v1/query/stream")
QUESTIONS = (*QUERIES, "/v1/chat/completions")
SOURCES = [{"document_key": "raw/pdfs/cats.pdf", "page": 7, "score": 0.9}]


@pytest.fixture(scope="module")
def outside() -> Outside:
    return Outside()


@pytest.fixture(scope="module")
def service(outside: Outside) -> Generator[Served]:
    """A service that everybody may ask; no test changes it."""
    with served(outside) as running:
        yield running


@pytest.fixture(scope="module")
def guarded() -> Generator[Served]:
    """A service with a token."""
    with served(Outside(), bearer_token=TOKEN) as running:
        yield running


def test_the_health_check_touches_nothing_and_wants_no_token(outside: Outside, guarded: Served) -> None:
    reply = guarded.request("GET", "/healthz")
    assert (reply.status, reply.document) == (200, {"status": "ok"})


@pytest.mark.parametrize("key", ["question", "query"])
def test_a_question_is_answered_with_its_sources_and_usage(service: Served, key: str) -> None:
    reply = service.post("/v1/query", {key: "hi"})
    assert reply.status == 200
    assert reply.document == {
        "answer": "They sleep.",
        "outcome": "answered",
        "truncated": False,
        "sources": SOURCES,
        "usage": {"input_tokens": 3, "output_tokens": 2, "embedding_tokens": 5},
        "request_id": reply.headers["x-request-id"],
    }


def test_a_filter_reaches_the_search(service: Served, outside: Outside) -> None:
    service.post("/v1/query", {"query": "hi", "filter": {"prefixes": ["raw/pdfs/"]}})
    assert outside.filters[-1] == Filter(prefixes=("raw/pdfs/",)), (
        "documents outside the filter would be used"
    )


def test_without_documents_and_without_an_answer_the_outcome_says_so() -> None:
    outside = Outside(streams=lambda prompt: iter([Answer(text=None, stop_reason="end_turn")]))
    with served(outside) as service:
        assert service.post("/v1/query", {"query": "hi"}).document["outcome"] == "no_answer"
        outside.passages.clear()
        assert service.post("/v1/query", {"query": "hi"}).document["outcome"] == "no_documents"


@pytest.mark.parametrize("path", QUERIES)
@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"\xff\xfe", 400),
        (b"[" * 100_000, 400),
        ([1], 400),
        (None, 400),
        ({"question": 7}, 400),
        ({"question": " "}, 400),
        ({"question": "hi", "fliter": {}}, 400),
        ({"question": "\ud800"}, 400),
        ({"question": "a" * 50_001}, 413),
        (b"a" * (MAX_REQUEST_BYTES + 1), 413),
    ],
)
def test_a_request_without_a_usable_question_is_refused_before_any_call(
    service: Served, outside: Outside, path: str, content: Any, status: int
) -> None:
    before = outside.embedded
    reply = service.post(path, content)
    assert reply.status == status
    assert set(reply.document) == {"error", "request_id"}
    assert set(reply.document["error"]) == {"code", "message"}
    assert outside.embedded == before, "a useless request costs a call"


@pytest.mark.parametrize("path", [*QUESTIONS, "/readyz", "/v1/models"])
@pytest.mark.parametrize(
    "header",
    [None, b"", b"Bearer", b"Bearer wrong", TOKEN.encode(), b"Basic s\xc3\xa9cret", b"Bearer \xff\xfe"],
)
def test_without_the_token_nobody_gets_in(guarded: Served, path: str, header: bytes | None) -> None:
    method = "POST" if path in QUESTIONS else "GET"
    headers = {} if header is None else {"authorization": header}
    reply = guarded.request(method, path, {"query": "hi"}, headers)
    assert reply.status == 401
    assert reply.headers["www-authenticate"] == "Bearer"


def test_a_stranger_is_refused_before_the_body_is_read(guarded: Served) -> None:
    with closing(guarded.connection()) as connection:
        connection.putrequest("POST", "/v1/query")
        connection.putheader("content-length", "100")
        connection.endheaders()
        assert read(connection.getresponse()).status == 401, "strangers could keep the server waiting"


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_with_the_token_the_question_is_answered(guarded: Served, scheme: str) -> None:
    reply = guarded.post("/v1/query", {"query": "hi"}, {"authorization": f"{scheme} {TOKEN}".encode()})
    assert reply.status == 200


@pytest.mark.parametrize("given", ["abc-1.2_3", "x" * 128])
def test_a_sane_request_id_comes_back(service: Served, given: str) -> None:
    reply = service.post("/v1/query", {"query": "hi"}, {"x-request-id": given})
    assert reply.headers["x-request-id"] == reply.document["request_id"] == given


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "\xe9", '","level":"ERROR'])
def test_any_other_request_id_is_replaced(service: Served, given: str) -> None:
    reply = service.post("/v1/query", {"query": "hi"}, {"x-request-id": given})
    assert reply.status == 200
    assert len(reply.headers["x-request-id"]) == 32, "the caller could write into the log"


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/nowhere", (404, "not_found")),
        ("POST", "/answer", (404, "not_found")),
        ("POST", "/v1/query/", (404, "not_found")),
        ("GET", "/docs", (404, "not_found")),
        ("GET", "/redoc", (404, "not_found")),
        ("GET", "/openapi.json", (404, "not_found")),
        ("GET", "/v1/query", (405, "method_not_allowed")),
        ("POST", "/healthz", (405, "method_not_allowed")),
    ],
)
def test_a_wrong_path_or_method_is_refused_in_the_same_form(
    service: Served, method: str, path: str, expected: tuple[int, str]
) -> None:
    reply = service.request(method, path)
    assert reply.error == expected
    assert reply.document["request_id"] == reply.headers["x-request-id"]
    assert ("allow" in reply.headers) == (reply.status == 405)


def test_a_body_in_chunks_is_read_no_further_than_the_limit(service: Served) -> None:
    with service.socket() as sock:
        sock.sendall(b"POST /v1/query HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
        sock.sendall(b"%x\r\n" % (MAX_REQUEST_BYTES * 4) + b"a" * (MAX_REQUEST_BYTES + 1))
        status = sock.makefile("rb").readline()
    assert b" 413 " in status, "a body without a length could fill the memory"


def test_a_body_that_announces_too_much_is_refused_unread_and_its_connection_closed(service: Served) -> None:
    with service.socket() as sock:
        sock.sendall(b"POST /v1/query HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999\r\n\r\n")
        reply = sock.makefile("rb").read()
    assert reply.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in reply


def test_what_is_sent_beyond_the_announced_length_is_no_part_of_the_question(service: Served) -> None:
    body = json.dumps({"query": "hi"}).encode()
    with service.socket() as sock:
        head = f"POST /v1/query HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body) - 1}\r\n\r\n"
        sock.sendall(head.encode() + body)
        assert b" 400 " in sock.makefile("rb").readline()


def test_a_body_that_comes_too_slowly_is_given_up() -> None:
    with served(Outside(), request_timeout_seconds=0.05) as service, service.socket() as sock:
        sock.sendall(b'POST /v1/query HTTP/1.1\r\nhost: x\r\ncontent-length: 15\r\n\r\n{"qu')
        assert b" 408 " in sock.makefile("rb").readline(), "a slow sender would keep its connection for ever"


def test_a_body_may_take_no_longer_than_its_own_limit_even_where_a_request_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rag_api.requests.LONGEST_BODY_SECONDS", 0.05)
    with served(Outside()) as service, service.socket() as sock:
        sock.sendall(b'POST /v1/query HTTP/1.1\r\nhost: x\r\ncontent-length: 15\r\n\r\n{"qu')
        assert b" 408 " in sock.makefile("rb").readline(), "a slow sender would keep its memory for minutes"


def test_a_connection_serves_one_question_after_the_other(service: Served) -> None:
    with closing(service.connection()) as connection:
        for _ in range(3):
            reply = read(service.send(connection, "POST", "/v1/query", {"query": "hi"}))
            assert reply.status == 200
            assert "connection" not in reply.headers, "the balancer would open a connection per request"


def failing(error: Exception) -> Outside:
    def fail(prompt: Prompt) -> Any:
        raise error

    return Outside(streams=fail)


@pytest.mark.parametrize(
    ("error", "status", "retry_after"),
    [
        (ThrottledError("inner"), 429, "1"),
        (UnavailableError("inner"), 503, "1"),
        (RuntimeError("secret"), 500, None),
    ],
)
@pytest.mark.parametrize("path", QUERIES)
def test_a_failure_before_the_first_word_has_its_status_and_no_inner_text(
    path: str, error: Exception, status: int, retry_after: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(failing(error)) as service:
        reply = service.post(path, {"query": "hi"})
    assert reply.status == status
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers.get("retry-after") == retry_after
    assert b"inner" not in reply.content
    assert b"secret" not in reply.content
    assert "secret" not in capsys.readouterr().out, "an unknown error's text may quote a document"


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (UnavailableError("inner"), "ERROR"),
        (ConfigurationError("inner"), "ERROR"),
        (RuntimeError("inner"), "ERROR"),
        (ThrottledError("inner"), "WARNING"),
        (BusyError("inner"), "WARNING"),
        (ShuttingDownError("inner"), "WARNING"),
    ],
)
def test_the_log_calls_an_error_what_somebody_should_look_at(
    error: Exception, level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(failing(error)) as service:
        service.post("/v1/query", {"query": "hi"})
    (failure,) = [line for line in log_lines(capsys.readouterr().out) if line.get("event") == "failed"]
    assert failure["level"] == level


def log_lines(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def test_a_request_is_logged_and_counted_without_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    with served(Outside()) as service:
        service.post("/v1/query", {"query": "hi-there"}, {"x-request-id": "id-1"})
        service.post("/v1/query", {"query": 7})
        service.request("GET", "/nowhere")
    output = capsys.readouterr().out
    assert "hi-there" not in output
    events = [line for line in log_lines(output) if "event" in line]
    counts = [line for line in log_lines(output) if "_aws" in line]
    assert [line["event"] for line in events] == ["answered", "failed", "failed"]
    assert (events[0]["request_id"], events[0]["route"]) == ("id-1", "/v1/query")
    assert [line["Errors"] for line in counts] == [0, 1], "scanners of the internet would raise an alarm"
    assert counts[0]["Service"] == "api"
    assert counts[0]["answer_model_id"].endswith("claude-sonnet-4-5-20250929-v1:0")


def test_readiness_tells_whether_the_vector_store_replies() -> None:
    def fail() -> int:
        raise UnavailableError("away")

    def reply(outside: Outside) -> Reply:
        with served(outside) as service:
            return service.request("GET", "/readyz")

    assert (reply(Outside()).status, reply(Outside(counts=fail)).status) == (200, 503)
    assert reply(Outside(counts=fail)).document == {"status": "unready", "vector_store": False}
