"""Estimates side by side: rows that the text, the page and the JSON share, and the text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ops.cost.charge import MONTH_HOURS
from ops.cost.estimate import Estimate, Line
from ops.cost.free import NOT_COUNTED
from ops.cost.prices import Price
from ops.cost.usage import Usage, meanings

# The idle floor that the platform is designed for, USD a month, by column.
DESIGN_TARGETS = {"dev": 50.0, "dev, asleep": 20.0}
WIDEST_LABEL = 76


@dataclass(frozen=True)
class Column:
    """One estimate and what it is called."""

    label: str
    estimate: Estimate


@dataclass(frozen=True)
class Row:
    """One thing that one resource is charged for, in every column: (idle, busy) USD, or None where it is not there."""

    component: str
    resource: str
    what: str
    price: Price
    sums: tuple[tuple[float, float] | None, ...]
    regions: frozenset[str]

    @property
    def is_starred(self) -> bool:
        """Whether the price is of another region than that of a stack which has the row."""
        return bool(self.price.region) and self.regions != {self.price.region}


def rows(columns: Sequence[Column]) -> list[Row]:
    """Components in the order of the program, the lines of each too."""
    found: dict[tuple[str, str, str, Price], list[tuple[float, float] | None]] = {}
    for position, column in enumerate(columns):
        for line in column.estimate.lines:
            cells = found.setdefault(_key(line), [None] * len(columns))
            idle, busy = cells[position] or (0.0, 0.0)
            cells[position] = idle + line.idle_usd, busy + line.busy_usd
    order = {component: number for number, component in enumerate(components(columns))}
    made = [Row(*key, tuple(cells), _regions(columns, cells)) for key, cells in found.items()]
    return sorted(made, key=lambda row: order[row.component])


def _regions(columns: Sequence[Column], cells: Sequence[tuple[float, float] | None]) -> frozenset[str]:
    return frozenset(column.estimate.region for column, sums in zip(columns, cells, strict=True) if sums)


def _key(line: Line) -> tuple[str, str, str, Price]:
    return line.component, line.resource, line.what, line.price


def components(columns: Sequence[Column]) -> list[str]:
    """Every component of any column, in the order of the column that has the most."""
    each = sorted((list(column.estimate.by_component()) for column in columns), key=len, reverse=True)
    return list(dict.fromkeys(name for names in each for name in names))


def sources(made: Iterable[Row]) -> dict[tuple[str, str], int]:
    """Source and date of every price, numbered in the order of the rows."""
    keys = dict.fromkeys((row.price.source, str(row.price.read_on)) for row in made)
    return {key: number for number, key in enumerate(keys, start=1)}


def price_text(row: Row) -> str:
    """`0.052 / hour`, with a star where the price is of another region than a stack's."""
    usd = f"{row.price.price_usd:.10f}".rstrip("0").rstrip(".")
    return f"{usd} / {row.price.unit}{'*' if row.is_starred else ''}"


def verdicts(columns: Sequence[Column]) -> list[str]:
    """Which sums lack something, whether the idle floors that the platform is designed for hold, and where they go."""
    told = []
    for column in columns:
        estimate, target = column.estimate, DESIGN_TARGETS.get(column.label)
        if estimate.not_priced:
            told.append(
                f"{column.label}: at least {estimate.idle_usd:,.2f} USD a month idle and {estimate.busy_usd:,.2f} busy"
                f" ({estimate.not_priced} not priced)."
            )
        if target is not None:
            told.append(_floor(column, target))
    return told


def _floor(column: Column, target: float) -> str:
    estimate = column.estimate
    idle = f"at least {estimate.idle_usd:,.2f}" if estimate.not_priced else f"{estimate.idle_usd:,.2f}"
    verdict = "missed" if estimate.idle_usd > target else "not known" if estimate.not_priced else "met"
    return (
        f"Idle floor of {column.label}: {idle} USD a month, designed for at most {target:g}: {verdict}"
        f" ({_largest(estimate)})."
    )


def _largest(estimate: Estimate, count: int = 3) -> str:
    lines = sorted((line for line in estimate.lines if line.idle_usd), key=lambda line: -line.idle_usd)
    largest = ", ".join(f"{line.what} {line.idle_usd:.2f}" for line in lines[:count])
    return largest or ("no price of what it keeps" if estimate.not_priced else "nothing")


def sum_label(columns: Sequence[Column]) -> str:
    """The sums are the least that it may be where any column has a cost without a price."""
    return "sum, at least" if any(column.estimate.not_priced for column in columns) else "sum"


