"""Indexes and aliases of the vector store, over a stand-in for the sending of requests."""

from typing import Any

import pytest

from rag.errors import SearchError
from rag.indexes import IndexClient
from rag.opensearch_http import Reply

MISSING = {
    "error": {"type": "index_not_found_exception", "reason": "no such index [documents-1]"},
    "status": 404,
}
FIELDS = {"embedding": {"type": "knn_vector", "dimension": 512}, "text": {"type": "text"}}


class FakeHttp:
    """Gives the queued replies in turn and keeps what was sent."""

    def __init__(self, *replies: tuple[int, Any]) -> None:
        self.replies = list(replies)
        self.sent: list[tuple[str, str, Any]] = []

    def send(self, method: str, path: str, payload: Any, read_timeout_seconds: int) -> Reply:
        self.sent.append((method, path, payload))
        return Reply(*self.replies.pop(0))


def client(*replies: tuple[int, Any]) -> tuple[IndexClient, FakeHttp]:
    http: Any = FakeHttp(*replies)
    return IndexClient(http), http


def mapping(**fields: Any) -> dict[str, Any]:
    return {"mappings": {"properties": fields}}


def test_an_index_is_described_by_its_fields_and_its_dimension() -> None:
    indexes, http = client(
        (200, {"documents-1": mapping(**FIELDS)}), (200, {"documents-1": mapping(**FIELDS)})
    )
    assert indexes.index_fields("documents-1") == FIELDS
    assert indexes.index_dimension("documents-1") == 512
    assert http.sent[0] == ("GET", "/documents-1/_mapping", None)


def test_a_missing_index_has_neither() -> None:
    indexes, _ = client((404, MISSING), (404, MISSING))
    assert indexes.index_fields("documents-1") is None
    assert indexes.index_dimension("documents-1") is None


def test_an_index_without_vectors_has_dimension_zero() -> None:
    indexes, _ = client((200, {"x": mapping(embedding={"type": "float"})}), (200, {"x": {"mappings": {}}}))
    assert (indexes.index_dimension("x"), indexes.index_dimension("x")) == (0, 0)


def test_a_mapping_that_may_not_be_read_is_no_missing_index() -> None:
    indexes, _ = client((403, {"error": {"type": "security_exception", "reason": "denied"}}))
    with pytest.raises(SearchError, match=r"403 security_exception. denied Check the data access policy"):
        indexes.index_fields("documents-1")


def test_all_indexes_are_described_in_one_call() -> None:
    indexes, http = client((200, {"b": mapping(), "a": mapping(**FIELDS)}))
    assert indexes.all_fields() == {"a": FIELDS, "b": {}}
    assert http.sent == [("GET", "/_mapping", None)]


def test_a_deleted_index_is_gone_and_one_that_was_gone_is_told_apart() -> None:
    indexes, http = client((200, {"acknowledged": True}), (404, MISSING))
    assert indexes.delete_index("documents-1") is True
    assert indexes.delete_index("documents-1") is False
    assert http.sent[0] == ("DELETE", "/documents-1", None)


def test_a_missing_alias_has_no_target_but_a_hidden_one_is_an_error() -> None:
    indexes, _ = client(
        (404, {"error": "alias [documents] missing", "status": 404}),
        (200, {"documents-2": {}, "documents-1": {"aliases": {"documents": {}}}}),
        (404, MISSING),
    )
    assert indexes.alias_targets("documents") == []
    assert indexes.alias_targets("documents") == ["documents-1", "documents-2"]
    with pytest.raises(SearchError):
        indexes.alias_targets("documents")


def test_the_aliases_of_an_index_are_those_that_name_it() -> None:
    every = {"documents-1": {"aliases": {"documents": {}, "all": {}}}, "documents-2": {"aliases": {}}}
    indexes, http = client((200, every), (200, every), (200, every))
    assert indexes.aliases_of("documents-1") == ["all", "documents"]
    assert indexes.aliases_of("documents-2") == indexes.aliases_of("documents-3") == []
    assert http.sent[0] == ("GET", "/_alias", None)


def test_an_alias_moves_in_one_request() -> None:
    indexes, http = client((200, {"documents-1": {}, "documents-0": {}}), (200, {"acknowledged": True}))
    assert indexes.move_alias("documents", "documents-2") == ["documents-0", "documents-1"]
    assert http.sent[1] == (
        "POST",
        "/_aliases",
        {
            "actions": [
                {"remove": {"index": "documents-0", "alias": "documents"}},
                {"remove": {"index": "documents-1", "alias": "documents"}},
                {"add": {"index": "documents-2", "alias": "documents"}},
            ]
        },
    ), "between two requests readers would find nothing, or everything twice"


def test_an_alias_that_is_there_already_is_left_alone() -> None:
    indexes, http = client((200, {"documents-2": {}}))
    assert indexes.move_alias("documents", "documents-2") == []
    assert len(http.sent) == 1


def test_a_half_moved_alias_loses_its_second_index_only() -> None:
    indexes, http = client((200, {"documents-1": {}, "documents-2": {}}), (200, {}))
    assert indexes.move_alias("documents", "documents-2") == ["documents-1"]
    assert http.sent[1][2] == {"actions": [{"remove": {"index": "documents-1", "alias": "documents"}}]}


def test_a_move_that_is_refused_says_why() -> None:
    refused = {"error": {"type": "aliases_not_found_exception", "reason": "aliases [documents] missing"}}
    indexes, _ = client((200, {"documents-1": {}}), (404, refused))
    with pytest.raises(SearchError, match=r"Moving the alias documents to documents-2 was refused with 404"):
        indexes.move_alias("documents", "documents-2")
