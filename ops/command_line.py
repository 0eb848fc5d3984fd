"""What the command lines of the verbs share: how --help looks, options of one meaning, and values checked as they are read."""

import argparse
from collections.abc import Callable

from components.config_values import REGION


def verb_parser(verb: str, description: str | None, epilog: str) -> argparse.ArgumentParser:
    """The parser of `python -m ops VERB`; description and epilog are shown line by line as they are written."""
    return argparse.ArgumentParser(
        prog=f"python -m ops {verb}",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_profile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", help="profile of the AWS configuration to use")


def add_json(parser: argparse.ArgumentParser) -> None:
    """One JSON document on standard output, and nothing else there."""
    parser.add_argument("--json", action="store_true", help="print JSON for machines")


def region(text: str) -> str:
    """A value of `--region`. Raises argparse.ArgumentTypeError."""
    if REGION.accepts(text):
        return text
    raise argparse.ArgumentTypeError(f"{text!r} {REGION.text}")


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """The type of an option that takes the numbers from `least` to `most`, both included."""

    def convert(text: str) -> int:
        if text.isascii() and text.isdigit() and least <= int(text) <= most:
            return int(text)
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from {least} to {most}")

    return convert
