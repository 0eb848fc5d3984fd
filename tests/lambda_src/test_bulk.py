"""Writing and deleting chunks by the bulk, over a stand-in for the sending of requests."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.bulk import ATTEMPTS, REQUEST_BYTES, batches
from rag.errors import ConfigurationError, SearchError, ThrottledError, UnavailableError
from rag.opensearch_http import Reply
from rag.search import IndexedChunk, OpenSearchClient

Verdict = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]


class FakeStore:
    """Takes bulk requests: `verdict` gives status and error of an item; ids are given where none came."""

    def __init__(self, verdict: Verdict | None = None) -> None:
        self.verdict = verdict or (lambda item: (201, {}))
        self.requests: list[tuple[str, str, bytes]] = []
        self.held: dict[str, dict[str, Any]] = {}
        self.pauses: list[float] = []
        self.answer: Callable[[dict[str, Any]], Reply] = lambda document: Reply(200, document)

    def send(self, method: str, path: str, payload: bytes, read_timeout_seconds: int) -> Reply:
        self.requests.append((method, path, payload))
        lines = [json.loads(line) for line in payload.splitlines()]
        items = []
        while lines:
            ((action, target),) = lines.pop(0).items()
            source = lines.pop(0) if action == "index" else {}
            items.append({action: self._item(action, target, source)})
        return self.answer({"errors": True, "items": items})

    def _item(self, action: str, target: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
        status, error = self.verdict({**source, **target})
        one = target.get("_id", f"given-{len(self.held)}")
        if action == "delete" and status < 300:
            status = 200 if self.held.pop(one, None) else 404
        elif status < 300:
            self.held[one] = source
        return {"_id": one, "status": status, **({"error": error} if error else {})}

    @property
    def sizes(self) -> list[int]:
        return [payload.count(b"\n") for _, _, payload in self.requests]


def client(store: FakeStore) -> OpenSearchClient:
    http: Any = store
    return OpenSearchClient(http, store.pauses.append)


def a_chunk(number: int = 0, text: str = "t", **changes: Any) -> IndexedChunk:
    fields: dict[str, Any] = {
        "document_key": "raw/a.txt",
        "revision": "abc",
        "model_id": "m",
        "embedding": [0.5, 0.5],
    }
    return IndexedChunk(chunk_number=number, text=text, **{**fields, **changes})


def fails(number: int, times: int, status: int, **error: Any) -> Verdict:
    """A verdict that fails one chunk so many times."""
    left = [times]

    def verdict(item: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if item.get("chunk_number") != number or not left[0]:
            return 201, {}
        left[0] -= 1
        return status, error or {"type": "rejected_execution_exception"}

    return verdict


def test_a_chunk_is_written_with_every_field_of_the_mapping() -> None:
    store = FakeStore()
    client(store).bulk_index("documents", [a_chunk(3, page=7, heading="One > Two")], ["x-3"])
    assert store.requests[0][:2] == ("POST", "/documents/_bulk")
    assert store.held["x-3"] == {
        "document_key": "raw/a.txt",
        "chunk_number": 3,
        "text": "t",
        "revision": "abc",
        "model_id": "m",
        "embedding": [0.5, 0.5],
        "heading": "One > Two",
        "page": 7,
    }


def test_own_ids_are_sent_where_given_and_left_out_where_not() -> None:
    store = FakeStore()
    assert client(store).bulk_index("documents", [a_chunk()], ["x-0"]) == ["x-0"]
    assert client(store).bulk_index("documents", [a_chunk()], None) == ["given-1"]
    actions = [json.loads(payload.splitlines()[0]) for *_, payload in store.requests]
    assert actions == [{"index": {"_id": "x-0"}}, {"index": {}}], "CLASSIC refuses a bulk request with ids"


def test_many_chunks_go_in_requests_of_a_hundred_and_keep_their_order() -> None:
    store = FakeStore()
    ids = [f"x-{number}" for number in range(250)]
    assert client(store).bulk_index("documents", [a_chunk(number) for number in range(250)], ids) == ids
    assert store.sizes == [200, 200, 100]


def test_large_chunks_go_in_requests_below_the_limit_of_the_service() -> None:
    store = FakeStore()
    chunks = [a_chunk(number, "x" * (REQUEST_BYTES // 3)) for number in range(5)]
    assert len(client(store).bulk_index("documents", chunks, None)) == 5
    assert max(len(payload) for *_, payload in store.requests) <= REQUEST_BYTES < 10 * 1024 * 1024
    assert store.sizes == [4, 4, 2]


@given(st.lists(st.binary(min_size=1, max_size=9)), st.integers(1, 4), st.integers(1, 20))
def test_batches_keep_everything_in_order_and_both_limits(
    entries: list[bytes], items: int, size: int
) -> None:
    cut = list(batches(entries, items, size))
    assert [entry for batch in cut for entry in batch] == entries
    for batch in cut:
        assert 1 <= len(batch) <= items
        assert len(batch) == 1 or sum(map(len, batch)) <= size


def test_text_that_no_utf8_can_carry_is_repaired_before_it_is_written() -> None:
    store = FakeStore()
    client(store).bulk_index("documents", [a_chunk(0, "a\ud800b", heading="\udfff")], ["x"])
    assert (store.held["x"]["text"], store.held["x"]["heading"]) == ("a\ufffdb", "\ufffd")


@pytest.mark.parametrize("status", [429, 503])
def test_an_item_that_was_put_off_is_sent_again_by_itself(status: int) -> None:
    store = FakeStore(fails(1, 2, status))
    ids = ["x-0", "x-1", "x-2"]
    assert client(store).bulk_index("documents", [a_chunk(number) for number in range(3)], ids) == ids
    assert store.sizes == [6, 2, 2], "what was taken would be written again"
    assert len(store.pauses) == 2
    assert 0 < store.pauses[0] <= 1 < 2 * store.pauses[1] <= 4


def test_ids_given_by_the_collection_keep_the_order_of_the_chunks_when_one_came_late() -> None:
    store = FakeStore(fails(0, 1, 429))
    written = client(store).bulk_index("documents", [a_chunk(number) for number in range(3)], None)
    assert [store.held[one]["chunk_number"] for one in written] == [0, 1, 2]


@pytest.mark.parametrize(("status", "expected"), [(429, ThrottledError), (503, UnavailableError)])
def test_an_item_that_is_put_off_for_ever_is_an_error_within_seconds(
    status: int, expected: type[Exception]
) -> None:
    store = FakeStore(fails(1, 99, status))
    with pytest.raises(expected, match="1 of 1 items of a bulk request failed: rejected_execution_exception"):
        client(store).bulk_index("documents", [a_chunk(0), a_chunk(1)], ["a", "b"])
    assert len(store.requests) == ATTEMPTS
    assert sum(store.pauses) <= 7


def test_without_ids_of_ours_a_failure_takes_back_what_was_written_before() -> None:
    store = FakeStore(fails(120, 99, 429))
    with pytest.raises(ThrottledError):
        client(store).bulk_index("documents", [a_chunk(number) for number in range(130)], None)
    assert store.held == {}, "a repetition would write these chunks a second time"


def test_with_ids_of_ours_nothing_is_taken_back_since_a_repetition_writes_over_it() -> None:
    store = FakeStore(fails(1, 99, 400, type="illegal_argument_exception"))
    with pytest.raises(SearchError):
        client(store).bulk_index("documents", [a_chunk(0), a_chunk(1)], ["a", "b"])
    assert list(store.held) == ["a"]
    assert len(store.requests) == 1, "a refusal is not worth another attempt"


def test_what_cannot_be_taken_back_is_told_and_the_first_failure_is_raised(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def verdict(item: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return (201, {}) if item.get("chunk_number") == 0 else (400, {"type": "some_exception"})

    store = FakeStore(verdict)
    with pytest.raises(SearchError, match="1 of 2 items"):
        client(store).bulk_index("documents", [a_chunk(0), a_chunk(1)], None)
    line = json.loads(capsys.readouterr().out)
    assert (line["event"], line["level"], line["chunks"]) == ("chunks_left_behind", "WARNING", 1)


def test_a_failed_item_is_an_error_without_document_text() -> None:
    error = {"type": "mapper_parsing_exception", "reason": "Preview of field's value: 'secret'"}
    store = FakeStore(fails(1, 1, 400, **error))
    with pytest.raises(SearchError) as caught:
        client(store).bulk_index("documents", [a_chunk(0), a_chunk(1)], ["a", "b"])
    assert "1 of 2 items" in str(caught.value)
    assert (caught.value.http_status, caught.value.error_type) == (400, "mapper_parsing_exception")
    assert "secret" not in str(caught.value), "document text would reach the log"


def test_a_vector_of_another_length_than_the_index_says_what_to_run() -> None:
    cause = {
        "type": "illegal_argument_exception",
        "reason": "Vector dimension mismatch. Expected: 8, Given: 4",
    }
    error = {"type": "mapper_parsing_exception", "reason": "failed to parse", "caused_by": cause}
    with pytest.raises(ConfigurationError) as caught:
        client(FakeStore(fails(0, 1, 400, **error))).bulk_index("documents", [a_chunk()], ["a"])
    assert "vectors of 4 numbers, but the index holds vectors of 8" in str(caught.value)
    assert "python -m ops reindex" in str(caught.value)


def test_ids_that_the_collection_refuses_point_to_the_setting() -> None:
    reason = "Document ID is not supported in create/index operation request"
    store = FakeStore(fails(0, 1, 400, type="illegal_argument_exception", reason=reason))
    with pytest.raises(ConfigurationError, match="COLLECTION_GENERATION is NEXTGEN"):
        client(store).bulk_index("documents", [a_chunk()], ["a"])


def test_a_reply_that_leaves_items_out_is_no_success() -> None:
    store = FakeStore()
    store.answer = lambda document: Reply(200, {"items": document["items"][1:]})
    with pytest.raises(UnavailableError, match="2 items was answered for 1"):
        client(store).bulk_index("documents", [a_chunk(0), a_chunk(1)], ["a", "b"])


def test_a_refused_request_is_an_error() -> None:
    store = FakeStore()
    store.answer = lambda document: Reply(403, {"error": {"type": "security_exception", "reason": "secret"}})
    with pytest.raises(SearchError, match="403 security_exception. Check the data access policy") as caught:
        client(store).bulk_index("documents", [a_chunk(0)], None)
    assert "secret" not in str(caught.value)


def test_deleting_what_is_gone_is_no_error() -> None:
    store = FakeStore()
    store.held["a"] = {}
    client(store).bulk_delete("documents", ["a", "b"])
    assert store.held == {}
    client(store).bulk_delete("documents", [])
    assert len(store.requests) == 1, "an empty bulk request is answered with 400"


def test_a_deletion_that_is_put_off_is_sent_again() -> None:
    left = [1]

    def verdict(item: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        left[0] -= 1
        return (429, {"type": "rejected"}) if left[0] >= 0 else (200, {})

    store = FakeStore(verdict)
    store.held = {"a": {}, "b": {}}
    client(store).bulk_delete("documents", ["a", "b"])
    assert store.held == {}
    assert store.sizes == [2, 1]


def test_ten_thousand_ids_are_deleted_in_ten_requests() -> None:
    store = FakeStore()
    client(store).bulk_delete("documents", [f"x-{number}" for number in range(10_000)])
    assert store.sizes == [1000] * 10
