"""What the dated tables of prices share: rows are checked as they are read, and the same prices give the same text."""

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

Key = TypeVar("Key")
Row = TypeVar("Row")
OLDEST_DAYS = 90
# 365 days of 24 hours, in twelve months.
MONTH_HOURS = 730
RESTORE = "Restore the file from version control."


class PriceTableError(Exception):
    """The table holds what is no price; the message says where."""


def read_rows(
    path: Path, row_of: Callable[[Mapping[str, str]], Row], key_of: Callable[[Row], Key]
) -> dict[Key, Row]:
    """Every row by its key. `row_of` raises ValueError or KeyError for cells that are no price.

    PriceTableError names the line of such a row, or tells that two rows have one key, that there is no row, or no file.
    """
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            read = enumerate(csv.DictReader(lines), start=2)
            rows = [_row(path, line, cells, row_of) for line, cells in read]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise PriceTableError(f"{path.name} cannot be read: {why}. {RESTORE}") from error
    if not rows:
        raise PriceTableError(f"{path.name} has no price in it. {RESTORE}")
    table = {key_of(row): row for row in rows}
    if len(table) != len(rows):
        raise PriceTableError(f"{path.name} has two rows of one price and region. Keep one of them.")
    return table


def _row(path: Path, line: int, cells: Mapping[str, str], row_of: Callable[[Mapping[str, str]], Row]) -> Row:
    try:
        if None in cells or None in cells.values():
            raise ValueError("it has too few or too many cells")
        return row_of(cells)
    except (KeyError, TypeError, ValueError) as error:
        raise PriceTableError(f"Line {line} of {path.name} is no price ({error}). {RESTORE}") from error


def usd_of(text: str) -> float:
    """A price; ValueError for one that is not above zero."""
    usd = float(text)
    if not 0 < usd < math.inf:
        raise ValueError(f"{text} USD")
    return usd


def text_of(row_type: Any, rows: Iterable[Row], key_of: Callable[[Row], Any]) -> str:
    """The text of a table whose columns are the fields of the dataclass `row_type`, sorted by key."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [column.name for column in fields(row_type)]
    writer.writerow(columns)
    for row in sorted(rows, key=key_of):
        writer.writerow([_cell(getattr(row, column)) for column in columns])
    return text.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, float):
        # Without an exponent and without rounding: what is read back is the same number.
        return f"{value:.10f}".rstrip("0").rstrip(".")
    return "" if value is None else str(value)


def outdated(today: date, read_on: Iterable[date]) -> tuple[date, int] | None:
    """The oldest of these days and its age in days, where that is more than OLDEST_DAYS; else None."""
    oldest = min(read_on, default=today)
    age = (today - oldest).days
    if age <= OLDEST_DAYS:
        return None
    return oldest, age
