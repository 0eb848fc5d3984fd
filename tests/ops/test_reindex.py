"""A new index beside the old one: what is copied, what is paid for, and when the alias moves."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from moto import mock_aws

from ops.aws_calls import AwsCallError
from ops.reindex.plan import ArchiveChoice, Choices
from ops.reindex.procedure import Order, RefusedError, delete_index, reindex
from ops.reindex.rebuild import IncompleteError
from tests.ops.answering_client import refusal
from tests.ops.reindex_fakes import MAPPING, NEW, OLD, QUEUE, FakeWorld, throttled

ORDER = Order(index=NEW, choices=Choices(), sure=True)
RESTORE = replace(ORDER, choices=Choices(archive=ArchiveChoice.RESTORE))


@pytest.fixture
def world() -> Iterator[FakeWorld]:
    """Two documents of five and one chunks, in three parts and one, in the old index."""
    with mock_aws():
        made = FakeWorld()
        made.add("raw/long name é.pdf", 5)
        made.add("raw/b.md", 1)
        yield made


def test_every_part_is_copied_before_the_alias_moves_and_ingestion_goes_on_after(world: FakeWorld) -> None:
    world.in_flight = [2, 1, 0]
    result = reindex(world.platform(), ORDER)
    assert result == {
        "done": True, "index": NEW, "old_indexes": [OLD],
        "written": 6, "skipped": 0, "embedding_tokens": 0,
    }  # fmt: skip
    assert world.alias == [NEW]
    assert world.indexes[NEW]["chunks"] == world.indexes[OLD]["chunks"]
    actions = [call.get("action") if isinstance(call, dict) else call for call in world.calls]
    wanted = ["off", "create_index", "count", "move_alias", "on"]
    assert [action for action in actions if action in wanted] == wanted
    assert world.slept == 10, "runs in flight were not waited for"
    assert f"--delete-old {OLD}" in world.told, "nobody would know how to get rid of the old index"


def test_the_operator_is_told_numbers_first_and_may_say_no(
    world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.reindex.procedure.someone_is_there", lambda: True)
    monkeypatch.setattr("ops.reindex.procedure.confirmed", lambda question: False)
    with pytest.raises(RefusedError, match="Nothing was changed"):
        reindex(world.platform(), replace(ORDER, sure=False))
    assert "2 documents with 6 chunks" in world.told
    assert "copied for 4 of 4 parts" in world.told
    assert world.calls[1:] == [], "something was done before the answer"


def test_without_a_terminal_nothing_begins_unless_it_was_said_to_be_sure(world: FakeWorld) -> None:
    with pytest.raises(RefusedError, match="add --yes"):
        reindex(world.platform(), replace(ORDER, sure=False))
    assert world.mapping == "Enabled"
    assert NEW not in world.indexes


def test_a_run_that_was_broken_off_is_resumed(world: FakeWorld) -> None:
    def break_off(request: dict[str, Any]) -> None:
        if request["part"] == 2:
            raise refusal("ExpiredToken")

    world.on_part = break_off
    with pytest.raises(IncompleteError, match="raw/long name é.pdf"):
        reindex(world.platform(), ORDER)
    assert (world.alias, world.mapping) == ([OLD], "Enabled")
    assert "same command goes on" in world.told
    world.on_part = lambda request: None
    result = reindex(world.platform(), ORDER)
    assert (result["written"], result["skipped"]) == (1, 5)
    assert world.alias == [NEW]


def test_a_run_that_was_killed_left_ingestion_off_and_the_next_one_switches_it_on(world: FakeWorld) -> None:
    world.mapping = "Disabled"
    reindex(world.platform(), ORDER)
    assert world.mapping == "Enabled"
    assert "off already" in world.told


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_switches_ingestion_on_again(
    world: FakeWorld, number: signal.Signals
) -> None:
    def interrupt() -> None:
        os.kill(os.getpid(), number)

    platform = world.platform()
    world.visible_after = 5
    slow = replace(platform, sleep=lambda seconds: interrupt())
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        reindex(slow, ORDER)
    assert (world.alias, world.mapping) == ([OLD], "Enabled"), "events would wait until they are too old"
    assert world.calls[-1] == "on"
    assert signal.getsignal(number) == before


def test_an_interruption_while_ingestion_is_being_switched_off_switches_it_on_again(
    world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapping = world._mappings("ingest")["EventSourceMappings"][0]
    changing = {**mapping, "State": "Disabling"}
    monkeypatch.setattr(world, "_mappings", lambda **asked: {"EventSourceMappings": [changing]})

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reindex(replace(world.platform(), sleep=interrupt), ORDER)
    assert world.calls[-2:] == ["off", "on"]


def test_a_second_interruption_does_not_keep_ingestion_off(
    world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch = world._switch

    def interrupted(UUID: str, Enabled: bool) -> None:
        if Enabled:
            os.kill(os.getpid(), signal.SIGINT)
        switch(UUID, Enabled)

    monkeypatch.setattr(world, "_switch", interrupted)
    reindex(world.platform(), ORDER)
    assert world.mapping == "Enabled"


def test_when_ingestion_cannot_be_switched_on_the_command_for_it_is_told(
    world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch = world._switch

    def refuse(UUID: str, Enabled: bool) -> None:
        if Enabled:
            raise refusal("AccessDeniedException")
        switch(UUID, Enabled)

    monkeypatch.setattr(world, "_switch", refuse)
    with pytest.raises(AwsCallError, match="AccessDenied"):
        reindex(world.platform(), ORDER)
    assert "STILL OFF" in world.told
    assert f"aws lambda update-event-source-mapping --enabled --uuid {MAPPING}" in world.told


def test_a_mapping_that_is_changing_is_asked_again(world: FakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = [refusal("ResourceInUseException"), refusal("ResourceConflictException")]
    switch = world._switch

    def busy(UUID: str, Enabled: bool) -> None:
        if refused:
            raise refused.pop()
        switch(UUID, Enabled)

    monkeypatch.setattr(world, "_switch", busy)
    assert reindex(world.platform(), ORDER)["done"]


def test_runs_are_waited_for_no_longer_than_one_can_last(world: FakeWorld) -> None:
    world.in_flight = [3]
    assert reindex(world.platform(), ORDER)["done"], "a message that a run failed at stays hidden for long"
    assert 300 <= world.slept < 400


def test_the_alias_stays_when_a_chunk_is_missing(world: FakeWorld) -> None:
    lost = ("raw/b.md", 0)

    def lose(request: dict[str, Any]) -> None:
        world.indexes[NEW]["chunks"].discard(lost)

    world.on_part = lose
    platform = world.platform()
    one_at_a_time = replace(ORDER, runs=1)
    with pytest.raises(IncompleteError, match="shows 5 of 6 chunks after 10 min"):
        reindex(platform, one_at_a_time)
    assert (world.alias, world.mapping) == ([OLD], "Enabled")


def test_the_alias_stays_when_one_document_is_incomplete_though_the_sum_is_right(world: FakeWorld) -> None:
    def swap(request: dict[str, Any]) -> None:
        if request["document_key"] == "raw/long name é.pdf" and request["part"] == 2:
            world.indexes[NEW]["chunks"] ^= {("raw/b.md", 0), ("raw/long name é.pdf", 99)}

    world.on_part = swap
    with pytest.raises(IncompleteError, match=r"raw/b.md \(0 of 1\)"):
        reindex(world.platform(), replace(ORDER, runs=1))
    assert world.alias == [OLD]


def test_chunks_of_an_older_run_make_the_new_index_unfit(world: FakeWorld) -> None:
    world.indexes[NEW] = {"dimension": 256, "chunks": {("raw/gone.md", 0)}}
    with pytest.raises(IncompleteError, match=f"--delete-old {NEW}"):
        reindex(world.platform(), ORDER)
    assert world.alias == [OLD], "a search would find a document that was deleted"


def test_new_chunks_are_waited_for_until_searches_find_them(world: FakeWorld) -> None:
    world.visible_after = 3
    assert reindex(world.platform(), ORDER)["done"]
    assert world.slept == 30


def test_throttled_calls_are_made_again(world: FakeWorld) -> None:
    failures = [throttled() for _ in range(3)]

    def slow_down(request: dict[str, Any]) -> None:
        if failures:
            raise failures.pop()

    world.on_part = slow_down
    assert reindex(world.platform(), replace(ORDER, runs=1))["written"] == 6


def test_archived_vectors_need_a_choice_whose_times_and_prices_are_told(world: FakeWorld) -> None:
    world.add("raw/old.pdf", 4, storage_class="GLACIER")
    with pytest.raises(RefusedError, match="--glacier restore or --glacier re-embed"):
        reindex(world.platform(), ORDER)
    assert "2 parts with 0.0 MiB lie in GLACIER." in world.told
    assert "--restore-tier bulk: 5 to 12 hours, about 0.00 USD" in world.told
    assert "--restore-tier standard: 3 to 5 hours" in world.told
    assert "--glacier re-embed: at most 1600 tokens, 0.00 USD" in world.told
    assert world.mapping == "Enabled"


def test_restoring_asks_s3_once_and_the_next_run_copies(world: FakeWorld) -> None:
    world.add("raw/old.pdf", 4, storage_class="GLACIER")
    first = reindex(world.platform(), RESTORE)
    assert first == {"done": False, "restoring": 2, "restoring_before": 0}
    assert "Run the same command again in 5 to 12 hours" in world.told
    assert "off" not in world.calls, "ingestion would stand still for hours"
    result = reindex(world.platform(), RESTORE)
    assert (result["written"], result["embedding_tokens"]) == (10, 0)


def test_a_restore_that_is_under_way_is_waited_for(world: FakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.add("raw/old.pdf", 4, storage_class="DEEP_ARCHIVE")
    platform = world.platform()
    asked: list[str] = []
    monkeypatch.setattr(world.s3, "head_object", lambda Bucket, Key: {"Restore": 'ongoing-request="true"'})
    monkeypatch.setattr(world.s3, "restore_object", lambda **request: asked.append(request["Key"]))
    assert reindex(platform, RESTORE) == {"done": False, "restoring": 0, "restoring_before": 2}
    assert asked == [], "each request to restore is paid for"


def test_a_restore_that_somebody_else_asked_for_meanwhile_is_no_failure(
    world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.add("raw/old.pdf", 4, storage_class="GLACIER")
    platform = world.platform()

    def refuse(**request: Any) -> None:
        raise refusal("RestoreAlreadyInProgress")

    monkeypatch.setattr(world.s3, "restore_object", refuse)
    assert reindex(platform, RESTORE)["restoring"] == 2


def test_archived_vectors_are_made_anew_by_choice_and_others_are_copied(world: FakeWorld) -> None:
    world.add("raw/old.pdf", 4, storage_class="GLACIER")
    result = reindex(world.platform(), replace(ORDER, choices=Choices(archive=ArchiveChoice.RE_EMBED)))
    assert result["embedding_tokens"] == 1600
    assert [part for part in world.parts_asked() if part[2]] == [
        ("raw/old.pdf", 0, True), ("raw/old.pdf", 1, True),
    ], "vectors that can be read would be paid for again"  # fmt: skip
    assert world.alias == [NEW]


def test_archived_text_must_be_restored_even_to_make_vectors_anew(world: FakeWorld) -> None:
    world.s3.put_object(
        Bucket="lake-abc", Key=world.chunks_object("raw/b.md"), Body=b"x", StorageClass="GLACIER"
    )
    order = replace(ORDER, choices=Choices(archive=ArchiveChoice.RE_EMBED))
    assert reindex(world.platform(), order) == {"done": False, "restoring": 1, "restoring_before": 0}


def test_a_new_dimension_needs_new_vectors_and_says_their_price(world: FakeWorld) -> None:
    world.dimensions = 1024
    with pytest.raises(RefusedError, match="--re-embed"):
        reindex(world.platform(), ORDER)
    assert "Embedding with amazon.titan-embed-text-v2:0: at most 2800 tokens, 0.00 USD" in world.told
    result = reindex(world.platform(), replace(ORDER, choices=Choices(re_embed=True)))
    assert result["embedding_tokens"] == 2400
    assert world.indexes[NEW]["dimension"] == 1024
    assert all(embed for _, _, embed in world.parts_asked())


def test_archived_vectors_of_another_model_need_no_restoring(world: FakeWorld) -> None:
    world.add("raw/old.pdf", 4, storage_class="GLACIER")
    world.dimensions = 1024
    assert reindex(world.platform(), replace(ORDER, choices=Choices(re_embed=True)))["done"]
    assert "GLACIER" not in world.told, "the operator would be asked about what does not matter"


def test_missing_vectors_are_made_anew_only_when_allowed(world: FakeWorld) -> None:
    world.s3.delete_object(Bucket="lake-abc", Key=world.part_object("raw/b.md", 0))
    with pytest.raises(RefusedError, match="missing in the lake: raw/b.md"):
        reindex(world.platform(), ORDER)
    result = reindex(world.platform(), replace(ORDER, choices=Choices(re_embed=True)))
    assert result["embedding_tokens"] == 400


def test_a_document_without_its_text_is_named(world: FakeWorld) -> None:
    world.s3.delete_object(Bucket="lake-abc", Key=world.chunks_object("raw/b.md"))
    with pytest.raises(RefusedError, match="not in the lake: raw/b.md"):
        reindex(world.platform(), ORDER)


def test_documents_that_are_being_indexed_are_waited_for(world: FakeWorld) -> None:
    world.add("raw/new.pdf", 3, state="indexing")
    with pytest.raises(RefusedError, match="being indexed at the moment: raw/new.pdf"):
        reindex(world.platform(), ORDER)
    assert NEW not in world.indexes


def test_a_document_that_begins_while_runs_end_is_noticed(world: FakeWorld) -> None:
    platform = world.platform()
    world.in_flight = [1, 0]

    def begin(seconds: float) -> None:
        world.add("raw/late.pdf", 3, state="indexing")

    with pytest.raises(RefusedError, match="raw/late.pdf"):
        reindex(replace(platform, sleep=begin), ORDER)
    assert (world.alias, world.mapping) == ([OLD], "Enabled")


def test_documents_that_are_being_removed_are_left_out(world: FakeWorld) -> None:
    world.add("raw/leaving.md", 2, state="removing")
    assert reindex(world.platform(), ORDER)["written"] == 6
    assert "being removed: raw/leaving.md" in world.told


def test_an_alias_that_is_there_already_leaves_nothing_to_do(world: FakeWorld) -> None:
    world.alias = [NEW]
    assert reindex(world.platform(), ORDER)["done"]
    assert len(world.calls) == 1


def test_an_index_of_another_dimension_is_refused(world: FakeWorld) -> None:
    world.indexes[NEW] = {"dimension": 512, "chunks": set()}
    with pytest.raises(RefusedError, match="has 512 dimensions"):
        reindex(world.platform(), ORDER)


def test_a_manifest_of_another_version_is_named(world: FakeWorld) -> None:
    world.s3.put_object(
        Bucket="lake-abc", Key="processed/chunks/raw/x.md.manifest.json", Body=b'{"document_key": "raw/x.md"}'
    )
    with pytest.raises(AwsCallError, match=r"raw/x.md.manifest.json is no manifest of this version"):
        reindex(world.platform(), ORDER)


def test_a_document_that_is_removed_while_the_lake_is_read_is_left_out(
    world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = world.s3.get_object

    def get(Bucket: str, Key: str) -> Any:
        if Key == "processed/chunks/raw/b.md.manifest.json":
            raise refusal("NoSuchKey")
        return read(Bucket=Bucket, Key=Key)

    monkeypatch.setattr(world.s3, "get_object", get)
    assert reindex(world.platform(), ORDER)["written"] == 5


def test_an_index_in_use_is_never_deleted(world: FakeWorld) -> None:
    with pytest.raises(RefusedError, match="points to documents-1"):
        delete_index(world.platform(), OLD, sure=True)
    with pytest.raises(RefusedError, match="no index documents-9"):
        delete_index(world.platform(), "documents-9", sure=True)
    assert OLD in world.indexes


def test_an_old_index_is_deleted_after_a_question(world: FakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    reindex(world.platform(), ORDER)
    asked: list[str] = []
    monkeypatch.setattr("ops.reindex.procedure.someone_is_there", lambda: True)
    monkeypatch.setattr("ops.reindex.procedure.confirmed", lambda question: bool(asked.append(question)))
    with pytest.raises(RefusedError, match="Nothing was changed"):
        delete_index(world.platform(), OLD, sure=False)
    assert asked == ["Delete the index documents-1 with 6 chunks for ever?"]
    assert OLD in world.indexes
    assert delete_index(world.platform(), OLD, sure=True)["deleted"] == OLD
    assert OLD not in world.indexes


def test_the_queue_whose_runs_are_waited_for_is_that_of_the_function(world: FakeWorld) -> None:
    assert world.platform().facts.queue_url == QUEUE
