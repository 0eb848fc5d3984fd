"""The history of a spot price, and the small picture of it in a terminal."""

import io
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.spot.plot import BLOCKS, PLAIN, shows_blocks, sparkline
from ops.spot.prices import Offer
from tests.ops.spot_world import NOW


def test_a_history_has_the_price_that_was_in_force_at_each_time() -> None:
    changes = ((NOW - timedelta(hours=9), 1.0), (NOW - timedelta(hours=2), 3.0))
    offer = Offer(instance_type="g5.2xlarge", zone="a", zone_id="", changes=changes)
    assert offer.history(NOW - timedelta(hours=12), NOW, 4) == [1.0, 1.0, 1.0, 3.0]
    assert offer.history(NOW - timedelta(hours=20), NOW, 4)[:2] == [None, None]


def test_a_sparkline_goes_from_the_lowest_to_the_highest() -> None:
    assert sparkline([1.0, 8.0, None, 4.5], blocks=True) == "▁█ ▅"
    assert sparkline([1.0, 8.0], blocks=False) == "_#"
    assert sparkline([2.0, 2.0], blocks=True) == "▁▁", "a price that stands would look like a swing"
    assert sparkline([None, None], blocks=True) == "  "


@given(
    st.lists(st.one_of(st.none(), st.floats(min_value=1e-6, max_value=1e6, allow_nan=False))),
    st.booleans(),
)
def test_a_sparkline_has_one_character_for_each_value_and_ends_at_both_levels(
    values: list[float | None], blocks: bool
) -> None:
    line = sparkline(values, blocks=blocks)
    levels = BLOCKS if blocks else PLAIN
    assert len(line) == len(values)
    known = [value for value in values if value is not None]
    for value, shown in zip(values, line, strict=True):
        assert (shown == " ") == (value is None)
        if value is not None and len(set(known)) > 1 and value in (min(known), max(known)):
            assert shown == levels[0 if value == min(known) else -1]


@pytest.mark.parametrize(
    ("encoding", "blocks"), [("utf-8", True), ("UTF8", True), ("ascii", False), ("latin-1", False)]
)
def test_a_terminal_without_utf8_gets_plain_characters(encoding: str, blocks: bool) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    assert shows_blocks(stream) == blocks
    assert PLAIN.isascii()
