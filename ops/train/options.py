"""The options of `python -m ops train`."""

import argparse
import re

from ops.command_line import add_json, add_profile, verb_parser
from ops.train.request import CHECKPOINT_VARIABLE, is_name
from ops.train.start import PERMISSIONS

MOST_LISTED = 1000
# With the time that is added a run's name has at most 76, and its checkpoints have that name unless told otherwise.
LONGEST_NAME = 60
LONGEST_CHECKPOINT = 80
EXAMPLES = """examples:
  python -m ops train run --stack dev --image IMAGE --command "python train.py" --name first --follow
  python -m ops train list --stack dev
  python -m ops train status --stack dev RUN
  python -m ops train logs --stack dev RUN --follow
  python -m ops train stop --stack dev RUN"""


def parser() -> argparse.ArgumentParser:
    """One parser for each of run, status, logs, stop and list."""
    top = verb_parser("train", "Start training runs, and show, follow and stop them.", EXAMPLES)
    verbs = top.add_subparsers(dest="action", required=True, metavar="run|status|logs|stop|list")
    _add_run(verbs.add_parser("run", help="start a run", epilog=f"Takes {PERMISSIONS}."))
    status = verbs.add_parser("status", help="how a run is: attempts, hours lost, price of a useful hour")
    follow = "until the run is over"
    _add_common(status, with_run=True, follow=follow)
    add_prices(status)
    logs = verbs.add_parser("logs", help="what the newest attempt of a run has written")
    _add_common(logs, with_run=True, follow=follow)
    logs.add_argument(
        "--attempt", type=_at_least_one, metavar="N", help="another attempt, as status counts them"
    )
    _add_common(verbs.add_parser("stop", help="end a run and its job, which may save"), with_run=True)
    listing = verbs.add_parser("list", help="the newest runs")
    _add_common(listing)
    listing.add_argument("--most", type=_most, default=20, metavar="N", help="how many (default: 20)")
    return top


def _add_run(run: argparse.ArgumentParser) -> None:
    _add_common(run, follow="and show the run until it is over")
    run.add_argument(
        "--command", default="", help="what the container runs, in one text (default: the image's own)"
    )
    run.add_argument("--image", default="", help="container image (default: trainingImage)")
    for option, what in (("--gpus", "GPUs"), ("--vcpus", "vCPUs"), ("--memory", "memory in MiB")):
        run.add_argument(option, type=_at_least_one, metavar="N", help=f"{what} (default: the stack's)")
    run.add_argument("--env", type=_variable, action="append", default=[], metavar="KEY=VALUE",
                     help="variable for the container, which anybody who sees the job can read; may be repeated")  # fmt: skip
    run.add_argument(
        "--name", type=_name, default="train", help="first part of the run's name (default: train)"
    )
    run.add_argument("--checkpoint", type=_checkpoint, metavar="NAME",
                     help="folder of the checkpoints, the same again to go on with them (default: the run's name)")  # fmt: skip
    run.add_argument(
        "--nodes", type=_at_least_one, default=1, metavar="N", help="so many nodes with torchrun, on-demand"
    )
    run.add_argument(
        "--on-demand", action="store_true", help="not on spot, for work that cannot go on where it stopped"
    )
    add_prices(run)


def _add_common(verb: argparse.ArgumentParser, *, with_run: bool = False, follow: str = "") -> None:
    if with_run:
        verb.add_argument("run", help="the run's name")
    verb.add_argument("--stack", required=True, help="the stack whose training it is")
    add_profile(verb)
    add_json(verb)
    if follow:
        verb.add_argument("--follow", action="store_true", help=f"go on {follow}")


def add_prices(verb: argparse.ArgumentParser) -> None:
    """The options `--spot-price` and `--on-demand-price`."""
    for kind in ("spot", "on-demand"):
        verb.add_argument(
            f"--{kind}-price",
            type=_price,
            metavar="USD",
            help=f"of an hour of one node on {kind} (default: the dated table's, where all nodes are of one type)",
        )


def _name(text: str) -> str:
    return _named(text, LONGEST_NAME)


def _checkpoint(text: str) -> str:
    return _named(text, LONGEST_CHECKPOINT)


def _named(text: str, longest: int) -> str:
    if is_name(text, longest):
        return text
    raise argparse.ArgumentTypeError(
        f"{text!r} must be 1 to {longest} of A-Z, a-z, 0-9, - and _, and begin with a letter or digit"
    )


def _variable(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if key == CHECKPOINT_VARIABLE:
        raise argparse.ArgumentTypeError(f"{key} is set by --checkpoint, whose folder all attempts share")
    if equals and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key) and not key.startswith("AWS_BATCH"):
        return key, value
    raise argparse.ArgumentTypeError(
        f"{text!r} must be KEY=VALUE, with a KEY of letters, digits and _ that does not begin with AWS_BATCH"
    )


def _at_least_one(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) >= 1:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from 1")


def _most(text: str) -> int:
    if _at_least_one(text) <= MOST_LISTED:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} must be at most {MOST_LISTED}")


def _price(text: str) -> float:
    if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text, re.ASCII):
        return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} must be a price in USD such as 0.48")
