"""`python -m ops prices`: reads the prices of a region from AWS: accelerator instances, and units of services."""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from components.accelerators import sold_in
from ops.aws_calls import AwsCallError, aws_client
from ops.command_line import add_json, add_profile, region, verb_parser
from ops.cost.prices import TABLE as SERVICES_TABLE
from ops.instance_prices import TABLE, read_table, table_text
from ops.price_table import PriceTableError
from ops.prices import services
from ops.prices.asked import PRICE_LIST_REGION, on_demand_usd, spot_usd
from ops.prices.changes import Answer, Change, changes, merged
from ops.progress import Progress
from ops.whole_file import replace_text

EXAMPLES = """examples:
  python -m ops prices refresh --region eu-central-1
  python -m ops prices refresh --region us-east-1 --check
  python -m ops prices services --region eu-central-1

`refresh` takes pricing:GetProducts and ec2:DescribeSpotPriceHistory, `services` the former. How often spot instances
are interrupted is no part of these APIs: that column keeps its own date.

A price that AWS no longer has stays in the table with its day, unless --drop; a refusal of AWS leaves the table as it was.

exit code: 0 the table is up to date or has been made so, 1 refused, failed or (with --check) out of date, 2 wrong usage
"""


def parser() -> argparse.ArgumentParser:
    top = verb_parser(
        "prices",
        "Prices of accelerator instances, which advise, train and cost read; and of services, for cost.",
        EXAMPLES,
    )
    verbs = top.add_subparsers(dest="action", required=True, metavar="refresh|services")
    refresh = _verb(verbs, "refresh", "read the prices of instances in a region from AWS into their table")
    refresh.add_argument("--drop", action="store_true", help="remove prices that AWS no longer has")
    units = _verb(
        verbs, "services", "read the prices of services in a region from AWS into the table of cost"
    )
    units.add_argument("--accept", action="store_true", help="take prices that have moved very far")
    return top


def _verb(verbs: Any, name: str, words: str) -> argparse.ArgumentParser:
    made = verbs.add_parser(name, help=words, description=words, epilog=EXAMPLES,
                            formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    made.add_argument("--region", required=True, type=region, help="region whose prices to read")
    made.add_argument("--check", action="store_true", help="change nothing; 1 when prices have changed")
    add_profile(made)
    add_json(made)
    return made


def main(arguments: Sequence[str], today: date | None = None, table: Path | None = None) -> int:
    """0 when the table is up to date or has been made so; 1 when refused, failed or out of date; 2 on wrong usage."""
    options = parser().parse_args(arguments)
    today = today or date.today()
    try:
        if options.action == "services":
            return services.refresh(options, today, table or SERVICES_TABLE)
        return refresh(options, today, table or TABLE)
    except (AwsCallError, PriceTableError) as error:
        print(error, file=sys.stderr)
        return 1


def refresh(options: argparse.Namespace, today: date, table: Path) -> int:
    """Asks AWS of every type that the region sells or the table has there. Nothing is written unless all were answered."""
    rows = read_table(table)
    names = sorted(sold_in(options.region) | {name for name, region in rows if region == options.region})
    if not names:
        raise AwsCallError(
            f"{options.region} sells no accelerator type that this platform knows. Name another --region."
        )
    answers = ask(names, options.region, options.profile)
    if all(answer == Answer() for answer in answers.values()):
        raise AwsCallError(
            f"AWS has no price of any of {len(names)} types in {options.region}, so nothing was changed. Try again later."
        )
    found = changes(rows, answers, options.region, today, drop=options.drop)
    changed = [change for change in found if change.is_new_price]
    written = bool(found) and not options.check
    if written:
        replace_text(table, table_text(merged(rows, found).values()))
        read_table.cache_clear()
    _tell(options, found, changed, written=written)
    return int(options.check and bool(changed))


def ask(names: Sequence[str], region: str, profile: str | None) -> dict[str, Answer]:
    """What AWS says of each type. AwsCallError tells of the first refusal, and then of no other type."""
    price_list = aws_client("pricing", PRICE_LIST_REGION, profile)
    spot = spot_usd(aws_client("ec2", region, profile), names)
    answers = {}
    with Progress("prices read", len(names)) as progress:
        for name in names:
            answers[name] = Answer(on_demand=on_demand_usd(price_list, region, name), spot=spot.get(name))
            progress.advance()
    return answers


def _tell(options: argparse.Namespace, found: Sequence[Change], changed: Sequence[Change], *, written: bool) -> None:  # fmt: skip
    lost = {change.new.instance_type: list(change.lost) for change in found if change.lost}
    texts = [change.text for change in changed]
    if options.json:
        document = {"region": options.region, "asked": len(found), "changed": texts, "lost": lost, "written": written}  # fmt: skip
        print(json.dumps(document, indent=2))
    else:
        print("\n".join(texts or [f"No price of {options.region} has changed."]))
        print(
            f"{len(found)} types asked, {len(changed)} with new prices{', written to ' + TABLE.name if written else ', nothing written'}."
        )
    if lost and not options.drop:
        gone = "; ".join(f"{name} ({' and '.join(kinds)})" for name, kinds in lost.items())
        print(
            f"AWS no longer has these prices; they stay in the table with their old date: {gone}. --drop removes them.",
            file=sys.stderr,
        )
