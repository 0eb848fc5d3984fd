"""Documents come, change and go, in any order and at the same time; the index always ends up with what is there."""

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from ingestion.core import Ingestion, is_document
from ingestion.events import EventError, is_older, newest
from ingestion.handler import handle
from ingestion.settings import IngestionSettings
from ingestion.store import MAX_DOCUMENT_BYTES, DocumentStore, manifest_key, row_keys
from rag.errors import ConfigurationError, SearchError, ThrottledError
from tests.lambda_src.fakes import ENVIRONMENT, FakeIndex, FakeS3

KEY = "raw/web-scrapes/über uns.md"
OTHER = "raw/pdfs/other.txt"


def message(
    key: str = KEY, sequencer: str = "0A", name: str = "ObjectCreated:Put", number: int = 1
) -> dict[str, Any]:
    """An SQS message as S3 sends it for one change."""
    encoded = key.replace("ü", "%C3%BC").replace(" ", "+")
    s3 = {"bucket": {"name": "lake"}, "object": {"key": encoded, "sequencer": sequencer}}
    body = json.dumps({"Records": [{"eventName": name, "s3": s3}]})
    return {"messageId": f"message-{number}", "body": body}


class Scene:
    """A bucket and an index with the function between them."""

    def __init__(self, generation: str) -> None:
        self.s3 = FakeS3()
        self.index = FakeIndex(generation)
        self.embedded: list[str] = []
        fake_index: Any = self.index
        self.ingestion = Ingestion(
            store=DocumentStore(self.s3, "lake"),
            index=fake_index,
            index_alias="documents",
            embed=self._embed,
            model_id="titan",
            collection_generation=generation,
        )

    def _embed(self, text: str) -> list[float]:
        self.embedded.append(text)
        return [float(len(text))]

    def put(self, text: str, key: str = KEY) -> None:
        self.s3.objects[key] = text.encode()

    def handle(self, *messages: dict[str, Any]) -> list[str]:
        reply = handle({"Records": list(messages)}, None, lambda deadline: self.ingestion)
        return [failure["itemIdentifier"] for failure in reply["batchItemFailures"]]

    def processed(self, key: str = KEY) -> list[str]:
        return [name for name in self.s3.objects if name.startswith("processed/") and key in name]


@pytest.fixture(params=["NEXTGEN", "CLASSIC"])
def scene(request: pytest.FixtureRequest) -> Scene:
    return Scene(request.param)


LONG = "\n\n".join(f"Paragraph {number} " + "word " * 250 for number in range(5))


def test_a_new_document_is_searchable_and_its_rows_lie_in_the_lake(scene: Scene) -> None:
    scene.put(LONG)
    assert scene.handle(message()) == []
    texts = scene.index.texts(KEY)
    assert len(texts) >= 5
    chunks_key, embeddings_key = row_keys(KEY)
    rows = [json.loads(line) for line in gzip.decompress(scene.s3.objects[chunks_key]).splitlines()]
    assert [row["text"] for row in rows] == texts
    vectors = [json.loads(line) for line in gzip.decompress(scene.s3.objects[embeddings_key]).splitlines()]
    assert [row["embedding"] for row in vectors] == [[float(len(text))] for text in texts]
    manifest = json.loads(scene.s3.objects[manifest_key(KEY)])
    assert set(manifest["chunk_ids"]) == set(scene.index.chunks), "these chunks could never be deleted"


@pytest.mark.parametrize("is_refreshed", [True, False])
def test_a_shorter_document_in_the_same_place_leaves_none_of_its_old_chunks(
    scene: Scene, is_refreshed: bool
) -> None:
    scene.index.is_refreshed = is_refreshed
    scene.put(LONG)
    scene.put("Stays.", OTHER)
    scene.handle(message(), message(OTHER, number=2))
    scene.put("Short now.")
    assert scene.handle(message(sequencer="0B")) == []
    assert scene.index.texts(KEY) == ["Short now."], "answers would quote a text that was replaced"
    assert scene.index.texts(OTHER) == ["Stays."]


def test_a_deleted_document_is_gone_from_index_and_lake(scene: Scene) -> None:
    scene.put(LONG)
    scene.handle(message())
    del scene.s3.objects[KEY]
    assert scene.handle(message(sequencer="0B", name="ObjectRemoved:DeleteMarkerCreated")) == []
    assert scene.index.chunks == {}
    assert scene.processed() == [], "a deleted document can still be read in the lake"


def test_a_document_that_is_gone_when_its_creation_arrives_counts_as_deleted(scene: Scene) -> None:
    assert scene.handle(message()) == []
    assert scene.index.chunks == {}
    assert scene.processed() == []


def test_the_same_event_twice_changes_nothing_and_costs_nothing(scene: Scene) -> None:
    scene.put(LONG)
    scene.handle(message())
    before, embedded = dict(scene.index.chunks), len(scene.embedded)
    assert scene.handle(message()) == []
    assert scene.index.chunks == before
    assert len(scene.embedded) == embedded, "a repeated event is paid for again"


def test_events_in_the_wrong_order_leave_the_newest_text(scene: Scene) -> None:
    scene.put("New.")
    assert scene.handle(message(sequencer="0C")) == []
    assert scene.handle(message(sequencer="0B", name="ObjectRemoved:Delete"), message(sequencer="0A")) == []
    assert scene.index.texts(KEY) == ["New."]
    assert json.loads(scene.s3.objects[manifest_key(KEY)])["sequencer"] == "0C"


def test_a_late_creation_does_not_bring_a_deleted_document_back(scene: Scene) -> None:
    scene.handle(message(sequencer="0B", name="ObjectRemoved:Delete"))
    scene.handle(message(sequencer="0A"))
    assert scene.index.chunks == {}


