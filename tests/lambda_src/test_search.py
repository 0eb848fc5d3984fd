"""Searches for passages, over a stand-in for the sending of requests."""

import json
from typing import Any

import pytest

from rag.errors import (
    ConfigurationError,
    PipelineError,
    SearchError,
    ThrottledError,
    UnavailableError,
)
from rag.opensearch_http import Reply
from rag.passages import Filter, Passage
from rag.queries import MATCHED_CHARACTERS
from rag.search import LEAST_CANDIDATES, SEARCH_READ_TIMEOUT_SECONDS, OpenSearchClient

VECTOR = [0.5, 0.25]
KEYS = Filter(document_keys=("raw/a.txt", "raw/b.txt"))
BOTH = Filter(document_keys=("raw/a.txt",), prefixes=("raw/pdfs/",))
WRONG_LENGTH = {
    "error": {
        "type": "search_phase_execution_exception",
        "reason": "all shards failed",
        "root_cause": [
            {
                "type": "query_shard_exception",
                "reason": "failed to create query: Query vector has invalid dimension: 2. Dimension should be: 8",
            }
        ],
    },
    "status": 400,
}


class FakeHttp:
    """Gives the queued replies in turn and keeps what was sent, JSON lines as a list."""

    def __init__(self, *replies: tuple[int, Any]) -> None:
        self.replies = list(replies)
        self.sent: list[tuple[str, str, Any, int]] = []

    def send(self, method: str, path: str, payload: Any, read_timeout_seconds: int) -> Reply:
        body = [json.loads(line) for line in payload.splitlines()] if isinstance(payload, bytes) else payload
        self.sent.append((method, path, body, read_timeout_seconds))
        return Reply(*self.replies.pop(0))


def client(*replies: tuple[int, Any]) -> tuple[OpenSearchClient, FakeHttp]:
    http: Any = FakeHttp(*replies)
    return OpenSearchClient(http), http


def hit(name: str, score: float = 1.0, **source: Any) -> dict[str, Any]:
    stored = {"text": f"Text {name}.", "document_key": f"raw/{name}.txt", "chunk_number": 3}
    return {"_id": name, "_score": score, "_source": {**stored, **source}}


def found(*hits: dict[str, Any], failed: int = 0) -> dict[str, Any]:
    return {"timed_out": False, "_shards": {"total": 2, "failed": failed}, "hits": {"hits": list(hits)}}


def both(nearest: Any, matching: Any) -> tuple[int, Any]:
    return 200, {"took": 1, "responses": [{**reply, "status": 200} for reply in (nearest, matching)]}


def test_a_vector_search_returns_passages_with_all_that_is_known_of_them() -> None:
    search, http = client((200, found(hit("a", 1.5, page=2, heading="One > Two"), hit("b", 1.25))))
    assert search.search("documents", "Why?", VECTOR, 4) == [
        Passage(
            text="Text a.", document_key="raw/a.txt", chunk_number=3, score=1.5, page=2, heading="One > Two"
        ),
        Passage(text="Text b.", document_key="raw/b.txt", chunk_number=3, score=1.25),
    ]
    method, path, body, timeout = http.sent[0]
    assert (method, path, timeout) == ("POST", "/documents/_search", SEARCH_READ_TIMEOUT_SECONDS)
    assert body["query"] == {"knn": {"embedding": {"vector": VECTOR, "k": 4}}}
    assert body["size"] == 4
    assert "embedding" not in body["_source"], "every hit would carry a vector that nobody reads"


def test_the_caller_says_how_long_a_search_may_take() -> None:
    search, http = client((200, found()), both(found(), found()))
    search.search("documents", "Why?", VECTOR, 4, read_timeout_seconds=3)
    search.search("documents", "Why?", VECTOR, 4, "hybrid", read_timeout_seconds=3)
    assert [timeout for *_, timeout in http.sent] == [3, 3]


def test_a_filter_narrows_the_search_for_neighbours_itself() -> None:
    search, http = client((200, found()))
    search.search("documents", "Why?", VECTOR, 4, "vector", KEYS)
    knn = http.sent[0][2]["query"]["knn"]["embedding"]
    either = {"should": [{"terms": {"document_key": ["raw/a.txt", "raw/b.txt"]}}], "minimum_should_match": 1}
    assert knn["filter"] == {"bool": {"filter": [{"bool": either}]}}, (
        "a condition outside would throw away neighbours that were found"
    )


def test_a_hybrid_search_asks_both_questions_in_one_request_under_the_same_filter() -> None:
    search, http = client(both(found(), found()))
    search.search("documents", "Why cats?", VECTOR, 4, "hybrid", BOTH)
    assert len(http.sent) == 1
    method, path, lines, _ = http.sent[0]
    assert (method, path) == ("GET", "/documents/_msearch"), "the service lists this call with GET only"
    first_header, nearest, second_header, matching = lines
    assert first_header == second_header == {}
    either = [
        {"prefix": {"document_key": {"value": "raw/pdfs/"}}},
        {"terms": {"document_key": ["raw/a.txt"]}},
    ]
    condition = [{"bool": {"should": either, "minimum_should_match": 1}}]
    assert nearest["query"]["knn"]["embedding"]["filter"] == {"bool": {"filter": condition}}
    assert matching["query"]["bool"] == {
        "should": [
            {"match": {"text": {"query": "Why cats?"}}},
            {"match": {"heading": {"query": "Why cats?"}}},
        ],
        "minimum_should_match": 1,
        "filter": condition,
    }
    assert (
        nearest["size"] == matching["size"] == nearest["query"]["knn"]["embedding"]["k"] == LEAST_CANDIDATES
    )


