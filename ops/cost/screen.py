"""Estimates on a terminal: no wider than it is, the sums of the components first, every line only on request. Pure."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ops.cost.charge import MONTH_HOURS
from ops.cost.report import Column, answers, background, components, price_text, rows, sources, sum_label
from ops.cost.usage import Usage

Pair = tuple[float, float] | None
MORE = "--lines also shows every line with its price and source, what is not counted, and the busy month."
GAP = "  "
# Figures of one stack with their price need so much.
NARROWEST = 60
# A label that is longer stands on a line of its own, above its figures.
LEAST_LABEL = 20


@dataclass(frozen=True)
class Entry:
    """One line of the table; `price` is empty for a sum."""

    label: str
    price: str
    sums: tuple[Pair, ...]


def screen(
    columns: Sequence[Column], usage: Usage, warning: str, width: int, *, lines: bool
) -> Iterator[str]:
    """The report line by line, none longer than `width`, down to NARROWEST. Columns that do not fit beside the others come below them."""
    width = max(width, NARROWEST)
    yield f"USD a month ({MONTH_HOURS} hours), idle and busy"
    entries = _entries(columns, lines=lines)
    priced = max(len(entry.price) for entry in entries)
    room = width - LEAST_LABEL - (priced + len(GAP) if priced else 0)
    for positions in _groups(columns, entries, room):
        yield ""
        yield from _table(columns, entries, positions, width)
    made = rows(columns)
    told = [*answers(columns), *(background(made, usage) if lines else ["", MORE])]
    if warning:
        told.append(f"\nWarning: {warning}")
    for line in "\n".join(told).splitlines():
        yield from _wrapped(line, width)


def _entries(columns: Sequence[Column], *, lines: bool) -> list[Entry]:
    made = rows(columns) if lines else []
    numbers = sources(made)
    found = []
    for component in components(columns):
        sums = tuple(column.estimate.by_component().get(component) for column in columns)
        found.append(Entry(component, "", sums))
        for row in made:
            if row.component == component:
                number = numbers[row.price.source, str(row.price.read_on)]
                price = f"{price_text(row)} {f'[{number}]':>4}"
                found.append(Entry(f"  {row.resource}: {row.what}", price, row.sums))
    totals = tuple((column.estimate.idle_usd, column.estimate.busy_usd) for column in columns)
    return [*found, Entry(sum_label(columns), "", totals)]


def _cells(columns: Sequence[Column], entries: Sequence[Entry], position: int) -> list[str]:
    """Head and figures of one column, all of one length."""
    texts = [tuple(f"{usd:,.2f}" for usd in pair) if (pair := entry.sums[position]) else ("-", "-") for entry in entries]  # fmt: skip
    idle, busy = (max(len(text[part]) for text in texts) for part in (0, 1))
    figures = [f"{text[0]:>{idle}} {text[1]:>{busy}}" for text in texts]
    label = columns[position].label
    length = max(len(label), idle + 1 + busy)
    return [f"{text:>{length}}" for text in (label, *figures)]


def _groups(columns: Sequence[Column], entries: Sequence[Entry], room: int) -> list[list[int]]:
    """Positions of the columns that stand side by side in so much room; one always does."""
    groups: list[list[int]] = []
    left = 0
    for position in range(len(columns)):
        length = len(_cells(columns, entries, position)[0]) + len(GAP)
        if not groups or length > left:
            groups.append([])
            left = room
        groups[-1].append(position)
        left -= length
    return groups


def _table(
    columns: Sequence[Column], entries: Sequence[Entry], positions: Sequence[int], width: int
) -> Iterator[str]:
    """The entries that any of these columns has."""
    cells = [_cells(columns, entries, position) for position in positions]
    priced = max(len(entry.price) for entry in entries)
    heads = [Entry("", "", ()), *entries]
    for number, entry in enumerate(heads):
        if number and all(entry.sums[position] is None for position in positions):
            continue
        figures = f"{entry.price:>{priced}}{GAP}" if priced else ""
        figures += GAP.join(column[number] for column in cells)
        left = max(0, width - len(figures) - len(GAP))
        if len(entry.label) > left:
            yield from _wrapped(entry.label, width)
            yield f"{'':>{left}}{GAP}{figures}"
        else:
            yield f"{entry.label:<{left}}{GAP}{figures}"


def _wrapped(line: str, width: int) -> list[str]:
    """At words, a line that is cut going on further in."""
    indent = f"{' ' * (len(line) - len(line.lstrip()))}    "
    return textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False) or [""]
