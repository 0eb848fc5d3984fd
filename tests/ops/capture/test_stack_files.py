"""The project's and a stack's file become the values that the command line would hand to the program."""

from pathlib import Path

import pytest

from ops.capture.stack_files import StackConfig, StackFileError, load_stack_config

PROJECT = """
name: shop
config:
  name: {type: string, default: corner}
  count: {type: integer, default: 3}
  open: {type: boolean, default: false}
  list: {type: array, items: {type: string}, default: [a, b]}
  other:region: {type: string, default: here}
  required: {type: string}
  plain: text
"""


def load(tmp_path: Path, stack: str, project: str = PROJECT, **changes: object) -> StackConfig:
    (tmp_path / "Pulumi.yaml").write_text(project, encoding="utf-8")
    (tmp_path / "Pulumi.dev.yaml").write_text(stack, encoding="utf-8")
    return load_stack_config(tmp_path, "dev", changes)


def value(tmp_path: Path, typed: str) -> str:
    return load(tmp_path, f"config:\n  shop:key: {typed}\n").values["shop:key"]


def test_defaults_of_the_project_fill_what_the_stack_leaves_out(tmp_path: Path) -> None:
    assert load(tmp_path, "config: {shop:count: 5}").values == {
        "shop:count": "5", "shop:name": "corner", "shop:open": "false", "shop:list": '["a", "b"]', "other:region": "here",
    }  # fmt: skip


@pytest.mark.parametrize("stack", ["", "config:", "config: {}", "encryptionsalt: abc"])
def test_a_stack_file_without_keys_gives_the_defaults(tmp_path: Path, stack: str) -> None:
    assert load(tmp_path, stack).values["shop:count"] == "3"


def test_a_key_without_namespace_belongs_to_the_project(tmp_path: Path) -> None:
    assert load(tmp_path, "config: {count: 7}").values["shop:count"] == "7"


def test_a_deliberate_empty_or_false_value_is_kept(tmp_path: Path) -> None:
    values = load(tmp_path, 'config: {shop:name: "", shop:count: 0, shop:list: [], shop:open: false}').values
    assert [values[f"shop:{key}"] for key in ("name", "count", "list", "open")] == ["", "0", "[]", "false"]


def test_null_is_not_a_value(tmp_path: Path) -> None:
    values = load(tmp_path, "config: {shop:count: null, shop:required: null}").values
    assert values["shop:count"] == "3"
    assert "shop:required" not in values


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("true", "true"), ("True", "true"), ("yes", "yes"), ("off", "off"), ("truely", "truely"), ("2026-01-01", "2026-01-01"),
        ("12:30", "12:30"), ("012", "10"), ("0x1f", "31"), ("089", "089"), ("-5", "-5"), ("0.65", "0.65"), ("'0.65'", "0.65"),
        ("'111122223333'", "111122223333"), ("[1, {a: no}]", '[1, {"a": "no"}]'), ("{a: [true]}", '{"a": [true]}'),
    ],
)  # fmt: skip
def test_values_are_typed_as_the_command_line_types_them(tmp_path: Path, typed: str, text: str) -> None:
    assert value(tmp_path, typed) == text, (
        "the offline preview would accept what the command line refuses, or the reverse"
    )


def test_a_change_replaces_what_was_typed(tmp_path: Path) -> None:
    assert load(tmp_path, "config: {shop:count: 5}", count=9, open=True).values["shop:count"] == "9"


def test_a_change_to_none_brings_the_default_back(tmp_path: Path) -> None:
    assert load(tmp_path, "config: {shop:count: 5}", count=None).values["shop:count"] == "3"


@pytest.mark.parametrize(
    "typed",
    [
        "{secure: v1:abc:CIPHER}",
        "[{token: {secure: v1:abc:CIPHER}}]",
        "{a: {b: [1, {secure: v1:abc:CIPHER}]}}",
    ],
)
def test_a_key_that_holds_a_secret_at_any_depth_is_marked_and_withheld(tmp_path: Path, typed: str) -> None:
    config = load(tmp_path, f"config:\n  shop:key: {typed}\n  shop:name: open\n")
    assert config.secret_keys == ("shop:key",)
    assert config.values["shop:key"] == "[secret]", "cipher text would stand in a plan"
    assert config.values["shop:name"] == "open"


def test_an_object_with_more_than_a_secret_mark_is_no_secret(tmp_path: Path) -> None:
    assert load(tmp_path, "config:\n  shop:key: {secure: a, b: c}\n").secret_keys == ()


# Faults


def refusal(root: Path, stack: str = "dev") -> str:
    with pytest.raises(StackFileError) as caught:
        load_stack_config(root, stack)
    return str(caught.value)


def test_a_missing_stack_names_those_that_exist(tmp_path: Path) -> None:
    load(tmp_path, "")
    (tmp_path / "Pulumi.team.blue.yaml").write_text("", encoding="utf-8")
    assert (
        refusal(tmp_path, "prd")
        == "There is no file Pulumi.prd.yaml. Fix: use one of the stacks dev, team.blue."
    )


def test_a_project_without_stacks_asks_for_one(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text(PROJECT, encoding="utf-8")
    assert refusal(tmp_path) == "There is no file Pulumi.dev.yaml. Fix: write one beside Pulumi.yaml."


def test_a_folder_without_project_is_told(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "There is no file Pulumi.yaml. Fix: run this from the project's folder."


@pytest.mark.parametrize(
    ("project", "stack", "message"),
    [
        (PROJECT, b"- a", "Pulumi.dev.yaml must be a mapping. Fix: compare it with Pulumi.dev.yaml."),
        (PROJECT, b"config: [a]", "config in Pulumi.dev.yaml must be a mapping of keys. Fix: compare it with Pulumi.dev.yaml."),
        ("config: {}", b"", "Pulumi.yaml has no name. Fix: name the project, as in name: ai-platform."),
        ("name: [a]", b"", "Pulumi.yaml has no name. Fix: name the project, as in name: ai-platform."),
    ],
)  # fmt: skip
def test_a_file_of_another_shape_is_told(tmp_path: Path, project: str, stack: bytes, message: str) -> None:
    (tmp_path / "Pulumi.yaml").write_text(project, encoding="utf-8")
    (tmp_path / "Pulumi.dev.yaml").write_bytes(stack)
    assert refusal(tmp_path) == message


@pytest.mark.parametrize(
    ("stack", "problem"),
    [
        (b"config: {a: 1", "expected ',' or '}'"),
        (b"config:\n  shop:count: 1\n  shop:count: 2\n", "shop:count is written twice"),
        (b"config: {shop:list: [{a: 1, a: 2}]}", "a is written twice"),
        (b"\xff\xfe\x00", "Pulumi.dev.yaml is not valid YAML"),
        (b"config: {a: !!python/object:os.system x}", "could not determine a constructor"),
        (b"? [a]\n: 1\n", "unhashable key"),
    ],
)
def test_what_is_not_yaml_is_told_on_one_line(tmp_path: Path, stack: bytes, problem: str) -> None:
    (tmp_path / "Pulumi.yaml").write_text(PROJECT, encoding="utf-8")
    (tmp_path / "Pulumi.dev.yaml").write_bytes(stack)
    message = refusal(tmp_path)
    assert message.startswith("Pulumi.dev.yaml is not valid YAML: ") and problem in message
    assert message.endswith(". Fix: correct the file.") and "\n" not in message