def text(columns: Sequence[Column], usage: Usage, warning: str) -> Iterator[str]:
    """The whole report, line by line."""
    made = rows(columns)
    numbers = sources(made)
    labels = [*map(_label, made), *components(columns), sum_label(columns)]
    width = min(max(map(len, labels)), WIDEST_LABEL)
    yield f"USD a month ({MONTH_HOURS} hours), idle and busy"
    yield ""
    yield _table_line("", width, "price", "", (column.label for column in columns))
    for component in components(columns):
        sums = [column.estimate.by_component().get(component) for column in columns]
        yield _table_line(component, width, "", "", map(cells, sums))
        for row in made:
            if row.component == component:
                number = f"[{numbers[row.price.source, str(row.price.read_on)]}]"
                yield _table_line(_label(row), width, price_text(row), number, map(cells, row.sums))
    totals = [(column.estimate.idle_usd, column.estimate.busy_usd) for column in columns]
    yield _table_line(sum_label(columns), width, "", "", map(cells, totals))
    yield from answers(columns)
    yield from background(made, usage)
    if warning:
        yield f"\nWarning: {warning}"


def answers(columns: Sequence[Column]) -> Iterator[str]:
    """What the sums say of the design, and what they lack."""
    yield from _titled("", verdicts(columns))
    yield from _titled("Not priced", unpriced(columns))


def background(made: Sequence[Row], usage: Usage) -> Iterator[str]:
    """What the sums rest on: what is left out, the busy month, and the sources of the prices."""
    yield from _titled("Not counted", NOT_COUNTED)
    yield from _titled("A busy month (change it with --set NAME=NUMBER or --usage FILE)", usage_lines(usage))
    starred = (
        ["* no price of the stack's region is known: that of another region"]
        if any(row.is_starred for row in made)
        else []
    )
    dated = (f"[{number}] {source}, {day}" for (source, day), number in sources(made).items())
    yield from _titled("Prices", [*starred, *dated])


def usage_lines(usage: Usage) -> list[str]:
    """Each number of the busy month with its meaning."""
    return [f"{name} = {getattr(usage, name):,.12g}: {meaning}" for name, meaning in meanings().items()]


def unpriced(columns: Sequence[Column]) -> list[str]:
    """One line for each resource and reason, with the columns that have it."""
    found: dict[tuple[str, str], list[str]] = {}
    for column in columns:
        for item in dict.fromkeys(column.estimate.unpriced):
            found.setdefault(item, []).append(column.label)
    return [f"{name} ({'; '.join(labels)}): {why}" for (name, why), labels in found.items()]


def _titled(title: str, lines: Iterable[str]) -> Iterator[str]:
    lines = list(lines)
    if lines:
        yield f"\n{title}" if title else ""
        yield from (f"  {line}" if title else line for line in lines)


def _label(row: Row) -> str:
    return f"  {row.resource}: {row.what}"


def cells(sums: tuple[float, float] | None) -> str:
    """Idle and busy of one column; a dash where the column has no such thing."""
    return f"{sums[0]:,.2f} {sums[1]:>10,.2f}" if sums else "-"


def _table_line(label: str, width: int, price: str, number: str, columns: Iterable[str]) -> str:
    label = label if len(label) <= width else f"{label[: width - 3]}..."
    return f"{label:<{width}} {price:>26} {number:>4} {''.join(f'{cell:>22}' for cell in columns)}".rstrip()


def document(columns: Sequence[Column], usage: Usage, warning: str) -> dict[str, Any]:
    """Everything in plain values."""
    return {
        "month_hours": MONTH_HOURS,
        "usage": {name: getattr(usage, name) for name in meanings()},
        "columns": [_column(column) for column in columns],
        "verdicts": verdicts(columns),
        "not_counted": list(NOT_COUNTED),
        "warning": warning,
    }


def _column(column: Column) -> dict[str, Any]:
    estimate = column.estimate
    return {
        "label": column.label,
        "stack": estimate.stack,
        "region": estimate.region,
        "idle_usd": round(estimate.idle_usd, 4),
        "busy_usd": round(estimate.busy_usd, 4),
        "not_priced": estimate.not_priced,
        "sums_are_least": estimate.not_priced > 0,
        "components": {
            name: {"idle_usd": round(idle, 4), "busy_usd": round(busy, 4)}
            for name, (idle, busy) in estimate.by_component().items()
        },
        "lines": [_line(line) for line in estimate.lines],
        "unpriced": [{"resource": name, "why": why} for name, why in estimate.unpriced],
        "free": [{"resource": name, "why": why} for name, why in estimate.free],
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "component": line.component,
        "resource": line.resource,
        "what": line.what,
        "quantity": line.quantity,
        "idle_quantity": line.idle_quantity,
        "unit": line.unit,
        "price_usd": line.price_usd,
        "price_region": line.price.region,
        "idle_usd": round(line.idle_usd, 4),
        "busy_usd": round(line.busy_usd, 4),
        "source": line.source,
        "read_on": str(line.read_on),
    }
