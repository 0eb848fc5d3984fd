"""What a message asks for, whatever somebody put into the queue."""

import json
from typing import Any
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.events import DocumentChange, EventError, PartToEmbed, tasks
from tests.lambda_src.ingestion_world import s3_event

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
SHAPES = st.one_of(
    JSON,
    st.fixed_dictionaries({"embed": JSON}),
    st.fixed_dictionaries({"Records": st.lists(st.fixed_dictionaries({"eventName": JSON, "s3": JSON}))}),
)


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_a_key_comes_out_as_it_was_whatever_characters_it_has(key: str) -> None:
    record = {"eventName": "ObjectCreated:Put", "s3": {"object": {"key": quote_plus(key)}}}
    assert tasks(json.dumps({"Records": [record]})) == [DocumentChange(key=key)]


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("raw/a+b.txt", "raw/a b.txt"),
        ("raw/a%2Bb.txt", "raw/a+b.txt"),
        ("raw/100%25.txt", "raw/100%.txt"),
        ("raw/%C3%BCber+uns.md", "raw/über uns.md"),
    ],
)
def test_keys_are_read_as_forms_are(written: str, key: str) -> None:
    record = {"eventName": "ObjectCreated:Put", "s3": {"object": {"key": written}}}
    assert tasks(json.dumps({"Records": [record]})) == [DocumentChange(key=key)], (
        "another object is looked at"
    )


@pytest.mark.parametrize(
    "name",
    [
        "ObjectCreated:CompleteMultipartUpload",
        "ObjectCreated:Copy",
        "ObjectRemoved:Delete",
        "ObjectRemoved:DeleteMarkerCreated",
        "LifecycleExpiration:Delete",
        "LifecycleExpiration:DeleteMarkerCreated",
        "ObjectRestore:Completed",
    ],
)
def test_every_way_to_change_a_document_is_heard_of(name: str) -> None:
    assert tasks(s3_event("raw/a.txt", name)) == [DocumentChange(key="raw/a.txt")]


def test_events_that_change_nothing_and_the_test_event_ask_for_nothing() -> None:
    assert tasks(s3_event("raw/a.txt", "ObjectTagging:Put")) == []
    assert tasks(json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "lake"})) == []


def test_one_message_may_tell_of_several_changes() -> None:
    records = [
        json.loads(s3_event(key, "ObjectCreated:Put"))["Records"][0] for key in ("raw/1.md", "raw/2.md")
    ]
    assert [task.key for task in tasks(json.dumps({"Records": records}))] == ["raw/1.md", "raw/2.md"]


@given(key=st.text(st.characters(codec="utf-8"), min_size=1), part=st.integers(0, 10**6))
def test_a_part_is_read_as_it_was_sent(key: str, part: int) -> None:
    task = PartToEmbed(key=key, revision="0123456789ab", part=part)
    assert tasks(task.to_json()) == [task]


@pytest.mark.parametrize(
    "body",
    [
        "no json", "[]", "{}", "null", "7", '"embed"', '{"Records": [{}]}', '{"Records": {}}', "[" * 100_000,
        '{"embed": {"document_key": "raw/a.md", "revision": "../../../x", "part": 0}}',
        '{"embed": {"document_key": "raw/a.md", "revision": "0123456789ab", "part": -1}}',
        '{"embed": {"document_key": "raw/a.md", "revision": "0123456789ab", "part": true}}',
        '{"Records": [{"eventName": "ObjectCreated:Put", "s3": {"object": {"key": "raw/%ff.md"}}}]}',
        '{"Records": [{"eventName": "ObjectCreated:Put", "s3": {"object": {"key": ""}}}]}',
    ],
)  # fmt: skip
def test_what_nobody_of_ours_sent_is_refused(body: str) -> None:
    with pytest.raises(EventError):
        tasks(body)


@given(st.one_of(st.text(), SHAPES.map(json.dumps)))
def test_no_body_makes_anything_else_than_tasks_or_that_refusal(body: Any) -> None:
    try:
        found = tasks(body)
    except EventError:
        return
    assert all(isinstance(task, DocumentChange | PartToEmbed) for task in found)
