"""What of a resource differs, in words: paths, values, files, options, and never a secret."""

import json
from dataclasses import replace
from typing import Any

import pytest

from ops.capture.recording import RecordedResource, Secret, Unknown
from ops.diff.changes import NOT_SET, Change, changes_of, is_named
from ops.diff.matching import Pair


def _resource(inputs: dict[str, Any], **options: Any) -> RecordedResource:
    return RecordedResource(
        urn="urn:pulumi:dev::p::aws:sqs/queue:Queue::jobs", type="aws:sqs/queue:Queue", name="jobs", parent=None,
        inputs=inputs, outputs=inputs, **options,
    )  # fmt: skip


def _changes(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    return changes_of(Pair(base=_resource(old), head=_resource(new)))


@pytest.mark.parametrize(
    ("old", "new", "path", "words"),
    [
        ({"a": 1}, {"a": 2}, "a", ("1", "2")),
        ({"a": True}, {}, "a", ("yes", NOT_SET)),
        ({}, {"a": ""}, "a", (NOT_SET, '""')),
        ({"a": {"b": [{"c": 1}]}}, {"a": {"b": [{"c": 2}]}}, "a.b[0].c", ("1", "2")),
        ({"a": ["x"]}, {"a": ["x", "y"]}, "a", ("x", "x, y")),
        ({"a": '{"b": [1]}'}, {"a": '{"b": [2]}'}, "a.b", ("1", "2")),
        ({"a": "{broken"}, {"a": "{broken too"}, "a", ("{broken", "{broken too")),
        ({"a": Unknown()}, {"a": "x"}, "a", ("(known after up)", "x")),
    ],
)
def test_a_change_names_the_path_and_both_values(
    old: dict[str, Any], new: dict[str, Any], path: str, words: tuple[str, str]
) -> None:
    assert _changes(old, new) == [Change(path=path, old=words[0], new=words[1])]


def test_what_is_only_written_otherwise_is_no_change() -> None:
    old = json.dumps({"Version": "1", "Statement": []})
    assert (
        _changes({"policy": old}, {"policy": json.dumps({"Statement": [], "Version": "1"}, indent=2)}) == []
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (Secret("hunter2"), Secret("hunter3")),
        ("hunter2", Secret("hunter2")),
        ('{"password": "hunter2"}', Secret('{"password": "hunter2"}')),
        (["hunter2"], [Secret("hunter2")]),
        ([Secret("hunter2"), "a"], [Secret("hunter3"), "a"]),
        (Secret({"password": "hunter2"}), Secret({"password": "hunter3"})),
        (None, Secret('{"password": "hunter2"}')),
    ],
)
def test_a_secret_is_compared_and_never_shown(old: Any, new: Any) -> None:
    found = _changes({"a": {"b": old}}, {"a": {"b": new}}) + _changes({"a": {"b": new}}, {"a": {"b": old}})
    assert {change.path for change in found} >= {"a.b"}
    assert not [change for change in found if "hunter" in f"{change.old} {change.new}"]
    assert any("[secret]" in change.new for change in found)
    assert all(change.old != change.new for change in found)


def test_a_long_value_is_shown_where_it_differs() -> None:
    (change,) = _changes({"a": "x" * 100 + " port 80"}, {"a": "x" * 100 + " port 443"})
    assert change.old.startswith("…x") and change.old.endswith("port 80")
    assert change.new.endswith("port 443")
    (script,) = _changes({"a": "b" * 5000}, {"a": "c" * 5000})
    assert (script.old, script.new) == ("a text of 5,000 characters", "another text of 5,000 characters")


def test_values_are_shown_by_the_names_of_the_program() -> None:
    pair = Pair(base=_resource({"a": "fs-1"}), head=_resource({"a": "fs-2"}))
    assert changes_of(pair, ({"fs-1": "files"}, {"fs-2": "files"})) == [
        Change(path="a", old="files", new="another files")
    ]


def test_files_count_by_content_and_are_told_together() -> None:
    old = {"code": {f"m{n}.py": {"file": f"src/m{n}.py", "sha256": "1"} for n in range(7)}}
    new = {"code": {path: {**file, "sha256": "2"} for path, file in old["code"].items()}}
    (change,) = _changes(old, new)
    assert change.path == "code"
    assert change.new == "other content in src/m0.py, src/m1.py, src/m2.py, src/m3.py and 3 more"
    assert _changes(old, old) == []


def test_what_the_engine_is_told_to_ignore_is_no_change() -> None:
    old, new = _resource({"image": {"id": "1"}}), _resource({"image": {"id": "2"}}, ignore_changes=("image",))
    assert [item.path for item in changes_of(Pair(base=old, head=new))] == ["ignore_changes"]
    other = replace(new, ignore_changes=("imag",))
    assert "image.id" in [item.path for item in changes_of(Pair(base=old, head=other))]


@pytest.mark.parametrize(
    ("option", "path", "is_meant"),
    [
        ("tags", "tags.team", True),
        ("tags", "tagsAll.team", False),
        ("*", "anything.at[0].all", True),
        ("rules[*].port", "rules[3].port", True),
        ("rules[*].port", "rules[3].portRange", False),
        ("rules[0].port", "rules[1].port", False),
        ("tags[*]", "tags.team", True),
        ('tags["team"]', "tags.team", True),
    ],
)
def test_an_option_names_properties_as_the_engine_reads_them(option: str, path: str, is_meant: bool) -> None:
    assert is_named(path, [option]) is is_meant


def test_a_protection_that_is_taken_away_is_a_change() -> None:
    old, new = _resource({}, protect=True, retain_on_delete=True), _resource({})
    assert changes_of(Pair(base=old, head=new)) == [
        Change(path="protect", old="yes", new="no"),
        Change(path="retain_on_delete", old="yes", new="no"),
    ]
