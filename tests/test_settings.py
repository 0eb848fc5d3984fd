"""Reading settings into a dataclass, apart from the platform's own keys."""

from collections.abc import Mapping
from dataclasses import MISSING, FrozenInstanceError, dataclass
from types import MappingProxyType
from typing import Any

import pytest

from components.settings import (
    Fault,
    as_typed,
    between,
    default_of,
    describe,
    each,
    fault,
    matching,
    nearest,
    one_of,
    optional,
    setting,
    settings_of,
    shown,
    shown_default,
)
from components.settings_reader import Source, read_section, unknown_key_faults


@dataclass(frozen=True, kw_only=True)
class Wheel:
    spokes: int = setting("spokes", allowed=between(8, 36, "spokes"))
    colour: str = setting("colour", "black", one_of("black", "red"))


@dataclass(frozen=True, kw_only=True)
class Bicycle:
    name: str = setting("name", allowed=matching(r"\w+", "one word"))
    electric: bool = setting("electric", False)
    wheels: tuple[Wheel, ...] = setting("wheels", ())
    gears: tuple[str, ...] = setting("gears", (), each(one_of("first", "second"), 0, 2))
    weights: Mapping[str, int] = setting("weights", MappingProxyType({}), each(between(1, 9)))
    maker: str = setting("maker", "", optional(matching(r"[A-Z]+", "capitals")))


def read(values: Mapping[str, Any]) -> tuple[Bicycle, list[str]]:
    faults: list[Fault] = []
    return read_section(Bicycle, Source(values=values, prefix="shop:"), faults), [
        str(fault) for fault in faults
    ]


def test_values_are_read_from_text_and_from_json_alike() -> None:
    typed = {
        "name": "tandem",
        "electric": "true",
        "wheels": '[{"spokes": 8}]',
        "gears": '["first"]',
        "weights": '{"b": 2, "a": 1}',
    }
    loaded = {
        "name": "tandem",
        "electric": True,
        "wheels": [{"spokes": "8"}],
        "gears": ["first"],
        "weights": {"a": 1, "b": "2"},
    }
    expected = Bicycle(
        name="tandem", electric=True, wheels=(Wheel(spokes=8),), gears=("first",), weights={"a": 1, "b": 2}
    )
    assert read(typed) == (expected, [])
    assert read(loaded) == (expected, [])


def test_what_is_absent_takes_its_default() -> None:
    assert read({"name": "tandem"}) == (Bicycle(name="tandem"), [])


@pytest.mark.parametrize("value", [1, 1.0, 0, "1", "True", "yes", "", None, [], {}])
def test_only_true_and_false_are_truth_values(value: Any) -> None:
    bicycle, faults = read({"name": "tandem", "electric": value})
    assert faults == [
        f"shop:electric = {shown(value)}: must be true or false. Fix: change it, or remove it to use the default false."
    ]
    assert bicycle.electric is False


@pytest.mark.parametrize("value", [8.0, "8.0", "1e1", True, "٨", " 8", "8\n", "0x8", None, [], "9" * 19])
def test_only_whole_numbers_are_numbers(value: Any) -> None:
    _, faults = read({"name": "tandem", "wheels": [{"spokes": value}]})
    assert faults == [f"shop:wheels[0].spokes = {shown(value)}: must be a whole number. Fix: change it."]


def test_digits_and_letters_of_other_scripts_do_not_pass_for_ascii() -> None:
    _, faults = read({"name": "٣"})
    assert faults == ["shop:name = ٣: must be one word. Fix: change it."]


def test_good_entries_are_kept_beside_a_faulty_one() -> None:
    bicycle, faults = read(
        {"name": "tandem", "wheels": [{"spokes": 12}, {"spokes": 7}, None, {"spokes": 36}]}
    )
    assert [wheel.spokes for wheel in bicycle.wheels] == [12, 0, 0, 36], (
        "the good entries could not be judged"
    )
    assert faults == [
        "shop:wheels[1].spokes = 7: must be 8 to 36 spokes. Fix: change it.",
        "shop:wheels[2] = null: must be an object. Fix: write an object with spokes, or remove it.",
    ]


def test_an_item_of_a_list_is_told_by_its_place_with_the_near_choice() -> None:
    _, faults = read({"name": "tandem", "gears": ["first", "secnd", "third!"]})
    assert faults == [
        "shop:gears[1] = secnd: must be one of first, second. Fix: use second if that is what you meant.",
        "shop:gears[2] = third!: must be one of first, second. Fix: change it, or remove it.",
    ]


def test_a_repeated_item_is_refused() -> None:
    _, faults = read({"name": "tandem", "gears": ["first", "second", "first"]})
    assert faults == ["shop:gears[2] = first: is listed twice. Fix: remove it."]


def test_a_list_has_its_length() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Chain:
        links: tuple[str, ...] = setting("links", allowed=each(matching("[a-z]+", "letters"), 1, 2))

    for links in ([], ["a", "b", "c"]):
        faults: list[Fault] = []
        read_section(Chain, Source(values={"links": links}, prefix=""), faults)
        (found,) = faults
        assert found.allowed == "must list 1 to 2 different items, every item must be letters"


