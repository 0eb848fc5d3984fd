"""The careful edit of a stack file: one key changes, every other byte stays."""

import difflib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ops.capture.program import PROJECT_ROOT
from ops.stack_edit import StackEditError, with_mapping
from recordings import STACKS

KEY = "ai-platform:machineImages"
OLD, NEW, OTHER = "ami-0aaaaaaaaaaaaaaaa", "ami-0bbbbbbbbbbbbbbbb", "ami-0cccccccccccccccc"
PINS = {"dlami": NEW}


def removed_lines(old: str, new: str) -> list[str]:
    lines = difflib.ndiff(old.splitlines(keepends=True), new.splitlines(keepends=True))
    return [line[2:] for line in lines if line.startswith("- ")]


@pytest.mark.parametrize("stack", STACKS)
def test_a_real_stack_file_gains_the_pins_and_loses_nothing(stack: str) -> None:
    text = (PROJECT_ROOT / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")
    pins = {"dlami": NEW, "ecs-gpu": OTHER}
    once = with_mapping(text, KEY, pins)
    assert yaml.safe_load(once)["config"][KEY] == pins
    assert KEY in text or not removed_lines(text, once), "a comment or setting of the user is gone"
    assert with_mapping(once, KEY, pins) == once, "pinning twice would change the file again"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"config:\n  {KEY}: {{dlami: {OLD}}} # pinned in March\n  ai-platform:region: x\n",
            f"config:\n  {KEY}: {{dlami: {NEW}}} # pinned in March\n  ai-platform:region: x\n",
        ),
        (
            f"config:\n  {KEY}:\n    # why\n    dlami: '{OLD}' # March\n\n  ai-platform:region: x\n",
            f"config:\n  {KEY}:\n    # why\n    dlami: {NEW} # March\n\n  ai-platform:region: x\n",
        ),
        (
            f"config:\n  {KEY}:\n    ecs-gpu: {OLD} # kept\n  # region\n  ai-platform:region: x\n",
            f"config:\n  {KEY}:\n    ecs-gpu: {OLD} # kept\n    dlami: {NEW}\n  # region\n  ai-platform:region: x\n",
        ),
        (
            f"config:\n  {KEY}: {{ecs-gpu: {OLD}}}\n",
            f"config:\n  {KEY}: {{ecs-gpu: {OLD}, dlami: {NEW}}}\n",
        ),
        (f"config:\n  {KEY}: {{}} # none\n", f"config:\n  {KEY}: {{dlami: {NEW}}} # none\n"),
        (f"config:\n  {KEY}: # none\n", f"config:\n  {KEY}: {{dlami: {NEW}}} # none\n"),
        ("config:\n  machineImages: {}\n", f"config:\n  machineImages: {{dlami: {NEW}}}\n"),
        (
            "config:\n  region: x # here\n# end\nencryptionsalt: v1\n",
            f"config:\n  region: x # here\n  {KEY}: {{dlami: {NEW}}}\n# end\nencryptionsalt: v1\n",
        ),
        (
            "config:\n  a:\n    - b\n    - c: d # last\n",
            f"config:\n  a:\n    - b\n    - c: d # last\n  {KEY}: {{dlami: {NEW}}}\n",
        ),
        (
            "config:\n  script: |\n    one\n    two\nother: 1\n",
            f"config:\n  script: |\n    one\n    two\n  {KEY}: {{dlami: {NEW}}}\nother: 1\n",
        ),
        ("config:\n    region: x", f"config:\n    region: x\n    {KEY}: {{dlami: {NEW}}}\n"),
        ("config:\r\n  region: x\r\n", f"config:\r\n  region: x\r\n  {KEY}: {{dlami: {NEW}}}\r\n"),
        ("config: {region: x}\n", f"config: {{region: x, {KEY}: {{dlami: {NEW}}}}}\n"),
        ("config: {}\n", f"config: {{{KEY}: {{dlami: {NEW}}}}}\n"),
        ("config:\n", f"config:\n  {KEY}: {{dlami: {NEW}}}\n"),
        ("# for tests\n", f"# for tests\nconfig:\n  {KEY}: {{dlami: {NEW}}}\n"),
        ("", f"config:\n  {KEY}: {{dlami: {NEW}}}\n"),
    ],
)
def test_only_the_pins_change(before: str, after: str) -> None:
    assert with_mapping(before, KEY, PINS) == after


def test_a_file_that_cannot_be_edited_safely_is_left_to_the_user() -> None:
    shared = f"config:\n  a: &pins {{dlami: {OLD}}}\n  {KEY}: *pins\n"
    with pytest.raises(StackEditError) as error:
        with_mapping(shared, KEY, PINS)
    assert f"{KEY}: {{dlami: {NEW}}}" in str(error.value), "the user would not know what to write"


words = st.text("abcdefg -#:'\"", min_size=1, max_size=12)
values = st.recursive(
    st.one_of(st.integers(), st.booleans(), words),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=6,
)


@given(config=st.dictionaries(words, values, max_size=4), flow=st.sampled_from([None, True, False]))
def test_whatever_the_file_holds_survives_beside_the_pins(
    config: dict[str, object], flow: bool | None
) -> None:
    text = yaml.safe_dump(
        {"config": config, "encryptionsalt": "v1"}, default_flow_style=flow, sort_keys=False
    )
    read = yaml.safe_load(with_mapping(text, KEY, PINS))
    assert read == {"config": {**config, KEY: PINS}, "encryptionsalt": "v1"}
