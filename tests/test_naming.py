"""Names fit AWS's limits without two inputs ever becoming one name."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.naming import short_name, typed_name

QUICK = settings(max_examples=150, deadline=None, derandomize=True)
PROJECT, STACK = "ai-platform-research", "feature-vector-search-eu-central-1"
# What OpenSearch Serverless asks for, the narrowest of all; no name of it ends in a hyphen or holds two in a row here.
PATTERN = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

limits = st.integers(12, 64)
parts = st.lists(st.text("ab-1.A\u00e9 \0", max_size=20) | st.text(max_size=20), min_size=1, max_size=3)


def test_a_name_that_people_type_carries_the_stacks_suffix() -> None:
    assert typed_name("ai-cluster", "dev") == "ai-cluster-dev"


def test_without_a_suffix_a_name_stays_as_people_know_it() -> None:
    assert typed_name("ai-cluster", "") == "ai-cluster"


def test_a_name_that_fits_is_kept() -> None:
    assert short_name("ai-platform", "dev", limit=32) == "ai-platform-dev"
    assert short_name("abc", limit=12) == "abc"
    assert short_name("a" * 12, limit=12) == "a" * 12


def test_a_shortened_name_never_changes() -> None:
    assert short_name(PROJECT, STACK, limit=32) == "ai-platform-research-fe-cc906da1", (
        "a collection and its data would be replaced"
    )


@pytest.mark.parametrize("limit", [32, 63, 64])
def test_a_long_stack_name_is_shortened_to_what_aws_takes(limit: int) -> None:
    name = short_name(PROJECT, STACK, "vectors", limit=limit)
    assert len(name) <= limit and PATTERN.fullmatch(name), "AWS would refuse the name"
    assert name.startswith("ai-platform-research"), "nobody could tell whose it is"


def test_long_names_that_differ_at_the_end_only_stay_different() -> None:
    names = {short_name(PROJECT, f"{STACK}-{number}", limit=32) for number in range(50)}
    assert len(names) == 50, "two stacks would share a collection"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ai", "platform-dev"), ("ai-platform", "dev")),
        (("Dev", "a"), ("dev", "a")),
        (("dev_1",), ("dev-1",)),
        (("a\0b", "c"), ("a", "b\0c")),
        (("1abc",), ("a1abc",)),
        (("a--b",), ("a-b",)),
    ],
)
def test_inputs_that_look_alike_stay_different(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert short_name(*one, limit=32) != short_name(*other, limit=32), "one stack would take the other's name"


def test_a_name_typed_like_a_shortened_one_does_not_meet_it() -> None:
    shortened = short_name("Dev", limit=32)
    assert short_name(shortened, limit=32) != shortened


@pytest.mark.parametrize("text", ["", "-", "..", "é", "\ud800", "ab", "A", "9"])
def test_any_text_becomes_a_name(text: str) -> None:
    name = short_name(text, limit=32)
    assert PATTERN.fullmatch(name) and 3 <= len(name) <= 32


@QUICK
@given(parts, limits)
def test_every_name_fits_pattern_and_limit(words: list[str], limit: int) -> None:
    name = short_name(*words, limit=limit)
    assert PATTERN.fullmatch(name) and 3 <= len(name) <= limit


@QUICK
@given(
    st.integers(1, 3).flatmap(
        lambda count: st.tuples(*[st.lists(st.text("ab-", max_size=6), min_size=count, max_size=count)] * 2)
    ),
    limits,
)
def test_two_different_inputs_never_become_one_name(pair: tuple[list[str], list[str]], limit: int) -> None:
    one, other = (short_name(*words, limit=limit) for words in pair)
    assert (one == other) == (pair[0] == pair[1])
