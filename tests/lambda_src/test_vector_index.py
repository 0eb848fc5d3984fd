"""The function that makes index and alias while a deployment runs, against a collection that is not ready yet."""

from dataclasses import fields
from typing import Any

import pytest

from rag.errors import SearchError, UnavailableError, UnreachableError
from rag.search import IndexedChunk
from tests.lambda_src.vector_index_fakes import FORBIDDEN, REQUEST, FakeCollection, FakeTime, run
from vector_index.handler import handle
from vector_index.index import index_definition
from vector_index.waiting import PAUSE_SECONDS, VectorIndexError


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
        (UnreachableError("no address answered"), "the collection to reply"),
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
    assert time.get_remaining_time_in_millis() >= 43_000, "one more request could outlive the function"


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
    assert error.value.__cause__ is None, "the log would tell the same fault twice"


def test_what_pulumi_asks_for_is_never_taken_for_a_command() -> None:
    collection = FakeCollection()
    assert run(collection, action="delete_index")["action"] == "create"
    assert list(collection.indexes) == ["documents-1"]


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


def test_a_deployment_twice_at_the_same_time_makes_one_index() -> None:
    collection = FakeCollection()

    class Racing(FakeCollection):
        def index_fields(self, index: str) -> dict[str, Any] | None:
            seen = collection.index_fields(index)
            if seen is None:
                run(collection)
            return seen

        def __getattribute__(self, name: str) -> Any:
            return super().__getattribute__(name) if name == "index_fields" else getattr(collection, name)

    result = run(Racing())
    assert result["waited_for"] == ["the collection to know its new index"]
    assert (list(collection.indexes), collection.aliases) == (["documents-1"], {"documents": ["documents-1"]})


@pytest.mark.parametrize("call", ["create_index", "add_alias"])
def test_a_deployment_that_was_cut_off_after_a_change_goes_on_from_there(call: str) -> None:
    collection = FakeCollection()
    collection.interruptions[call] = UnavailableError("503")
    assert run(collection)["alias_points_to"] == ["documents-1"]
    assert collection.aliases == {"documents": ["documents-1"]}


def test_an_index_of_an_older_version_is_kept_and_its_missing_fields_are_named() -> None:
    collection = FakeCollection()
    run(collection)
    for name in ("page", "revision"):
        del collection.indexes["documents-1"]["mappings"]["properties"][name]
    result = run(collection, tf={"action": "update"})
    assert (result["did"], result["missing_fields"]) == ([], ["page", "revision"])
    assert "lacks page, revision" in result["advice"]
    assert "python -m ops reindex" in result["advice"]
    assert "missing_fields" not in run(FakeCollection()), "nothing is missing from a new index"


def test_an_index_that_was_made_by_writing_to_it_is_refused() -> None:
    collection = FakeCollection()
    collection.indexes["documents-1"] = {"mappings": {"properties": {"embedding": {"type": "float"}}}}
    with pytest.raises(VectorIndexError, match="its field embedding holds no vectors"):
        run(collection)


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
    assert set(nextgen) == {field.name for field in fields(IndexedChunk)}, (
        "a field would get a type by chance"
    )
    assert set(nextgen) == set(classic)


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