def test_a_value_of_an_object_is_told_by_its_key() -> None:
    _, faults = read({"name": "tandem", "weights": {"b": 10, "a": 1}})
    assert faults == ["shop:weights.b = 10: must be 1 to 9. Fix: change it, or remove it."]
    _, faults = read({"name": "tandem", "weights": {"b": "x", "a": None}})
    assert faults == [
        "shop:weights.a = null: must be a whole number. Fix: change it, or remove it.",
        "shop:weights.b = x: must be a whole number. Fix: change it, or remove it.",
    ]


def test_an_optional_value_may_be_empty_and_nothing_else() -> None:
    assert read({"name": "tandem", "maker": ""})[1] == []
    assert read({"name": "tandem", "maker": "acme"})[1] == [
        "shop:maker = acme: must be capitals, or empty. Fix: change it, or remove it."
    ]


def test_a_number_where_text_is_wanted_is_to_be_quoted() -> None:
    assert read({"name": 7})[1] == ["shop:name = 7: must be text. Fix: put it in quotes."]
    assert read({"name": "tandem", "gears": [1.5]})[1] == [
        "shop:gears[0] = 1.5: must be text. Fix: put it in quotes."
    ]


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[" * 400 + "]" * 400, '{"a": ' * 100_000, "[1, 2", "\x00", "9" * 5000]
)
def test_text_that_is_no_list_is_told_and_never_raises(text: str) -> None:
    (message,) = read({"name": "tandem", "wheels": text})[1]
    assert message.startswith("shop:wheels"), message
    assert len(message) < 300, "the message drowns in the value"


def test_unknown_keys_name_the_nearest_known_one_in_whatever_case() -> None:
    source = Source(values={"Electirc": 1, "zzz": 2, "name": 3}, prefix="shop:")
    assert [str(fault) for fault in unknown_key_faults(source, settings_of(Bicycle))] == [
        "shop:Electirc = 1: is not a known key. Fix: use electric if that is what you meant.",
        "shop:zzz = 2: is not a known key. Fix: remove it; known are name, electric, wheels, gears, weights, maker.",
    ]


def test_a_long_list_of_known_keys_is_not_recited() -> None:
    known = [f"key{number}" for number in range(21)]
    (found,) = unknown_key_faults(Source(values={"zzz": 1}, prefix=""), known)
    assert found.fix == "remove it; Pulumi.yaml lists the known keys"


def test_a_fault_is_one_printable_line() -> None:
    text = str(Fault(key="a\nb", value="\ud800\x1b[2J", allowed="must\u2028be", fix="c\td"))
    assert text == "a\\nb = \\ud800\\u001b[2J: must\\u2028be. Fix: c\\td."
    assert text.encode(), "the log could not be written"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "k = true: a. Fix: b."), (0, "k = 0: a. Fix: b."), ("", "k is not set: a. Fix: b."),
        ((), "k is not set: a. Fix: b."), (("x",), 'k = ["x"]: a. Fix: b.'),
    ],
)  # fmt: skip
def test_a_fault_shows_the_value_as_typed_and_an_empty_one_as_not_set(value: Any, text: str) -> None:
    assert str(fault("k", value, "a", "b")) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", '""'), ("a b", "a b"), ("a\nb", '"a\\nb"'), (None, "null"), (float("nan"), "NaN"), ([1, {"a": None}], '[1, {"a": null}]'),
        ("x" * 121, "x" * 117 + "..."), ("x" * 120, "x" * 120),
    ],
)  # fmt: skip
def test_any_value_can_be_shown(value: Any, text: str) -> None:
    assert shown(value) == text


def test_a_value_too_large_or_too_deep_for_text_is_still_told() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert shown(deep) == "a value that cannot be shown"
    assert shown(10**5000) == "a value that cannot be shown"


def test_nearest_finds_a_misspelling_and_nothing_far_away() -> None:
    assert nearest("bedrock", ["bedrock-runtime", "ecs"]) == "bedrock-runtime"
    assert nearest("NONE", ["none"]) == "none"
    assert nearest("zzz", ["none"]) is None


def test_a_default_is_shown_as_a_person_would_type_it() -> None:
    wheels = (Wheel(spokes=8), Wheel(spokes=9, colour="red"))
    assert as_typed(wheels) == [{"spokes": 8}, {"spokes": 9, "colour": "red"}]
    defaults = {key: item for key, item in settings_of(Bicycle).items() if default_of(item) is not MISSING}
    assert [shown_default(item) for item in defaults.values()] == ["false", "[]", "[]", "{}", '""']


def test_types_are_described_in_a_persons_words() -> None:
    hints = [bool, int, str, tuple[str, ...], tuple[Wheel, ...], Mapping[str, int], Mapping[str, str]]
    assert [describe(hint) for hint in hints] == [
        "true or false", "a whole number", "text", "a list of texts", "a list of objects",
        "an object whose values are whole numbers", "an object whose values are texts",
    ]  # fmt: skip


def test_what_was_read_cannot_be_changed() -> None:
    bicycle, _ = read({"name": "tandem"})
    with pytest.raises(FrozenInstanceError):
        bicycle.__setattr__("name", "other")
