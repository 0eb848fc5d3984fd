"""Indexes and aliases, the function that makes them, and bulk writes, against a real OpenSearch and its stand-in."""

import subprocess
import sys
from typing import Any

import pytest

from rag.errors import ConfigurationError, SearchError, ThrottledError
from rag.search import OpenSearchClient
from tests.local.environment import PROJECT_ROOT
from tests.opensearch.chunks import INDEX, Collect, chunk, fill, unit
from tests.standins.aoss import denied
from tests.standins.faults import Fault
from tests.standins.opensearch_engine import OpenSearchEngine
from vector_index.handler import handle
from vector_index.index import VectorIndexError, index_definition


def deploy(client: OpenSearchClient, **changes: Any) -> dict[str, Any]:
    event = {
        "tf": {"action": "create"}, "index": "documents-1", "alias": "documents", "dimension": 8,
        "generation": "NEXTGEN", "wait_seconds": 60, **changes,
    }  # fmt: skip
    return handle(event, None, lambda: client, sleep=lambda seconds: None)


def command(client: OpenSearchClient, action: str, **fields: Any) -> dict[str, Any]:
    return handle({"action": action, **fields}, None, lambda: client, sleep=lambda seconds: None)


@pytest.mark.parametrize("generation", ["NEXTGEN", "CLASSIC"])
def test_the_index_and_its_alias_are_made_once(collect: Collect, generation: str) -> None:
    _, client = collect(generation=generation)
    first = deploy(client, generation=generation)
    assert first["did"] == ["created index documents-1", "added alias documents"]
    again = deploy(client, generation=generation)
    assert again["did"] == []
    assert again["alias_points_to"] == ["documents-1"]
    assert client.index_dimension("documents") == 8, "readers ask by the alias"


def test_a_collection_that_lets_nobody_in_yet_is_waited_for(collect: Collect) -> None:
    collection, client = collect()
    collection.faults.add(denied(), times=3)
    outcome = deploy(client)
    assert outcome["waited_for"] == ["the data access policy to take effect"]
    assert outcome["alias_points_to"] == ["documents-1"]


def test_a_sleeping_collection_is_waited_for(collect: Collect) -> None:
    collection, client = collect()
    collection.faults.add(Fault(status=503, code="unavailable"), times=2)
    assert deploy(client)["waited_for"] == ["the collection to reply"]


def test_an_index_of_another_dimension_stays_as_it_is(collect: Collect) -> None:
    _, client = collect()
    deploy(client)
    with pytest.raises(VectorIndexError, match="dimension 8, but 16"):
        deploy(client, dimension=16)


def test_the_alias_moves_in_one_step_and_moves_back(collect: Collect) -> None:
    collection, client = collect()
    deploy(client)
    command(client, "create_index", index="documents-2", dimension=16, generation="NEXTGEN")
    moved = command(client, "move_alias", alias="documents", to="documents-2")
    assert (moved["targets"], moved["previous"]) == (["documents-2"], ["documents-1"])
    assert collection.calls.count("POST /_aliases") == 2, (
        "one to add it, one to move it: no moment without an index"
    )
    assert client.alias_targets("documents") == ["documents-2"]
    assert command(client, "move_alias", alias="documents", to="documents-2")["previous"] == []
    command(client, "move_alias", alias="documents", to="documents-1")
    assert client.alias_targets("documents") == ["documents-1"]


def test_a_change_of_aliases_is_done_whole_or_not_at_all(collect: Collect) -> None:
    _, client = collect()
    deploy(client)
    actions = [
        {"add": {"index": "documents-1", "alias": "another"}},
        {"add": {"index": "none", "alias": "another"}},
    ]
    with pytest.raises(SearchError):
        client._change_aliases(actions, "Changing")
    assert client.alias_targets("another") == []


def test_an_index_that_readers_use_is_not_deleted(collect: Collect) -> None:
    _, client = collect()
    deploy(client)
    with pytest.raises(VectorIndexError, match="readers use it through the alias documents"):
        command(client, "delete_index", index="documents-1")
    command(client, "create_index", index="documents-2", dimension=8, generation="NEXTGEN")
    command(client, "move_alias", alias="documents", to="documents-2")
    assert command(client, "delete_index", index="documents-1")["did"] == ["deleted index documents-1"]
    assert command(client, "delete_index", index="documents-1")["did"] == []


def test_the_status_shows_every_index_with_its_documents(collect: Collect) -> None:
    _, client = collect()
    deploy(client)
    status = command(client, "status", alias="documents")
    assert status["targets"] == ["documents-1"]
    assert status["indexes"] == {"documents-1": {"dimension": 8, "documents": 0}}


def test_an_index_is_not_made_in_the_place_of_an_alias(collect: Collect) -> None:
    _, client = collect()
    deploy(client)
    with pytest.raises(SearchError):
        client.create_index("documents", index_definition(8, "NEXTGEN"))
    with pytest.raises(SearchError):
        client.delete_index("documents")


def test_a_chunk_of_another_dimension_is_refused_and_the_others_are_kept(collect: Collect) -> None:
    _, client = collect()
    with pytest.raises(ConfigurationError, match="vectors of 3 numbers.*vectors of 8"):
        fill(client, [chunk("raw/a.txt"), chunk("raw/b.txt", embedding=[1, 0, 0]), chunk("raw/c.txt")])
    assert client.count(INDEX) == 2, "an item that fails does not fail its neighbours"


