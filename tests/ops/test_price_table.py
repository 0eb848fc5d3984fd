"""What both dated tables of prices rely on: rows that are checked, a text that is read back the same, and an age."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import pytest

from ops.price_table import OLDEST_DAYS, PriceTableError, outdated, read_rows, text_of, usd_of

TODAY = date(2026, 12, 2)


@dataclass(frozen=True)
class Fruit:
    name: str
    usd: float | None


def _fruit(cells: Mapping[str, str]) -> Fruit:
    return Fruit(cells["name"], usd_of(cells["usd"]) if cells["usd"] else None)


def _name(fruit: Fruit) -> str:
    return fruit.name


def test_a_table_is_sorted_and_read_back_as_it_was(tmp_path: Path) -> None:
    fruits = {"apple": Fruit("apple", 0.0000002), "melon": Fruit("melon", None), "pear": Fruit("pear", 1.25)}
    text = text_of(Fruit, reversed(fruits.values()), _name)
    assert text == "name,usd\napple,0.0000002\nmelon,\npear,1.25\n", (
        "an exponent or an order would make a change of nothing"
    )
    path = tmp_path / "fruits.csv"
    path.write_text(text, encoding="utf-8")
    assert read_rows(path, _fruit, _name) == fruits


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("apple,1\npear,0\n", "Line 3 of fruits.csv is no price (0 USD)"),
        ("apple,inf\n", "Line 2 of fruits.csv is no price (inf USD)"),
        ("apple\n", "it has too few or too many cells"),
        ("apple,1,2\n", "it has too few or too many cells"),
        ("apple,1\napple,2\n", "fruits.csv has two rows of one price"),
    ],
)
def test_a_table_with_a_row_that_is_no_price_is_refused(tmp_path: Path, rows: str, told: str) -> None:
    path = tmp_path / "fruits.csv"
    path.write_text(f"name,usd\n{rows}", encoding="utf-8")
    with pytest.raises(PriceTableError) as caught:
        read_rows(path, _fruit, _name)
    assert told in str(caught.value), "whoever mends the table would have to search for the row"


@pytest.mark.parametrize("content", [None, "", "name,usd\n", b"\xff\xfe"])
def test_a_table_that_is_missing_or_empty_is_no_table_of_zeros(tmp_path: Path, content: str | bytes | None) -> None:  # fmt: skip
    path = tmp_path / "fruits.csv"
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(PriceTableError, match=r"^fruits\.csv .*Restore the file from version control\.$"):
        read_rows(path, _fruit, _name)


def test_the_oldest_day_decides_and_the_last_allowed_one_does_not() -> None:
    allowed = TODAY - timedelta(days=OLDEST_DAYS)
    assert outdated(TODAY, [TODAY, allowed]) is None
    older = allowed - timedelta(days=1)
    assert outdated(TODAY, [TODAY, older]) == (older, OLDEST_DAYS + 1), "old prices would pass for today's"
    assert outdated(TODAY, []) is None