def test_only_the_messages_that_failed_come_back(scene: Scene) -> None:
    scene.put("One.", "raw/1.txt")
    scene.s3.objects["raw/2.txt"] = b"\xff\xfe"
    scene.put("Three.", "raw/3.txt")
    keys = ["raw/1.txt", "raw/2.txt", "raw/3.txt"]
    messages = [message(key, number=number) for number, key in enumerate(keys)]
    assert scene.handle(*messages) == ["message-1"], "a good document would be indexed again and again"
    assert scene.index.texts("raw/3.txt") == ["Three."]


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"abc\xff", "not UTF-8 text (byte 3)"), (b"a" * (MAX_DOCUMENT_BYTES + 1), "at most 2097152")],
)
def test_a_document_that_cannot_be_read_says_why(
    scene: Scene, content: bytes, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.s3.objects["raw/bad.txt"] = content
    assert scene.handle(message("raw/bad.txt")) == ["message-1"]
    assert told in json.loads(capsys.readouterr().out)["detail"]


def test_other_formats_are_skipped_with_a_line_that_names_the_ones_read(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.put("%PDF", "raw/pdfs/a.pdf")
    assert scene.handle(message("raw/pdfs/a.pdf")) == []
    line = json.loads(capsys.readouterr().out)
    assert (line["event"], line["formats_read"]) == ("skipped", [".txt", ".md"])
    assert is_document("raw/A.TXT") and not is_document("processed/chunks/raw/a.txt")


def test_the_test_event_of_s3_is_done_with(scene: Scene) -> None:
    body = json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "lake"})
    assert scene.handle({"messageId": "message-1", "body": body}) == []


@pytest.mark.parametrize("body", ["no json", "[]", "{}", '{"Records": [{}]}'])
def test_a_message_that_is_no_notification_goes_back_to_the_queue(scene: Scene, body: str) -> None:
    assert scene.handle({"messageId": "message-1", "body": body}) == ["message-1"]


def test_an_event_that_is_no_batch_is_an_error(scene: Scene) -> None:
    with pytest.raises(EventError):
        handle({"query": "hi"}, None, lambda deadline: scene.ingestion)


@pytest.mark.parametrize("failure", [ThrottledError("429"), SearchError("400", 400, "x")])
def test_after_a_failure_of_the_index_the_second_try_is_complete(scene: Scene, failure: Exception) -> None:
    scene.put(LONG)
    scene.index.failures = [failure]
    assert scene.handle(message()) == ["message-1"]
    assert manifest_key(KEY) not in scene.s3.objects, "the second try would be taken for a repeated event"
    assert scene.handle(message()) == []
    assert len(scene.index.texts(KEY)) >= 5


def test_what_a_broken_off_invocation_wrote_is_not_left_behind(scene: Scene) -> None:
    def break_off() -> None:
        raise TimeoutError

    scene.put(LONG)
    scene.s3.before[("put", manifest_key(KEY))] = break_off
    assert scene.handle(message()) == ["message-1"]
    scene.put("Short now.")
    assert scene.handle(message(sequencer="0B"), message()) == []
    assert scene.index.texts(KEY) == ["Short now."]


def during(scene: Scene, call: str, key: str, action: Callable[[], Any]) -> None:
    """Let `action` happen in the middle of the next handling, ahead of `call` on `key`."""
    scene.s3.before[(call, key)] = action


@pytest.mark.parametrize("is_refreshed", [True, False])
def test_of_two_invocations_at_once_the_one_with_the_older_text_does_not_win(
    scene: Scene, is_refreshed: bool
) -> None:
    scene.index.is_refreshed = is_refreshed

    def meanwhile() -> None:
        scene.put("New.")
        assert scene.handle(message(sequencer="0B")) == []

    scene.put(LONG)
    during(scene, "put", manifest_key(KEY), meanwhile)
    assert scene.handle(message(sequencer="0A")) == []
    assert scene.index.texts(KEY) == ["New."], "the index holds a text that was replaced, or one text twice"
    manifest = json.loads(scene.s3.objects[manifest_key(KEY)])
    assert set(manifest["chunk_ids"]) == set(scene.index.chunks)


def test_a_document_written_again_while_it_is_removed_is_indexed(scene: Scene) -> None:
    def meanwhile() -> None:
        scene.put("Back.")
        assert scene.handle(message(sequencer="0C")) == []

    during(scene, "delete", row_keys(KEY)[0], meanwhile)
    assert scene.handle(message(sequencer="0B", name="ObjectRemoved:Delete")) == []
    assert scene.index.texts(KEY) == ["Back."]
    assert len(scene.processed()) == 3


def test_sequencers_of_different_lengths_are_compared_from_the_left() -> None:
    assert is_older("0055AED6DCD90281E5", "0055AED6DCD90281E6")
    assert is_older("0A", "0A")
    assert is_older("0A", "0A01"), "the shorter one counts as filled with zeros"
    assert not is_older("0b", "0A01")
    assert not is_older("", "0A"), "an event without a sequencer must be handled"
    assert newest("0A", "0A01", "") == "0A01"


def test_the_environment_of_the_function_is_reported_whole() -> None:
    with pytest.raises(ConfigurationError) as error:
        IngestionSettings.from_environment({**ENVIRONMENT, "COLLECTION_GENERATION": "OLD", "AWS_REGION": ""})
    assert "COLLECTION_GENERATION is 'OLD'" in str(error.value)
    assert "DATA_LAKE_BUCKET is not set" in str(error.value)
    assert "AWS_REGION is not set" in str(error.value)