def test_a_write_without_ids_leaves_nothing_behind_when_an_item_fails(collect: Collect) -> None:
    _, client = collect(generation="CLASSIC")
    with pytest.raises(ConfigurationError):
        fill(client, [chunk("raw/a.txt"), chunk("raw/b.txt", embedding=[1, 0, 0])], "CLASSIC")
    assert client.count(INDEX) == 0, "a repetition would write the first one twice"


def test_items_that_a_busy_collection_puts_off_are_written_in_the_end(collect: Collect) -> None:
    collection, client = collect(generation="CLASSIC")
    busy = Fault(operation="bulk_item", status=429, code="rejected_execution_exception")
    collection.faults.add(busy, times=4)
    ids = fill(client, [chunk("raw/a.txt", number) for number in range(3)], "CLASSIC")
    assert len(set(ids)) == 3
    assert client.document_ids(INDEX, "raw/a.txt") == set(ids), "an item was written twice or not at all"


def test_items_that_stay_refused_are_reported(collect: Collect) -> None:
    collection, client = collect()
    collection.faults.add(
        Fault(operation="bulk_item", status=429, code="rejected_execution_exception"), times=50
    )
    with pytest.raises(ThrottledError, match="rejected_execution_exception"):
        fill(client, [chunk("raw/a.txt")])


def test_a_classic_collection_gives_the_ids_itself(collect: Collect) -> None:
    _, client = collect(generation="CLASSIC")
    ids = fill(client, [chunk("raw/a.txt", number) for number in range(3)], "CLASSIC")
    assert client.document_ids(INDEX, "raw/a.txt") == set(ids)
    with pytest.raises(ConfigurationError, match="takes no ids of ours"):
        client.bulk_index(INDEX, [chunk("raw/a.txt")], ["ours"])
    client.bulk_delete(INDEX, ids[:2])
    assert client.document_ids(INDEX, "raw/a.txt") == {ids[2]}


def test_the_same_id_is_written_over_and_deleted_once(collect: Collect) -> None:
    _, client = collect()
    ids = fill(client, [chunk("raw/a.txt", text="old")])
    client.bulk_index(INDEX, [chunk("raw/a.txt", text="new")], ids)
    assert [passage.text for passage in client.search(INDEX, "", unit(1), 5)] == ["new"]
    client.bulk_delete(INDEX, [*ids, "never-there"])
    client.bulk_delete(INDEX, ids)
    assert client.count(INDEX) == 0


def test_ids_are_found_by_document_revision_and_number(collect: Collect) -> None:
    _, client = collect()
    old = [chunk("raw/a.txt", number, revision="old") for number in range(5)]
    new = [chunk("raw/a.txt", number, revision="new") for number in range(5)]
    fill(client, [*old, *new, chunk("raw/a.txt.bak"), chunk("raw/A.txt")])
    find = client.document_ids
    assert find(INDEX, "raw/a.txt", revision="old") == {f"raw/a.txt-old-{number}" for number in range(5)}
    assert find(INDEX, "raw/a.txt", not_revision="new") == {f"raw/a.txt-old-{number}" for number in range(5)}
    assert find(INDEX, "raw/a.txt", revision="new", chunk_numbers=range(1, 3)) == {
        "raw/a.txt-new-1",
        "raw/a.txt-new-2",
    }
    assert len(find(INDEX, "raw/a.txt")) == 10, "a key is the whole key, in its own case"


def test_more_chunks_than_a_search_may_return_are_all_found(
    collect: Collect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.search.MAX_HITS", 4)
    _, client = collect()
    ids = fill(client, [chunk("raw/a.txt", number) for number in range(19)])
    assert client.document_ids(INDEX, "raw/a.txt") == set(ids)


def test_chunks_are_counted_by_document_and_revision(collect: Collect) -> None:
    _, client = collect()
    fill(client, [chunk("raw/a.txt", number) for number in range(3)] + [chunk("raw/b.txt", revision="two")])
    assert client.count(INDEX) == 4
    assert client.count(INDEX, "raw/a.txt") == 3
    assert client.count(INDEX, "raw/a.txt", "two") == 0


def test_writes_are_found_after_a_refresh_and_not_before(collect: Collect) -> None:
    collection, client = collect(refresh_seconds=None)
    ids = fill(client, [chunk("raw/a.txt")])
    assert client.count(INDEX) == 0
    collection.refresh()
    assert client.document_ids(INDEX, "raw/a.txt") == set(ids)
    client.bulk_delete(INDEX, ids)
    assert client.count(INDEX) == 1, "a deletion is seen as late as a write"
    collection.refresh()
    assert client.count(INDEX) == 0


def test_the_whole_platform_runs_on_a_real_opensearch(opensearch: OpenSearchEngine) -> None:
    command = [sys.executable, "-m", "tests.local", "--check", "--generation", "CLASSIC"]
    done = subprocess.run(
        [*command, "--opensearch", opensearch.url], cwd=PROJECT_ROOT, text=True, timeout=180, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
