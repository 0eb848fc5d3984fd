"""The options of `python -m ops spot`."""

import argparse
import re

from ops.command_line import add_json, add_profile, region, verb_parser, whole_number

DESCRIPTION = """What spot capacity costs in each zone, how likely it is to be had, and how often to save on it.

Nothing is bought and nothing is changed."""
LONGEST_DAYS = 90
MOST_INSTANCES = 10_000
SAVE_SECONDS = 60.0
EXAMPLE = """example:
  python -m ops spot --types g5.2xlarge,g6.2xlarge,g6e.2xlarge --region eu-central-1 --save-seconds 45
  Zones, the best first:
     1  eu-central-1b       score 7 of 10, sells 3 of 3 types, saves up to 61%

Takes ec2:DescribeSpotPriceHistory and ec2:GetSpotPlacementScores; where zones have to be looked up, ec2:DescribeSubnets
and ec2:DescribeAvailabilityZones.

exit code: 0 the market is shown, 1 nothing is sold or something could not be read, 2 wrong usage"""


def parser() -> argparse.ArgumentParser:
    """Of the market of a stack or of named types."""
    top = verb_parser("spot", DESCRIPTION, EXAMPLE)
    top.add_argument("--stack", help="the stack whose nodes on spot it is about, as in Pulumi.<stack>.yaml")
    top.add_argument("--types", type=_types, metavar="TYPE,...", help="instance types, instead of --stack")
    top.add_argument("--region", type=region, help="the region to ask, with --types")
    top.add_argument(
        "--days",
        type=whole_number(1, LONGEST_DAYS),
        default=7,
        metavar="N",
        help=f"so much history, 1 to {LONGEST_DAYS} days (default: 7)",
    )
    top.add_argument(
        "--capacity",
        type=whole_number(1, MOST_INSTANCES),
        default=1,
        metavar="N",
        help="score the zones for so many instances (default: 1)",
    )
    top.add_argument(
        "--save-seconds",
        type=_above_zero,
        default=SAVE_SECONDS,
        metavar="S",
        help=f"how long writing a checkpoint takes (default: {SAVE_SECONDS:g})",
    )
    top.add_argument(
        "--interruptions-per-day", type=_above_zero, metavar="N",
        help="how often a node of yours is taken back (default: by AWS's Spot Advisor, or an assumption)",
    )  # fmt: skip
    add_profile(top)
    add_json(top)
    return top


def _types(text: str) -> list[str]:
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    wrong = [name for name in names if not re.fullmatch(r"[a-z][a-z0-9-]*\.[a-z0-9-]+", name)]
    if names and not wrong:
        return names
    raise argparse.ArgumentTypeError(
        f"{', '.join(wrong) or text!r} must be instance types such as g5.2xlarge"
    )


def _above_zero(text: str) -> float:
    if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text, re.ASCII) and float(text) > 0:
        return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} must be a number above 0 such as 45 or 0.5")
