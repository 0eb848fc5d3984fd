"""The options of `python -m ops evaluate`, each checked as it is read."""

import argparse
import re
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from ops.command_line import add_profile, verb_parser, whole_number

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MOST_PARALLEL = 64
EXAMPLES = """examples:
  python -m ops evaluate questions.jsonl --url http://127.0.0.1:8000 --name before
  python -m ops evaluate questions.jsonl --url https://rag.example.com --token-env RAG_TOKEN --stack prod --name after
  python -m ops evaluate questions.jsonl --url http://127.0.0.1:8000 --compare evaluations/benchmarks/before.json"""


def parser(description: str | None) -> argparse.ArgumentParser:
    """What can be told to `python -m ops evaluate`."""
    options = verb_parser("evaluate", description, EXAMPLES)
    options.add_argument("questions", type=Path, metavar="QUESTIONS.jsonl", help="the questions")
    options.add_argument(
        "--url", required=True, type=_url, help="where the API is, such as the stack output rag_url"
    )
    options.add_argument(
        "--token-env", metavar="NAME", help="environment variable with the API's bearer token"
    )
    options.add_argument(
        "--name",
        type=_name,
        default=f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}",
        help="name of the run, which may not be taken (default: the time)",
    )
    options.add_argument("--compare", metavar="RUN", help="an earlier run, as a file or s3://bucket/key")
    _add_places(options)
    options.add_argument(
        "--parallel",
        type=whole_number(1, MOST_PARALLEL),
        default=4,
        metavar="N",
        help="requests at once (default: 4)",
    )
    options.add_argument(
        "--top",
        type=whole_number(1, 100),
        default=10,
        metavar="K",
        help="documents of an answer that count for the rank (default: 10)",
    )
    options.add_argument(
        "--timeout-seconds",
        type=whole_number(1, 900),
        default=120,
        metavar="N",
        help="longest wait for an answer (default: 120)",
    )
    _add_prices(options)
    add_profile(options)
    options.add_argument(
        "--json", action="store_true", help="print JSON for machines; the rest goes to standard error"
    )
    return options


def _add_prices(options: argparse.ArgumentParser) -> None:
    options.add_argument(
        "--answer-model", metavar="ID", help="model that the API answers with, for its price"
    )
    options.add_argument(
        "--embedding-model", metavar="ID", help="model that the API embeds with, for its price"
    )
    for kind in ("input", "output", "embedding"):
        options.add_argument(
            f"--usd-per-million-{kind}", type=_price, metavar="USD", help=f"price of {kind} tokens"
        )


def _add_places(options: argparse.ArgumentParser) -> None:
    place = options.add_mutually_exclusive_group()
    place.add_argument(
        "--output",
        type=Path,
        default=Path("evaluations"),
        metavar="DIR",
        help="folder to keep the run in (default: ./evaluations)",
    )
    place.add_argument("--bucket", help="bucket to keep the run in, below evaluations/")
    place.add_argument("--stack", help="keep the run in the data lake of this stack")


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme in ("http", "https") and parts.hostname and not parts.query and not parts.fragment:
        return text.rstrip("/")
    raise argparse.ArgumentTypeError(f"{text!r} must look like https://host")


def _name(text: str) -> str:
    if NAME.fullmatch(text):
        return text
    raise argparse.ArgumentTypeError(f"{text!r} must be letters, digits, dots, hyphens and underscores")


def _price(text: str) -> float:
    try:
        price = float(text)
    except ValueError:
        price = -1.0
    if 0 <= price < 1_000_000:
        return price
    raise argparse.ArgumentTypeError(f"{text!r} must be USD per million tokens, such as 3 or 0.02")
