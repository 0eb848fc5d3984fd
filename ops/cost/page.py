"""Writes docs/cost.md and docs/cost.svg from recordings of the stacks, with the usage that `ops cost` takes by default.

`python -m ops.cost.page` writes them; a test compares.
"""

from collections.abc import Iterator, Sequence

from ops.capture.program import PROJECT_ROOT
from ops.cost.charge import MONTH_HOURS
from ops.cost.chart import svg
from ops.cost.command import all_columns
from ops.cost.free import FREE, NOT_COUNTED
from ops.cost.report import Column, Row, components, price_text, rows, sources, sum_label, unpriced, verdicts
from ops.cost.usage import Usage, meanings

PAGE = PROJECT_ROOT / "docs" / "cost.md"
CHART = PROJECT_ROOT / "docs" / "cost.svg"
HEAD = f"""# What the platform costs

`python -m ops cost` estimates a month of every stack from its recording, without an AWS account: the **idle** floor, which is
there while nobody asks anything, and a **busy** month of a stated usage:

```sh
python -m ops cost --lines                                    # all stacks side by side, every line with its price and source
python -m ops cost --stack prod --set api_questions=300000    # one stack, another month
```

This page is made from the same data by `python -m ops.cost.page`. A month is {MONTH_HOURS} hours; prices are on demand and without
taxes. Those of the services are in `ops/cost/prices.csv`, those of instances in `ops/instance_prices.csv`, each with source and date:
`python -m ops prices services` and `python -m ops prices refresh` read them anew from AWS.

![Cost of each component, idle and busy](cost.svg)
"""


def render(columns: Sequence[Column], usage: Usage) -> str:
    """The whole page."""
    parts = [HEAD, *_totals(columns), *_lines(columns), *_unpriced(columns), *_usage(usage), *_free()]
    return "\n".join(parts) + "\n"


def _totals(columns: Sequence[Column]) -> Iterator[str]:
    yield "## USD a month, idle / busy\n"
    yield _line("", *(column.label for column in columns))
    yield _line(*["---"] * (len(columns) + 1))
    sums = [column.estimate.by_component() for column in columns]
    for name in components(columns):
        yield _line(name, *(_pair(known.get(name)) for known in sums))
    yield _line(
        f"**{sum_label(columns)}**",
        *(f"**{_pair((item.estimate.idle_usd, item.estimate.busy_usd))}**" for item in columns),
    )
    yield ""
    yield from (f"- {verdict}" for verdict in verdicts(columns))


def _lines(columns: Sequence[Column]) -> Iterator[str]:
    made = rows(columns)
    numbers = sources(made)
    yield "\n## Every line\n"
    yield "A star marks a price of another region than the stack's, whose own is not in the table.\n"
    yield _line("resource", "what", "price, USD", "source", *(column.label for column in columns))
    yield _line(*["---"] * (len(columns) + 4))
    yield from (_row(row, numbers) for row in made)
    yield "\nSources:\n"
    yield from (f"{number}. {source}, {day}" for (source, day), number in numbers.items())


def _row(row: Row, numbers: dict[tuple[str, str], int]) -> str:
    number = numbers[row.price.source, str(row.price.read_on)]
    price = price_text(row).replace("*", "\\*")
    return _line(row.resource, row.what, price, str(number), *map(_pair, row.sums))


def _unpriced(columns: Sequence[Column]) -> Iterator[str]:
    yield "\n## What has no price\n"
    yield from (f"- {line}" for line in unpriced(columns) or ["nothing"])
    yield "\nAnd what no resource of the recording shows:\n"
    yield from (f"- {line}" for line in NOT_COUNTED)


def _usage(usage: Usage) -> Iterator[str]:
    yield "\n## The busy month\n"
    yield "Each number can be set: `--set NAME=NUMBER`, or `--usage FILE` with a YAML file of names and numbers.\n"
    yield _line("name", "number", "meaning")
    yield _line("---", "---:", "---")
    yield from (
        _line(f"`{name}`", f"{getattr(usage, name):,.12g}", meaning) for name, meaning in meanings().items()
    )


def _free() -> Iterator[str]:
    yield "\n## Types that cost nothing by themselves\n"
    yield _line("type", "why")
    yield _line("---", "---")
    yield from (_line(f"`{kind}`", why) for kind, why in sorted(FREE.items()))


def _pair(sums: tuple[float, float] | None) -> str:
    return f"{sums[0]:,.2f} / {sums[1]:,.2f}" if sums else ""


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def write() -> None:
    columns, usage = all_columns(Usage()), Usage()
    PAGE.write_text(render(columns, usage), encoding="utf-8")
    CHART.write_text(svg(columns), encoding="utf-8")


if __name__ == "__main__":
    write()
