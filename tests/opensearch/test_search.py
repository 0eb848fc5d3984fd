"""The search code against a real OpenSearch and against the engine that stands in for it."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from rag.errors import ConfigurationError, SearchError
from rag.passages import Filter, Passage
from tests.opensearch.chunks import INDEX, Collect, chunk, client_of, fill, unit
from tests.opensearch.parity import CHUNKS, QUERIES, REFUSED
from tests.standins.aoss import Engine, serving_collection
from tests.standins.opensearch_engine import OpenSearchEngine
from tests.standins.search_engine import MemoryEngine


def places(passages: Sequence[Passage]) -> list[tuple[str, int]]:
    return [(passage.document_key, passage.chunk_number) for passage in passages]


@pytest.mark.parametrize("generation", ["NEXTGEN", "CLASSIC"])
def test_passages_come_in_the_order_of_their_inner_products(collect: Collect, generation: str) -> None:
    _, client = collect(generation=generation)
    chunks = [chunk("raw/a.txt", number) for number in range(60)]
    fill(client, chunks, generation)
    wanted = unit(1)
    products = np.array([one.embedding for one in chunks]) @ np.array(wanted)
    expected = [int(number) for number in np.argsort(-products)[:20]]
    found = client.search(INDEX, "", wanted, 20)
    assert [passage.chunk_number for passage in found] == expected
    scores = [product + 1 if product >= 0 else 1 / (1 - product) for product in products[expected]]
    assert [passage.score for passage in found] == pytest.approx(scores, rel=1e-5)
    assert found[0].page == found[0].chunk_number + 1
    assert found[0].heading == "Heading"


def test_a_filter_holds_inside_the_search_for_neighbours(collect: Collect) -> None:
    _, client = collect()
    far = [chunk("raw/far/b.txt", number, embedding=[-number for number in unit(1)]) for number in range(3)]
    near = [chunk("raw/near/a.txt", number, embedding=unit(1)) for number in range(20)]
    fill(client, [*near, *far])
    found = client.search(INDEX, "", unit(1), 3, filter=Filter(document_keys=("raw/far/b.txt",)))
    assert sorted(places(found)) == [("raw/far/b.txt", number) for number in range(3)], (
        "nearer chunks of other documents took the places"
    )


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        (Filter(), {"raw/a/1.txt", "raw/a/2 ü+ (x).txt", "raw/b/1.txt", "raw/*/1.txt"}),
        (Filter(prefixes=("raw/a/",)), {"raw/a/1.txt", "raw/a/2 ü+ (x).txt"}),
        (Filter(document_keys=("raw/a/2 ü+ (x).txt",)), {"raw/a/2 ü+ (x).txt"}),
        (Filter(document_keys=("raw/b/1.txt",), prefixes=("raw/a/1",)), {"raw/a/1.txt", "raw/b/1.txt"}),
        (Filter(prefixes=("raw/*/",)), {"raw/*/1.txt"}),
        (Filter(document_keys=("raw/none.txt",)), set()),
    ],
)
@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_a_search_finds_the_documents_of_its_filter_only(
    collect: Collect, mode: str, wanted: Filter, keys: set[str]
) -> None:
    _, client = collect()
    everything = ["raw/a/1.txt", "raw/a/2 ü+ (x).txt", "raw/b/1.txt", "raw/*/1.txt"]
    fill(client, [chunk(key) for key in everything])
    found = client.search(INDEX, "chunk", unit(1), 10, mode, wanted)
    assert {passage.document_key for passage in found} == keys


def test_a_hybrid_search_finds_words_that_vectors_miss(collect: Collect) -> None:
    _, client = collect()
    crowd = [chunk("raw/crowd.txt", number, embedding=unit(1)) for number in range(40)]
    rare = chunk("raw/part.txt", text="Order number XK-4711-B.", embedding=[-number for number in unit(1)])
    fill(client, [*crowd, rare])
    assert ("raw/part.txt", 0) not in places(client.search(INDEX, "XK-4711-B", unit(1), 5))
    assert ("raw/part.txt", 0) in places(client.search(INDEX, "XK-4711-B", unit(1), 5, "hybrid"))


def test_a_hybrid_search_also_looks_at_headings(collect: Collect) -> None:
    _, client = collect()
    crowd = [chunk("raw/crowd.txt", number, embedding=unit(1)) for number in range(40)]
    headed = chunk("raw/part.txt", heading="Zeppelin", embedding=[-number for number in unit(1)])
    fill(client, [*crowd, headed])
    assert ("raw/part.txt", 0) in places(client.search(INDEX, "zeppelin", unit(1), 5, "hybrid"))


@pytest.mark.parametrize("text", ["?!", "", "日本語の文", "AND OR NOT (", "word " * 2000, "a" * 40_000])
def test_a_hybrid_search_takes_any_text(collect: Collect, text: str) -> None:
    _, client = collect()
    fill(client, [chunk("raw/a.txt")])
    assert len(client.search(INDEX, text, unit(1), 5, "hybrid")) == 1


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_an_empty_index_holds_no_passages(collect: Collect, mode: str) -> None:
    _, client = collect()
    fill(client, [])
    assert client.search(INDEX, "text", unit(1), 5, mode) == []


def test_a_question_of_another_dimension_names_both(collect: Collect) -> None:
    _, client = collect()
    fill(client, [chunk("raw/a.txt")])
    with pytest.raises(ConfigurationError, match="vectors of 3 numbers.*vectors of 8"):
        client.search(INDEX, "", [1, 0, 0], 5)
    with pytest.raises(ConfigurationError, match="vectors of 3 numbers"):
        client.search(INDEX, "text", [1, 0, 0], 5, "hybrid")


def test_more_hits_than_ten_thousand_are_refused(collect: Collect) -> None:
    _, client = collect()
    fill(client, [chunk("raw/a.txt")])
    with pytest.raises(SearchError):
        client._search(INDEX, {"size": 10_001, "query": {"match_all": {}}})


def test_a_missing_index_is_told_with_the_way_out(collect: Collect) -> None:
    _, client = collect()
    with pytest.raises(SearchError, match="index_not_found_exception.*Deploy the platform"):
        client.search("none", "", unit(1), 5)
    with pytest.raises(SearchError, match="index_not_found_exception"):
        client.search("none", "text", unit(1), 5, "hybrid")


def shortly(value: Any) -> str:
    return str(value)[:80]


@pytest.fixture
def pair(opensearch: OpenSearchEngine) -> tuple[Engine, Engine]:
    """The stand-in and the real one with the same chunks in them."""
    engines = (MemoryEngine(), opensearch)
    for engine in engines:
        with serving_collection(engine) as collection:
            fill(client_of(collection), CHUNKS)
    return engines


@pytest.mark.parametrize("query", QUERIES, ids=shortly)
def test_the_stand_in_finds_and_scores_as_the_real_one_does(pair: tuple[Engine, Engine], query: Any) -> None:
    body = json.dumps({"size": 100, "_source": False, "query": query}).encode()
    (_, ours), (_, real) = (engine.call("POST", f"/{INDEX}/_search", body) for engine in pair)
    scores = [{hit["_id"]: hit["_score"] for hit in reply["hits"]["hits"]} for reply in (ours, real)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-4)
    assert ours["hits"]["total"] == real["hits"]["total"]


@pytest.mark.parametrize("call", REFUSED, ids=shortly)
def test_the_stand_in_refuses_as_the_real_one_does(pair: tuple[Engine, Engine], call: Any) -> None:
    method, target, body = call
    content = b"" if body is None else json.dumps(body).encode()
    ours, real = (told(engine.call(method, target, content)) for engine in pair)
    assert ours == real


def told(outcome: tuple[int, Any]) -> tuple[Any, ...]:
    """What code can act on: the status, and the name of the error with that of its cause."""
    status, document = outcome
    error = document["error"]
    if isinstance(error, str):
        return status, error
    return status, error["type"], [cause["type"] for cause in error["root_cause"]]
