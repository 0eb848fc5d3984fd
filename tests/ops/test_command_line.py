"""The values that options of several verbs take."""

import argparse

import pytest

from ops.command_line import region, whole_number


@pytest.mark.parametrize("text", ["5", "3600"])
def test_both_ends_of_a_range_are_taken(text: str) -> None:
    assert whole_number(5, 3600)(text) == int(text), "--help names both ends"


@pytest.mark.parametrize("text", ["4", "3601", "-5", "5.0", "", "five", "٥"])
def test_a_number_outside_of_its_range_is_refused_with_the_range(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="must be a whole number from 5 to 3600"):
        whole_number(5, 3600)(text)


def test_a_region_looks_like_one() -> None:
    assert region("us-gov-west-1") == "us-gov-west-1"
    for text in ("eu-central-1a", "EU-CENTRAL-1", "frankfurt"):
        with pytest.raises(argparse.ArgumentTypeError, match="a region such as eu-central-1"):
            region(text)
