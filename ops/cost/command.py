"""`python -m ops cost`: what the stacks cost in a month, idle and busy, without an AWS account."""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from ops.capture.program import PROJECT_ROOT, record
from ops.capture.stack_files import StackFileError, stacks_of
from ops.command_line import add_json, verb_parser
from ops.cost.chart import svg
from ops.cost.estimate import estimate
from ops.cost.prices import Prices, age_warning
from ops.cost.report import DESIGN_TARGETS, Column, document, text
from ops.cost.screen import screen
from ops.cost.usage import Usage, UsageError, changed, read
from ops.price_table import PriceTableError

ASLEEP = ", asleep"
EXAMPLES = """examples:
  python -m ops cost                       # on a terminal the sums of every component, all stacks side by side
  python -m ops cost --stack dev --lines   # and every line with its price and source
  python -m ops cost --stack prod --set api_questions=300000 --set fleet_hours=200
  python -m ops cost --stack dev --asleep
  python -m ops cost --usage busy-month.yaml --svg cost.svg --json

A usage file is YAML: names and numbers, such as documents: 500. The report names all of them with what they mean.

exit code: 0 estimated, 1 the configuration has faults or the prices cannot be read, 2 wrong usage
"""


def parser() -> argparse.ArgumentParser:
    made = verb_parser(
        "cost",
        "What the stacks cost in a month: idle, and with a stated usage. Every price has its source and date.",
        EXAMPLES,
    )
    made.add_argument(
        "--stack", help="one stack, as in Pulumi.<stack>.yaml (default: all of them side by side)"
    )
    made.add_argument("--asleep", action="store_true", help="that stack with asleep: true")
    made.add_argument("--usage", type=Path, metavar="FILE", help="YAML file of the busy month")
    made.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="one number of the busy month; may be repeated",
    )
    made.add_argument(
        "--lines",
        action="store_true",
        help="every line with its price and source, not only the sums (output that is no terminal always has them)",
    )
    made.add_argument("--svg", type=Path, metavar="FILE", help="also draw where the money goes")
    add_json(made)
    return made


def main(arguments: Sequence[str], today: date | None = None) -> int:
    """0 with an estimate; 1 when the configuration has faults or a price table cannot be read; 2 on wrong usage."""
    made = parser()
    options = made.parse_args(arguments)
    if options.asleep and not options.stack:
        made.error("--asleep needs --stack")
    import pulumi

    try:
        usage = changed(read(options.usage) if options.usage else Usage(), options.set)
        columns = [column(options.stack, usage, options.asleep)] if options.stack else all_columns(usage)
    except (StackFileError, UsageError) as error:
        print(error, file=sys.stderr)
        return 2
    except (pulumi.RunError, PriceTableError) as error:
        print(error, file=sys.stderr)
        return 1
    return _tell(options, columns, usage, today or date.today())


def column(stack: str, usage: Usage, asleep: bool = False) -> Column:
    """The estimate of one stack, with its own configuration or asleep."""
    recording = record(stack, changes={"asleep": True} if asleep else None)
    return Column(f"{stack}{ASLEEP if asleep else ''}", estimate(recording, usage, Prices()))


def all_columns(usage: Usage) -> list[Column]:
    """Every stack that has a file, the cheapest first, and those asleep that are designed to cost little then."""
    names = stacks_of(PROJECT_ROOT)
    columns = [column(name, usage) for name in names]
    columns += [column(name, usage, asleep=True) for name in names if f"{name}{ASLEEP}" in DESIGN_TARGETS]
    return sorted(columns, key=lambda item: (item.estimate.idle_usd, item.label))


def _shown(columns: Sequence[Column], usage: Usage, warning: str, *, lines: bool) -> Iterator[str]:
    """As wide as the terminal; what goes into a file or a pipe is whole, and the same everywhere."""
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        return screen(columns, usage, warning, width, lines=lines)
    return text(columns, usage, warning)


def _tell(options: argparse.Namespace, columns: Sequence[Column], usage: Usage, today: date) -> int:
    warning = age_warning(today, (line.read_on for item in columns for line in item.estimate.lines))
    if options.json:
        print(json.dumps(document(columns, usage, warning), indent=2))
    else:
        print("\n".join(_shown(columns, usage, warning, lines=options.lines)))
    if options.svg:
        try:
            options.svg.write_text(svg(columns), encoding="utf-8")
        except OSError as error:
            print(f"{options.svg} cannot be written: {error.strerror}.", file=sys.stderr)
            return 1
        print(f"Drawn: {options.svg}", file=sys.stderr)
    return 0
