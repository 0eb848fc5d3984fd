"""The options that `ops upload` and `ops download` share."""

import argparse
import re

from ops.command_line import add_json, add_profile, verb_parser, whole_number
from ops.transfer.parts import GIB, KIB, LARGEST_PART_BYTES, MIB, SMALLEST_PART_BYTES
from ops.transfer.sending import CONCURRENCY, Settings

UNITS = {"": 1, "K": KIB, "M": MIB, "G": GIB, "T": 1024 * GIB}


def shared_parser(verb: str, description: str | None, example: str) -> argparse.ArgumentParser:
    """The parser with the shared options; the caller adds what is from where to where."""
    made = verb_parser(verb, description, example)
    made.add_argument("--stack", help="the stack whose lake it is; Pulumi tells its bucket")
    made.add_argument("--bucket", help="the bucket, instead of asking Pulumi")
    made.add_argument(
        "--threshold", type=size, default=8 * MIB, metavar="SIZE", help="in parts from here on (default 8M)"
    )
    made.add_argument(
        "--part-size",
        type=part_size,
        default=8 * MIB,
        metavar="SIZE",
        help="bytes of a part (default 8M); grows for objects above 10,000 parts",
    )
    made.add_argument(
        "--concurrency",
        type=whole_number(1, 1000),
        default=CONCURRENCY,
        metavar="N",
        help="requests at once (default 10)",
    )
    made.add_argument("--dry-run", action="store_true", help="tell what would be done, and do nothing")
    add_profile(made)
    add_json(made)
    return made


def parsed(made: argparse.ArgumentParser, arguments: list[str]) -> argparse.Namespace:
    """The options; ends with 2 when neither a stack nor a bucket is named."""
    options = made.parse_args(arguments)
    if not options.stack and not options.bucket:
        made.error("give --stack, or --bucket")
    return options


def settings_of(options: argparse.Namespace) -> Settings:
    return Settings(
        threshold_bytes=options.threshold, part_bytes=options.part_size, concurrency=options.concurrency
    )


def given(text: str) -> str:
    """Not the empty text of a variable that is not set, which as a path means the folder one stands in."""
    if text:
        return text
    raise argparse.ArgumentTypeError("it is empty")


def size(text: str) -> int:
    """A length such as `500`, `64M` or `1.5GiB`, in bytes."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    value = int(float(found[1]) * UNITS[found[2].upper()]) if found else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a length in bytes above 0, such as 64M")
    return value


def part_size(text: str) -> int:
    value = size(text)
    if SMALLEST_PART_BYTES <= value <= LARGEST_PART_BYTES:
        return value
    raise argparse.ArgumentTypeError(f"{text!r} must be 5M to 5G, the parts that S3 takes")
