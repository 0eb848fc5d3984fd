"""The function that makes index and alias while a deployment runs, against a collection that is not ready yet."""

import json
from typing import Any

import pytest

from rag.errors import SearchError, UnavailableError
from tests.lambda_src.fakes import FakeTime
from vector_index.handler import handle
from vector_index.index import PAUSE_SECONDS, VectorIndexError, index_definition

REQUEST = {
    "index": "documents-1",
    "alias": "documents",
    "dimension": 512,
    "generation": "NEXTGEN",
    "wait_seconds": 120,
    "tf": {"action": "create", "prev_input": None},
}
FORBIDDEN = SearchError("Creating was refused with 403.", 403, "security_exception")


class FakeCollection:
    """Indexes and aliases in memory; raises the queued errors first."""

    def __init__(self, *refusals: Exception) -> None:
        self.refusals = list(refusals)
        self.indexes: dict[str, dict[str, Any]] = {}
        self.aliases: dict[str, list[str]] = {}
        self.calls = 0

    def _call(self) -> None:
        self.calls += 1
        if self.refusals:
            raise self.refusals.pop(0) if len(self.refusals) > 1 else self.refusals[0]

    def open(self) -> None:
        self.refusals.clear()

    def index_dimension(self, index: str) -> int | None:
        self._call()
        if index not in self.indexes:
            return None
        return self.indexes[index]["mappings"]["properties"]["embedding"]["dimension"]

    def create_index(self, index: str, definition: dict[str, Any]) -> None:
        self.indexes[index] = definition

    def alias_targets(self, alias: str) -> list[str]:
        return self.aliases.get(alias, [])

    def add_alias(self, index: str, alias: str) -> None:
        self.aliases.setdefault(alias, []).append(index)


def run(collection: FakeCollection, time: FakeTime | None = None, **changes: Any) -> dict[str, Any]:
    time = time or FakeTime(lambda_seconds=600)
    fake: Any = collection
    result = handle({**REQUEST, **changes}, time, lambda: fake, time.sleep, time.clock)
    assert json.loads(json.dumps(result)) == result, "Pulumi reads the result as JSON"
    return result


def test_a_new_collection_gets_index_and_alias() -> None:
    collection = FakeCollection()
    result = run(collection)
    assert result["did"] == ["created index documents-1", "added alias documents"]
    assert (result["waited_seconds"], result["waited_for"]) == (0, [])
    assert collection.aliases == {"documents": ["documents-1"]}


def test_it_waits_until_the_data_policy_lets_it_in_and_says_so() -> None:
    class Opening(FakeTime):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if self.now >= 60:
                collection.open()

    collection = FakeCollection(FORBIDDEN)
    result = run(collection, Opening(lambda_seconds=600))
    assert result["waited_seconds"] == 60
    assert result["waited_for"] == ["the data access policy to take effect"]
    assert collection.calls == 60 / PAUSE_SECONDS + 1
    assert result["alias_points_to"] == ["documents-1"]


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (FORBIDDEN, "the data access policy to take effect"),
        (SearchError("404", 404, ""), "the collection to know its new index"),
        (
            SearchError("400", 400, "resource_already_exists_exception"),
            "the collection to know its new index",
        ),
        (UnavailableError("503"), "the collection to reply"),
    ],
)
def test_it_gives_up_after_the_time_given_with_what_to_check(refusal: Exception, reason: str) -> None:
    time = FakeTime(lambda_seconds=600)
    with pytest.raises(VectorIndexError) as error:
        run(FakeCollection(refusal), time)
    assert f"Waited 120 of 120 seconds for {reason}" in str(error.value)
    assert "data access policy names this function's role" in str(error.value)
    assert time.now == 120


def test_it_gives_up_in_time_to_say_why_when_lambda_has_less_time() -> None:
    time = FakeTime(lambda_seconds=90)
    with pytest.raises(VectorIndexError, match="of 120 seconds"):
        run(FakeCollection(FORBIDDEN), time)
    assert time.get_remaining_time_in_millis() >= 42_000, "one more request could outlive the function"


def test_a_refusal_that_waiting_cannot_mend_fails_at_once() -> None:
    time = FakeTime(lambda_seconds=600)
    with pytest.raises(VectorIndexError, match="mapper_parsing_exception"):
        run(
            FakeCollection(SearchError("400 mapper_parsing_exception.", 400, "mapper_parsing_exception")),
            time,
        )
    assert time.pauses == []


def test_an_index_of_another_dimension_is_refused_with_the_way_out() -> None:
    collection = FakeCollection()
    run(collection, dimension=1024)
    with pytest.raises(VectorIndexError) as error:
        run(collection, tf={"action": "update"})
    assert "exists with dimension 1024, but 512 was asked for" in str(error.value)
    assert "choose another index name" in str(error.value)


def test_an_update_repeats_nothing() -> None:
    collection = FakeCollection()
    run(collection)
    assert run(collection, tf={"action": "update"})["did"] == []
    assert collection.aliases == {"documents": ["documents-1"]}


def test_an_alias_that_points_elsewhere_is_never_moved() -> None:
    collection = FakeCollection()
    run(collection)
    result = run(collection, index="documents-2", tf={"action": "update"})
    assert result["did"] == ["created index documents-2"]
    assert result["alias_points_to"] == ["documents-1"]
    assert collection.aliases == {"documents": ["documents-1"]}, "readers would search an empty index"


def test_delete_keeps_everything_and_asks_nobody() -> None:
    def get_client() -> Any:
        raise AssertionError("a deletion must work when the collection is gone already")

    result = handle({**REQUEST, "tf": {"action": "delete"}}, None, get_client)
    assert (result["did"], result["kept"]) == ([], ["documents-1", "documents"])


def test_classic_is_told_engine_and_method_and_nextgen_is_not() -> None:
    classic = index_definition(512, "CLASSIC")["mappings"]["properties"]
    assert (classic["embedding"]["method"]["engine"], classic["embedding"]["method"]["name"]) == (
        "faiss",
        "hnsw",
    )
    nextgen = index_definition(512, "NEXTGEN")["mappings"]["properties"]
    assert nextgen["embedding"] == {"type": "knn_vector", "dimension": 512, "space_type": "innerproduct"}
    assert nextgen["document_key"] == {"type": "keyword"}, (
        "the chunks of a document could not be found by its key"
    )
    assert set(nextgen) == {"embedding", "text", "document_key", "chunk_number", "model_id"}


def test_every_fault_of_the_request_is_reported_at_once() -> None:
    faulty: dict[str, Any] = {
        "index": "Documents",
        "alias": 7,
        "dimension": True,
        "generation": "OLD",
        "wait_seconds": 1.5,
    }
    with pytest.raises(VectorIndexError) as error:
        run(FakeCollection(), **faulty, tf={"action": "replace"})
    for name in (
        "index is 'Documents'",
        "alias is 7",
        "dimension is True",
        "generation",
        "wait_seconds",
        "tf.action",
    ):
        assert name in str(error.value)


@pytest.mark.parametrize("event", [None, [], {}, {"tf": 1}, {**REQUEST, "alias": "documents-1"}])
def test_an_event_of_another_shape_is_a_clear_error(event: Any) -> None:
    with pytest.raises(VectorIndexError, match="not usable"):
        handle(event, None, lambda: pytest.fail("a client was made"))


def test_whole_numbers_may_arrive_as_floats() -> None:
    assert run(FakeCollection(), dimension=512.0, wait_seconds=120.0)["did"]
