"""Documents are copied into another index, with the vectors that lie in the lake."""

import json
from dataclasses import replace
from typing import Any

import pytest

from rag.errors import ThrottledError
from tests.lambda_src.ingestion_world import World, text

KEY = "raw/web-scrapes/über uns.md"
NEW = "documents-2"


@pytest.fixture(params=["NEXTGEN", "CLASSIC"])
def world(request: pytest.FixtureRequest) -> World:
    world = World(request.param)
    world.vector_length = world.settings.pipeline.embedding_dimensions
    world.put(KEY, text(5))
    world.settle()
    return world


def call(world: World, **request: Any) -> dict[str, Any]:
    return world.invoke({"reindex": {"document_key": KEY, "index": NEW, **request}})


def copy_all(world: World, *, re_embed: bool = False) -> list[dict[str, Any]]:
    answers = [call(world, part=part, re_embed=re_embed) for part in range(3)]
    world.now += 1000
    return answers


def part(world: World, number: int) -> str:
    return f"processed/embeddings/{KEY}/{world.manifest(KEY)['revision']}/{number:05d}.jsonl.gz"


def test_a_document_is_copied_whole_and_costs_no_embeddings(world: World) -> None:
    paid = world.embedded
    answers = copy_all(world)
    assert answers[0] == {
        "document_key": KEY, "part": 0, "written": 2, "skipped": 0, "embedding_tokens": 0,
    }  # fmt: skip
    assert [answer["written"] for answer in answers] == [2, 2, 1]
    assert world.embedded == paid
    assert call(world, finish=True) == {"complete": True, "expected": 5, "found": 5}
    assert world.found(KEY, NEW) == world.expected(KEY) == world.found(KEY)
    assert {tuple(one.embedding) for one in world.index.chunks(NEW).values()} == {
        tuple(one.embedding) for one in world.index.chunks().values()
    }
    world.index.targets = [NEW]
    world.check()


def test_after_the_switch_documents_are_replaced_and_removed_in_the_new_index(world: World) -> None:
    copy_all(world)
    call(world, finish=True)
    world.index.targets = [NEW]
    paid = world.embedded
    world.put(KEY, text(5))
    world.settle()
    assert world.embedded == paid, "after a reindex every document is paid for once more"
    world.put(KEY, text(2, "second"))
    world.settle()
    world.check()
    world.delete(KEY)
    world.settle()
    assert world.index.chunks(NEW) == {}


def test_doing_it_twice_writes_nothing_twice(world: World) -> None:
    copy_all(world)
    assert [answer["skipped"] for answer in copy_all(world)] == [2, 2, 1]
    assert call(world, finish=True)["complete"]
    assert call(world, finish=True)["complete"]
    assert world.found(KEY, NEW) == world.expected(KEY)


def test_what_a_broken_off_copy_left_is_not_there_twice(world: World) -> None:
    call(world, part=0)
    world.now += 1000
    one = sorted(world.index.chunks(NEW))[0]
    world.index.bulk_delete(NEW, [one])
    world.now += 1000
    copy_all(world)
    assert world.found(KEY, NEW) == world.expected(KEY)


def test_a_document_that_is_not_whole_is_said_to_be_so_and_keeps_its_manifest(world: World) -> None:
    before = world.manifest(KEY)
    call(world, part=0)
    world.now += 1000
    assert call(world, finish=True) == {"complete": False, "expected": 5, "found": 2}
    assert world.manifest(KEY) == before


def change_model(world: World) -> None:
    pipeline = replace(world.settings.pipeline, embedding_dimensions=512)
    world.settings = replace(world.settings, pipeline=pipeline)
    world.vector_length = 512


def test_vectors_of_another_length_are_made_anew_only_when_that_was_asked_for(world: World) -> None:
    change_model(world)
    answer = call(world, part=0)
    assert "another length" in answer["error"]["message"]
    answers = copy_all(world, re_embed=True)
    assert sum(answer["embedding_tokens"] for answer in answers) == 5
    assert call(world, finish=True)["complete"]
    assert {len(one.embedding) for one in world.index.chunks(NEW).values()} == {512}
    assert world.manifest(KEY)["dimensions"] == 512
    world.index.targets = [NEW]
    paid = world.embedded
    world.put(KEY, text(5))
    world.settle()
    assert world.embedded == paid
    world.check()


def test_vectors_made_anew_are_kept_even_when_the_index_refuses_them(world: World) -> None:
    change_model(world)
    write = world.index.bulk_index

    def refuse(*arguments: Any) -> list[str]:
        raise ThrottledError("429")

    world.index.bulk_index = refuse  # ty: ignore[invalid-assignment]
    assert call(world, part=0, re_embed=True)["error"]["code"] == "throttled"
    world.index.bulk_index = write
    assert call(world, part=0, re_embed=True)["embedding_tokens"] == 0, "the same vectors are paid for twice"


def test_archived_vectors_are_an_error_unless_they_may_be_made_anew(world: World) -> None:
    world.s3.archived.add(part(world, 1))
    assert call(world, part=1)["error"]["code"] == "archived"
    assert call(world, part=1, re_embed=True)["embedding_tokens"] == 2
    assert part(world, 1) not in world.s3.archived


def test_lost_vectors_are_an_error_unless_they_may_be_made_anew(world: World) -> None:
    del world.s3.objects[part(world, 1)]
    assert "not in the lake" in call(world, part=1)["error"]["message"]
    assert call(world, part=1, re_embed=True)["written"] == 2


def test_a_document_that_is_being_indexed_cannot_be_copied(world: World) -> None:
    world.put(KEY, text(4, "second"))
    world.deliver(world.messages[0])
    assert "state indexing" in call(world, part=0)["error"]["message"]
    assert "not there" in call(world, document_key="raw/none.txt", part=0)["error"]["message"]


@pytest.mark.parametrize(
    "request_",
    [None, [], {}, {"document_key": KEY, "index": NEW}, {"document_key": KEY, "part": 0},
     {"document_key": KEY, "index": NEW, "part": "0"}, {"document_key": KEY, "index": NEW, "part": 99}],
)  # fmt: skip
def test_a_request_that_makes_no_sense_is_answered_with_an_error(world: World, request_: Any) -> None:
    assert set(world.invoke({"reindex": request_})["error"]) == {"code", "message"}


def test_errors_of_others_are_named_without_their_text(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**arguments: Any) -> None:
        raise RuntimeError("quoted from the document")

    world.s3.get_object = fail  # ty: ignore[invalid-assignment]
    assert call(world, part=0)["error"] == {"code": "internal_error", "message": "RuntimeError"}
    assert "quoted" not in capsys.readouterr().out


def test_what_was_done_is_logged(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    call(world, part=2)
    line = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (line["event"], line["document_key"], line["index"], line["written"]) == ("reindexed", KEY, NEW, 1)


def test_a_part_that_comes_again_after_the_switch_leaves_the_new_index_alone(world: World) -> None:
    revision = world.manifest(KEY)["revision"]
    copy_all(world)
    call(world, finish=True)
    world.index.targets = [NEW]
    fields = {"document_key": KEY, "revision": revision, "part": 1}
    world.sqs.add(world.queue_url, json.dumps({"embed": fields}))
    before = dict(world.index.chunks())
    world.settle()
    world.check()
    assert world.index.chunks() == before
