"""Which chunks of a document the index holds, and how many, over a stand-in that searches in memory."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag import search as search_module
from rag.errors import SearchError, UnavailableError
from rag.opensearch_http import Reply
from rag.search import MAX_HITS, OpenSearchClient

KEY = "raw/a.txt"


class FakeIndex:
    """Chunks by id as (document key, revision, number); finds as OpenSearch does, at most `most` at once."""

    def __init__(self, most: int = MAX_HITS) -> None:
        self.most = most
        self.chunks: dict[str, tuple[str, str, int]] = {}
        self.sent: list[tuple[str, str, Any]] = []
        self.shards = {"total": 1, "failed": 0}

    def add(self, key: str, revision: str, numbers: range) -> set[str]:
        ids = {f"{key}-{revision}-{number}": (key, revision, number) for number in numbers}
        self.chunks.update(ids)
        return set(ids)

    def send(self, method: str, path: str, payload: Any, read_timeout_seconds: int) -> Reply:
        self.sent.append((method, path, payload))
        hits = [one for one in self.chunks if self._matches(one, payload["query"])]
        if path.endswith("/_count"):
            return Reply(200, {"count": len(hits), "_shards": self.shards})
        assert payload["size"] <= MAX_HITS, "OpenSearch refuses a larger window"
        if "sort" in payload:
            hits.sort(key=lambda one: -self.chunks[one][2])
        size = min(payload["size"], self.most)
        found = [{"_id": one, "_source": {"chunk_number": self.chunks[one][2]}} for one in hits[:size]]
        return Reply(200, {"_shards": self.shards, "hits": {"hits": found}})

    def _matches(self, one: str, query: dict[str, Any]) -> bool:
        ((kind, body),) = query.items()
        key, revision, number = self.chunks[one]
        if kind == "match_all":
            return True
        if kind == "term":
            return body in ({"document_key": key}, {"revision": revision})
        if kind == "range":
            return body["chunk_number"]["gte"] <= number < body["chunk_number"]["lt"]
        assert kind == "bool"
        is_in = all(self._matches(one, part) for part in body["filter"])
        return is_in and not any(self._matches(one, part) for part in body["must_not"])


def client(index: FakeIndex) -> OpenSearchClient:
    http: Any = index
    return OpenSearchClient(http)


def test_the_ids_of_a_document_are_those_of_its_key_alone() -> None:
    index = FakeIndex()
    own = index.add(KEY, "r1", range(3))
    index.add("raw/a.txt.bak", "r1", range(3))
    assert client(index).document_ids("documents", KEY) == own
    assert index.sent[0][:2] == ("POST", "/documents/_search")
    assert index.sent[0][2]["_source"] is False, "ten thousand texts would be read for their ids"


def test_ids_can_be_narrowed_to_a_revision_to_every_other_and_to_chunk_numbers() -> None:
    index = FakeIndex()
    old, new = index.add(KEY, "r1", range(4)), index.add(KEY, "r2", range(6))
    find = client(index).document_ids
    assert find("documents", KEY, revision="r2") == new
    assert find("documents", KEY, not_revision="r2") == old
    assert find("documents", KEY, revision="r2", chunk_numbers=range(2, 4)) == {f"{KEY}-r2-2", f"{KEY}-r2-3"}


def test_no_chunk_numbers_are_no_question() -> None:
    index = FakeIndex()
    index.add(KEY, "r1", range(4))
    assert client(index).document_ids("documents", KEY, chunk_numbers=range(2, 2)) == set()
    assert index.sent == []


def test_a_document_of_more_chunks_than_a_search_returns_is_found_whole() -> None:
    index = FakeIndex()
    own = index.add(KEY, "r1", range(10_001)) | index.add(KEY, "r2", range(10_001))
    assert client(index).document_ids("documents", KEY) == own, (
        "a replaced document would leave chunks behind"
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 40), max_size=60), st.integers(0, 45), st.integers(0, 45))
def test_halving_finds_every_chunk_once_whatever_numbers_there_are(
    numbers: list[int], start: int, stop: int
) -> None:
    index = FakeIndex(most=7)
    for position, number in enumerate(numbers):
        index.chunks[f"id-{position}"] = (KEY, "r1", number)
    most_of_one = max((numbers.count(number) for number in numbers), default=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "MAX_HITS", 7)
        for wanted in (None, range(start, stop)):
            inside = {
                one for one, (_, _, number) in index.chunks.items() if wanted is None or number in wanted
            }
            if most_of_one < 7:
                assert client(index).document_ids("documents", KEY, chunk_numbers=wanted) == inside


def test_as_many_chunks_of_one_number_as_a_search_returns_are_an_error_not_a_guess() -> None:
    index = FakeIndex()
    for position in range(MAX_HITS + 1):
        index.chunks[f"id-{position}"] = (KEY, "r1", 5)
    with pytest.raises(SearchError, match="have the same number"):
        client(index).document_ids("documents", KEY)


def test_a_part_of_the_index_is_no_list_of_ids_and_no_count() -> None:
    index = FakeIndex()
    index.add(KEY, "r1", range(3))
    index.shards = {"total": 2, "failed": 1}
    with pytest.raises(UnavailableError, match="only a part"):
        client(index).document_ids("documents", KEY)
    with pytest.raises(UnavailableError, match="only a part"):
        client(index).count("documents")


def test_chunks_are_counted_of_all_documents_of_one_and_of_one_revision() -> None:
    index = FakeIndex()
    index.add(KEY, "r1", range(3))
    index.add(KEY, "r2", range(4))
    index.add("raw/b.txt", "r9", range(5))
    count = client(index).count
    assert (count("documents"), count("documents", KEY), count("documents", KEY, "r2")) == (12, 7, 4)
    assert index.sent[0] == ("POST", "/documents/_count", {"query": {"match_all": {}}})