def test_a_hybrid_search_makes_one_ranking_of_two() -> None:
    nearest = found(hit("only-near", 1.9), hit("both", 1.8), hit("last", 1.7))
    matching = found(hit("both", 12.0), hit("only-words", 9.0))
    search, _ = client(both(nearest, matching))
    passages = search.search("documents", "Why?", VECTOR, 3, "hybrid")
    assert [one.document_key for one in passages] == [
        "raw/both.txt",
        "raw/only-near.txt",
        "raw/only-words.txt",
    ]
    assert passages[0].score == pytest.approx(1 / 62 + 1 / 61)


def test_a_hybrid_search_lives_with_words_that_nothing_matches() -> None:
    search, _ = client(both(found(hit("a")), found()))
    assert len(search.search("documents", "?!", VECTOR, 3, "hybrid")) == 1


def test_more_passages_are_wanted_than_the_usual_candidates() -> None:
    search, http = client(both(found(), found()))
    search.search("documents", "Why?", VECTOR, 100, "hybrid")
    assert http.sent[0][2][1]["size"] == 100


def test_a_long_question_stays_below_the_clauses_that_a_query_may_have() -> None:
    search, http = client(both(found(), found()))
    search.search("documents", "猫" * 50_000, VECTOR, 3, "hybrid")
    words = http.sent[0][2][3]["query"]["bool"]["should"][0]["match"]["text"]["query"]
    assert 2 * len(words) == 2 * MATCHED_CHARACTERS < 1024, (
        "each Chinese character is a clause, in two fields"
    )


def test_a_question_with_a_lone_surrogate_can_be_sent() -> None:
    search, http = client(both(found(), found()))
    search.search("documents", "a\ud800b", VECTOR, 3, "hybrid")
    assert "\ud800" not in json.dumps(http.sent[0][2], ensure_ascii=False)


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_a_hit_with_broken_or_missing_fields_does_not_break_the_answer(mode: str) -> None:
    broken = [
        {"_id": "1", "_score": None, "_source": {"text": "a\ud800b", "page": True, "chunk_number": "x"}},
        {"_id": "2", "_source": {"text": 7, "document_key": "raw/x"}},
        {"_id": "3", "_score": 1.0},
        {"_id": "4", "_score": 1.0, "_source": None},
    ]
    reply = (200, found(*broken)) if mode == "vector" else both(found(*broken), found())
    search, _ = client(reply)
    passages = search.search("documents", "Why?", VECTOR, 4, mode)
    assert [one.text for one in passages] == ["a\ufffdb"], "a passage without text answers nothing"
    assert (passages[0].document_key, passages[0].chunk_number, passages[0].page) == ("", 0, None)


@pytest.mark.parametrize(
    ("status", "document", "expected"),
    [
        (400, WRONG_LENGTH, ConfigurationError),
        (400, {"error": {"type": "parsing_exception", "reason": "secret"}}, SearchError),
        (403, {}, SearchError),
        (404, {"error": {"type": "index_not_found_exception", "reason": "secret"}}, SearchError),
        (429, {"error": {"type": "rejected_execution_exception"}}, ThrottledError),
        (503, {"error": {"type": "search_phase_execution_exception"}}, UnavailableError),
    ],
)
def test_a_refusal_means_the_same_in_both_modes(
    status: int, document: dict[str, Any], expected: type[PipelineError]
) -> None:
    part = {"responses": [{**found(), "status": 200}, {**document, "status": status}]}
    for mode, reply in (("vector", (status, document)), ("hybrid", (200, part))):
        search, _ = client(reply)
        with pytest.raises(expected) as caught:
            search.search("documents", "Why?", VECTOR, 4, mode)
        assert "secret" not in str(caught.value), "the store can quote the question"


def test_a_vector_of_another_length_than_the_index_says_what_to_run() -> None:
    search, _ = client((400, WRONG_LENGTH))
    with pytest.raises(ConfigurationError) as caught:
        search.search("documents", "Why?", VECTOR, 4)
    assert "vectors of 2 numbers, but the index holds vectors of 8" in str(caught.value)
    assert "python -m ops reindex" in str(caught.value)


def test_a_missing_index_says_that_a_deployment_makes_it() -> None:
    search, _ = client((404, {"error": {"type": "index_not_found_exception", "reason": "x"}}))
    with pytest.raises(SearchError, match="Deploy the platform"):
        search.search("documents", "Why?", VECTOR, 4)


@pytest.mark.parametrize("reply", [found(hit("a"), failed=1), {**found(hit("a")), "timed_out": True}])
def test_a_part_of_the_index_is_no_answer(reply: dict[str, Any]) -> None:
    for mode, answer in (("vector", (200, reply)), ("hybrid", both(found(), reply))):
        search, _ = client(answer)
        with pytest.raises(UnavailableError, match="only a part of the index"):
            search.search("documents", "Why?", VECTOR, 4, mode)


@pytest.mark.parametrize("document", [{}, {"responses": [found()]}])
def test_a_hybrid_reply_without_both_parts_is_no_answer(document: dict[str, Any]) -> None:
    search, _ = client((200, document))
    with pytest.raises(UnavailableError):
        search.search("documents", "Why?", VECTOR, 4, "hybrid")
