"""The actions of the index function that an operator's commands use, each safe to repeat."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import ConfigurationError, SearchError, UnavailableError, UpstreamTimeoutError
from tests.lambda_src.vector_index_fakes import FORBIDDEN, FakeCollection, FakeTime, invoke
from vector_index.handler import handle, lambda_handler
from vector_index.index import index_definition
from vector_index.waiting import VectorIndexError

CREATE = {"action": "create_index", "index": "documents-2", "dimension": 256, "generation": "NEXTGEN"}
MOVE = {"action": "move_alias", "alias": "documents", "to": "documents-2"}
DELETE = {"action": "delete_index", "index": "documents-1"}


@pytest.fixture
def collection() -> FakeCollection:
    """Two indexes, of which the alias names the first."""
    collection = FakeCollection()
    for name, dimension, documents in (("documents-1", 512, 7), ("documents-2", 256, 0)):
        collection.indexes[name] = index_definition(dimension, "NEXTGEN")
        collection.documents[name] = documents
    collection.aliases["documents"] = ["documents-1"]
    return collection


def test_the_status_tells_what_the_alias_names_and_what_every_index_holds(collection: FakeCollection) -> None:
    collection.indexes["something-else"] = {"mappings": {"properties": {"text": {"type": "text"}}}}
    del collection.indexes["documents-1"]["mappings"]["properties"]["page"]
    status = invoke(collection, {"action": "status", "alias": "documents"})
    assert (status["alias"], status["targets"]) == ("documents", ["documents-1"])
    assert status["indexes"] == {
        "documents-1": {"dimension": 512, "documents": 7, "missing_fields": ["page"]},
        "documents-2": {"dimension": 256, "documents": 0},
    }


def test_the_status_of_an_empty_collection_is_empty() -> None:
    status = invoke(FakeCollection(), {"action": "status", "alias": "documents"})
    assert (status["targets"], status["indexes"]) == ([], {})


def test_a_new_index_can_be_counted_once_it_is_said_to_be_made() -> None:
    collection = FakeCollection()
    collection.unknown_to_searches = 2
    time = FakeTime()
    result = invoke(collection, CREATE, time)
    assert (result["did"], result["documents"]) == (["created index documents-2"], 0)
    assert result["waited_for"] == ["the collection to know its new index"]
    assert len(time.pauses) == 2, "a first write to it would be refused with 404"
    assert collection.aliases == {}, "readers would search an empty index"


def test_an_index_is_made_once(collection: FakeCollection) -> None:
    assert invoke(collection, CREATE)["did"] == []
    with pytest.raises(VectorIndexError, match="exists with dimension 256, but 1024 was asked for"):
        invoke(collection, {**CREATE, "dimension": 1024})


def test_an_index_to_be_filled_must_have_every_field(collection: FakeCollection) -> None:
    del collection.indexes["documents-2"]["mappings"]["properties"]["revision"]
    with pytest.raises(VectorIndexError, match="lacks revision"):
        invoke(collection, CREATE)


def test_an_index_is_counted(collection: FakeCollection) -> None:
    assert invoke(collection, {"action": "count", "index": "documents-1"})["documents"] == 7


@pytest.mark.parametrize(
    "event", [{"action": "count", "index": "documents-9"}, {**MOVE, "to": "documents-9"}]
)
def test_an_index_that_is_not_there_is_an_error_at_once(
    collection: FakeCollection, event: dict[str, Any]
) -> None:
    time = FakeTime()
    with pytest.raises(VectorIndexError, match="There is no index documents-9"):
        invoke(collection, event, time)
    assert time.pauses == []
    assert collection.aliases == {"documents": ["documents-1"]}


def test_the_alias_moves_and_says_where_it_was(collection: FakeCollection) -> None:
    result = invoke(collection, MOVE)
    assert (result["targets"], result["previous"]) == (["documents-2"], ["documents-1"])
    assert collection.aliases == {"documents": ["documents-2"]}
    assert invoke(collection, MOVE)["previous"] == [], "the alias is there already"


def test_an_alias_is_never_moved_to_an_index_without_vectors(collection: FakeCollection) -> None:
    collection.indexes["documents-2"] = {"mappings": {"properties": {}}}
    with pytest.raises(VectorIndexError, match="documents-2 holds no vectors"):
        invoke(collection, MOVE)
    assert collection.aliases == {"documents": ["documents-1"]}


def test_an_index_that_readers_use_is_not_deleted(collection: FakeCollection) -> None:
    with pytest.raises(
        VectorIndexError, match="documents-1 is kept: readers use it through the alias documents"
    ):
        invoke(collection, DELETE)
    assert "documents-1" in collection.indexes


def test_an_index_that_nobody_reads_is_deleted_once(collection: FakeCollection) -> None:
    collection.aliases["documents"] = ["documents-2"]
    assert invoke(collection, DELETE)["did"] == ["deleted index documents-1"]
    assert invoke(collection, DELETE)["did"] == []
    assert list(collection.indexes) == ["documents-2"]


@pytest.mark.parametrize(
    ("event", "call"),
    [({**CREATE, "index": "documents-3"}, "create_index"), (MOVE, "move_alias"), (DELETE, "delete_index")],
)
def test_an_action_whose_reply_was_lost_is_repeated_and_done_once(
    collection: FakeCollection, event: dict[str, Any], call: str
) -> None:
    if event is DELETE:
        collection.aliases["documents"] = ["documents-2"]
    collection.interruptions[call] = UpstreamTimeoutError("no reply")
    assert invoke(collection, event)["waited_for"] == ["the collection to reply"]
    invoke(collection, event)
    assert len(collection.aliases["documents"]) == 1
    assert set(collection.indexes) - {"documents-1", "documents-3"} == {"documents-2"}


@pytest.mark.parametrize("refusal", [FORBIDDEN, UnavailableError("503")])
def test_an_action_waits_for_a_collection_that_does_not_let_it_in_yet(refusal: Exception) -> None:
    time = FakeTime()
    with pytest.raises(VectorIndexError, match="Waited 60 of 60 seconds"):
        invoke(FakeCollection(refusal), {"action": "status", "alias": "documents"}, time)
    with pytest.raises(VectorIndexError, match="Waited 10 of 10 seconds"):
        invoke(FakeCollection(refusal), {"action": "status", "alias": "documents", "wait_seconds": 10})


def test_a_refusal_that_waiting_cannot_mend_fails_at_once() -> None:
    time = FakeTime()
    with pytest.raises(VectorIndexError, match="400 parsing_exception"):
        refusal = SearchError("400 parsing_exception.", 400, "parsing_exception")
        invoke(FakeCollection(refusal), {"action": "status", "alias": "documents"}, time)
    assert time.pauses == []


@pytest.mark.parametrize(
    ("event", "faults"),
    [
        ({"action": "drop"}, ["action is 'drop', it must be status or create_index"]),
        ({"action": None}, ["action is None"]),
        ({"action": ["status"]}, [r"action is ['status']"]),
        ({"action": "status"}, ["alias is None"]),
        ({"action": "status", "alias": "documents", "index": "x"}, ["there is no field index"]),
        (
            {
                "action": "create_index",
                "index": "UP",
                "dimension": 0,
                "generation": "OLD",
                "wait_seconds": 900,
            },
            ["index is 'UP'", "dimension is 0", "generation is 'OLD'", "wait_seconds is 900"],
        ),
        ({"action": "count", "index": "documents-*"}, ["index is 'documents-*'"]),
        ({"action": "delete_index", "index": "_all"}, ["index is '_all'"]),
        ({"action": "move_alias", "alias": "documents", "to": "documents"}, ["alias must differ from to"]),
        (
            {"action": "move_alias", "alias": "documents", "index": "x"},
            ["to is None", "there is no field index"],
        ),
    ],
)
def test_every_fault_of_an_action_is_reported_at_once_and_nothing_is_done(
    event: dict[str, Any], faults: list[str]
) -> None:
    with pytest.raises(VectorIndexError) as error:
        handle(event, None, lambda: pytest.fail("a client was made"))
    for fault in faults:
        assert fault in str(error.value)


def test_an_action_without_a_context_has_no_deadline(collection: FakeCollection) -> None:
    fake: Any = collection
    assert handle({"action": "count", "index": "documents-1"}, None, lambda: fake)["documents"] == 7


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(["index", "alias", "to", "dimension", "generation", "wait_seconds", "tf"])
ACTIONS = st.sampled_from(["status", "create_index", "count", "move_alias", "delete_index"])


@given(
    JSON
    | st.dictionaries(FIELDS, JSON)
    | st.builds(lambda name, more: {**more, "action": name}, ACTIONS, st.dictionaries(FIELDS, JSON))
)
def test_whatever_the_event_is_it_is_done_or_refused_with_a_sentence(event: Any) -> None:
    fake: Any = FakeCollection()
    time = FakeTime()
    try:
        result = handle(event, time, lambda: fake, time.sleep, time.clock)
    except VectorIndexError as error:
        assert str(error).endswith(".")
    else:
        assert result["action"]


def test_the_function_names_every_variable_that_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENSEARCH_ENDPOINT", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigurationError, match="OPENSEARCH_ENDPOINT is not set; AWS_REGION is not set"):
        lambda_handler({"action": "status", "alias": "documents"}, None)
