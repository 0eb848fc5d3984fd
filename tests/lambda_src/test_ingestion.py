"""Documents come, change and go; what the function does with each, what it says about it, and what it costs."""

import gzip
import json
import random
from dataclasses import replace
from typing import Any

import pytest

from ingestion.extraction import max_bytes
from ingestion.settings import Generation, IngestionSettings
from ingestion.store import MAX_KEY_BYTES, manifest_key
from rag.errors import ConfigurationError
from tests.lambda_src.ingestion_faults import Fault
from tests.lambda_src.ingestion_world import INGESTION_ENVIRONMENT, World, s3_event, text

KEY = "raw/web-scrapes/über uns + 100%.md"
OTHER = "raw/pdfs/other.txt"


@pytest.fixture(params=["NEXTGEN", "CLASSIC"])
def world(request: pytest.FixtureRequest) -> World:
    return World(request.param)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What the function wrote to its log, the metrics left out."""
    written = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [line for line in written if "_aws" not in line]


def rows(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(content).splitlines()]


def test_a_small_document_is_indexed_at_once_and_its_rows_lie_in_the_lake(world: World) -> None:
    world.put(KEY, "# Title\n\nOne sentence.")
    world.deliver(world.messages[0])
    assert world.messages == [], "a small document need not go through the queue again"
    world.check()
    manifest = world.manifest(KEY)
    assert (manifest["document_key"], manifest["model_id"], manifest["dimensions"]) == (
        KEY, "amazon.titan-embed-text-v2:0", 256,
    )  # fmt: skip
    revision = manifest["revision"]
    (chunk,) = rows(world.s3.objects[f"processed/chunks/{KEY}/{revision}.jsonl.gz"])
    assert chunk == {"chunk_number": 0, "text": "Title\n\nOne sentence.", "heading": "Title", "page": None}
    (row,) = rows(world.s3.objects[f"processed/embeddings/{KEY}/{revision}/00000.jsonl.gz"])
    assert set(row) == {"chunk_number", "id", "model_id", "embedding"}
    ((one, indexed),) = world.index.chunks().items()
    assert (row["id"], row["embedding"], row["model_id"]) == (one, indexed.embedding, indexed.model_id)
    assert (indexed.revision, indexed.heading, indexed.page) == (revision, chunk["heading"], None)


def test_a_large_document_goes_through_the_queue_in_parts(world: World) -> None:
    world.put(KEY, text(25))
    world.deliver(world.messages[0])
    tasks = [json.loads(message.body)["embed"] for message in world.messages]
    revision = world.manifest(KEY)["revision"]
    assert tasks == [{"document_key": KEY, "revision": revision, "part": part} for part in range(13)]
    assert world.embedded == 0
    assert world.manifest(KEY)["state"] == "indexing"
    assert world.manifest(KEY)["chunks_per_part"] == 2
    world.settle()
    world.check()
    assert world.embedded == 25, "chunks are paid for twice"


def test_until_the_new_text_is_whole_the_old_one_can_be_found(world: World) -> None:
    world.put(KEY, text(4))
    world.settle()
    old = set(world.found(KEY))
    world.put(KEY, text(5, "second"))
    world.deliver(world.messages[0])
    world.deliver(world.messages[0])
    assert old < set(world.found(KEY)), "for a while no answer can be given from this document"
    world.settle()
    world.check()


def test_the_same_event_twice_changes_nothing_and_costs_nothing(world: World) -> None:
    world.put(KEY, text(5))
    world.settle()
    before, paid = dict(world.index.chunks()), world.embedded
    world.sqs.add(world.queue_url, s3_event(KEY, "ObjectCreated:Put"))
    world.settle()
    assert (world.index.chunks(), world.embedded) == (before, paid)


def test_a_document_copied_onto_itself_costs_nothing_and_one_that_goes_back_is_right(world: World) -> None:
    world.put(KEY, text(2))
    world.settle()
    world.put(KEY, text(2))
    world.settle()
    assert world.embedded == 2
    world.put(KEY, text(2, "second"))
    world.put(KEY, text(2))
    world.settle()
    world.check()


def test_a_document_that_is_gone_when_its_creation_arrives_counts_as_deleted(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.put(KEY, text(2))
    del world.s3.objects[KEY]
    world.settle()
    world.check()
    assert lines(capsys)[-1]["event"] == "removed"


def test_a_document_that_goes_while_it_is_read_is_not_paid_for(world: World) -> None:
    def goes() -> None:
        world.delete(KEY)
        world.deliver(world.messages[1])

    world.put(KEY, text(2))
    # Calls before: the mark, the manifest, a look at the document, its content.
    world.deliver(world.messages[0], Fault(pause_at=5, meanwhile=goes))
    assert (world.embedded, world.index.chunks(), world.processed(KEY)) == (0, {}, [])
    world.settle()
    world.check()


def test_a_part_of_a_document_that_is_just_being_replaced_is_not_paid_for(world: World) -> None:
    def is_replaced() -> None:
        world.put(KEY, text(5, "second"))
        world.deliver(world.messages[-1])

    world.put(KEY, text(3))
    world.deliver(world.messages[0])
    # Calls before: the manifest, the alias, a look for the part and for a claim.
    world.deliver(world.messages[0], Fault(pause_at=5, meanwhile=is_replaced))
    assert world.embedded == 0
    world.settle()
    world.check()


def test_an_empty_document_is_indexed_with_no_chunk(world: World) -> None:
    world.put(KEY, b"")
    world.settle()
    world.check()
    assert world.manifest(KEY)["chunks"] == 0


def test_a_document_that_became_unreadable_is_not_quoted_any_more(world: World) -> None:
    world.put(KEY, text(3))
    world.settle()
    world.put(KEY, b"PK\x03\x04 is no text")
    world.settle()
    assert world.index.chunks() == {}, "answers quote a text that is not in the lake any more"
    assert world.processed(KEY) == []
    (letter,) = world.dead_letters
    assert "ZIP archive" in letter.attributes["reason"]["StringValue"]
    assert letter.attributes["document_key"]["StringValue"] == KEY
    world.put(KEY, text(1))
    world.settle()
    assert world.found(KEY) == world.expected(KEY)


def test_a_document_too_large_is_refused_without_being_read(world: World) -> None:
    class Huge(bytes):
        def __len__(self) -> int:
            return max_bytes("raw/a.txt") + 1

    world.put("raw/a.txt", Huge(b"text"))
    world.settle()
    (letter,) = world.dead_letters
    assert f"may have at most {max_bytes('raw/a.txt')}" in letter.attributes["reason"]["StringValue"]


def test_a_key_that_leaves_no_room_for_what_is_kept_of_it_is_refused_and_forgotten(world: World) -> None:
    longest, too_long = (f"raw/{'ä' * ((size - 8) // 2)}.txt" for size in (MAX_KEY_BYTES, MAX_KEY_BYTES + 2))
    for key in (longest, too_long):
        world.put(key, text(1))
    world.settle()
    (letter,) = world.dead_letters
    assert letter.attributes["document_key"]["StringValue"] == too_long
    assert max(len(name.encode()) for name in world.s3.objects) <= 1024, "S3 refuses the key"
    assert world.found(longest) == world.expected(longest)
    world.dead_letters.clear()
    world.delete(too_long)
    world.settle()
    assert world.dead_letters == [], "a document that is gone already is complained about"


def test_other_objects_are_skipped_with_a_line_that_names_what_is_read(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.put("raw/pdfs/a.docx", b"PK")
    world.settle()
    (line,) = lines(capsys)
    assert (line["event"], line["level"]) == ("skipped", "WARNING")
    assert {".txt", ".pdf"} <= set(line["formats_read"])
    assert world.processed("raw/pdfs/a.docx") == []


def test_another_way_of_cutting_indexes_a_document_anew_when_it_is_looked_at_again(world: World) -> None:
    world.put(KEY, text(4))
    world.settle()
    before = world.expected(KEY)
    world.settings = replace(world.settings, chunk_tokens=30)
    world.put(KEY, text(4))
    world.settle()
    world.check()
    assert world.expected(KEY) != before


def test_a_document_whose_index_was_replaced_on_the_way_is_whole_in_the_new_one(world: World) -> None:
    world.put(KEY, text(5))
    world.deliver(world.messages[0])
    world.deliver(world.messages[0])
    world.index.targets = ["documents-2"]
    world.settle()
    world.check()
    assert world.manifest(KEY)["index"] == "documents-2"


def test_a_document_whose_model_was_replaced_on_the_way_has_vectors_of_one_model(world: World) -> None:
    world.put(KEY, text(5))
    world.deliver(world.messages[0])
    world.deliver(world.messages[0])
    pipeline = replace(world.settings.pipeline, embedding_model_id="eu.cohere.embed-v4:0")
    world.settings = replace(world.settings, pipeline=pipeline)
    world.settle()
    world.check()
    assert {chunk.model_id for chunk in world.index.chunks().values()} == {"eu.cohere.embed-v4:0"}


def test_an_alias_that_names_nothing_lets_the_message_come_back(world: World) -> None:
    world.index.targets, targets = [], world.index.targets
    world.put(KEY, text(1))
    world.deliver(world.messages[0])
    assert len(world.messages) == 1, "the event is lost"
    world.index.targets = targets
    world.settle()
    world.check()


def test_no_line_of_the_log_holds_text_of_a_document(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.put(KEY, "Secret recipe number nine.")
    world.settle()
    world.put(KEY, b"PK\x03\x04 Secret recipe")
    world.settle()
    assert "recipe" not in capsys.readouterr().out


def test_each_document_tells_its_numbers_once(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.put(KEY, text(5))
    world.settle()
    written = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    metrics = [line for line in written if "_aws" in line]
    assert {line["Service"] for line in metrics} == {"ingestion"}
    assert sum(line["EmbeddingTokens"] for line in metrics) == 5
    assert sum(line["ChunksIndexed"] for line in metrics) == 5
    assert sum(line["DocumentsIndexed"] for line in metrics) == 1


@pytest.mark.parametrize("generation", ["NEXTGEN", "CLASSIC"])
def test_ten_thousand_chunks_come_out_exactly_from_a_queue_that_mixes_and_repeats_messages(
    generation: Generation,
) -> None:
    world = World(generation, EMBEDDING_TOKENS_PER_MINUTE="100000")
    chance = random.Random(7)
    world.put(KEY, text(10_000))
    world.deliver(world.messages[0])
    assert len(world.messages) == 50, "more parts than a few hundred chunks each"
    for message in list(world.messages):
        if chance.random() < 0.5:
            world.sqs.add(world.queue_url, message.body)
    world.settle(order=chance.choice)
    assert len(world.expected(KEY)) == 10_000
    world.check()
    assert world.embedded == 10_000, "chunks are paid for twice"


def test_the_environment_of_the_function_is_reported_whole() -> None:
    changes = {
        "COLLECTION_GENERATION": "OLD",
        "AWS_REGION": "",
        "QUEUE_URL": "queue",
        "MAXIMUM_RECEIVES": "0",
    }
    with pytest.raises(ConfigurationError) as error:
        IngestionSettings.from_environment({**INGESTION_ENVIRONMENT, **changes, "DATA_LAKE_BUCKET": " "})
    for told in (
        "COLLECTION_GENERATION is 'OLD'", "DATA_LAKE_BUCKET is not set", "AWS_REGION is not set",
        "QUEUE_URL is no address", "MAXIMUM_RECEIVES is '0'",
    ):  # fmt: skip
        assert told in str(error.value)


def test_chunks_that_could_never_get_on_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="under half"):
        IngestionSettings.from_environment({**INGESTION_ENVIRONMENT, "CHUNK_OVERLAP_TOKENS": "10"})


def test_manifests_of_another_version_end_among_the_dead_letters_with_the_way_out(world: World) -> None:
    world.put(KEY, text(1))
    world.s3.objects[manifest_key(KEY)] = b'{"document_key": "x", "sequencer": "0A"}'
    world.settle()
    (letter,) = world.dead_letters
    assert "delete the manifest object" in letter.attributes["reason"]["StringValue"]
