"""`python -m ops reindex`: builds a new vector index beside the old one from the data lake, and switches over to it.

Ingestion waits meanwhile: events stay in the queue. Searches use the old index until the new one is complete, and the
old one is kept until you delete it. A run that was broken off is resumed by the same command.
"""

import argparse
import gc
import json
import re
import sys
from collections.abc import Sequence

from ops.aws_calls import AwsCallError, aws_client
from ops.capture.stack_files import StackFileError
from ops.command_line import add_profile, verb_parser, whole_number
from ops.reindex.functions import Functions
from ops.reindex.lake import WORKERS, Lake
from ops.reindex.plan import ArchiveChoice, Choices
from ops.reindex.prices import BULK, STANDARD
from ops.reindex.procedure import Order, Platform, RefusedError, delete_index, reindex
from ops.reindex.rebuild import IncompleteError
from ops.stack_outputs import StackOutputsError, stack_outputs, stack_region

# As the function that keeps indexes takes them: lambda_src/vector_index.
INDEX_NAME = re.compile(r"[a-z][a-z0-9_-]{0,127}")
# Beyond the function's own time-out, for the way there and back.
INVOKE_MARGIN_SECONDS = 60
LONGEST_TIMEOUT_SECONDS = 900
EXAMPLES = """examples:
  python -m ops reindex --stack prod --index documents-2
  python -m ops reindex --stack prod --index documents-2 --glacier restore --restore-tier standard
  python -m ops reindex --stack prod --delete-old documents-1

exit code: 0 the index is in use (or the old one gone), 1 refused, failed or not ready yet, 2 wrong usage"""


def main(arguments: Sequence[str]) -> int:
    """0 when the alias points to the index; 1 when something is missing, refused or not ready; 2 on wrong usage."""
    # Such a run lasts, and it makes much garbage.
    gc.enable()
    options = _parser().parse_args(arguments)
    try:
        platform = _connect(options)
        if options.delete_old:
            result = delete_index(platform, options.delete_old, sure=options.yes)
        else:
            result = reindex(platform, _order(options))
    except StackFileError as error:
        print(error, file=sys.stderr)
        return 2
    except (AwsCallError, StackOutputsError, RefusedError, IncompleteError) as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(result, indent=2))
    return 0 if result["done"] else 1


def _order(options: argparse.Namespace) -> Order:
    archive = ArchiveChoice(options.glacier) if options.glacier else None
    return Order(
        index=options.index,
        choices=Choices(archive=archive, re_embed=options.re_embed),
        tier=options.restore_tier.capitalize(),
        runs=options.parallel,
        sure=options.yes,
    )


def _connect(options: argparse.Namespace) -> Platform:
    region = stack_region(options.stack)
    outputs = stack_outputs(options.stack)
    # One attempt: a call is not given up while the function still works on it. Trying again is done by hand.
    lambda_client = aws_client(
        "lambda",
        region,
        options.profile,
        read_timeout=LONGEST_TIMEOUT_SECONDS + INVOKE_MARGIN_SECONDS,
        retries={"mode": "standard", "total_max_attempts": 1},
        max_pool_connections=WORKERS,
        tcp_keepalive=True,
    )
    functions = Functions(
        lambda_client, outputs.text("ingestion_function"), outputs.text("vector_index_function")
    )
    facts = functions.facts()
    s3 = aws_client("s3", region, options.profile, max_pool_connections=WORKERS)
    stream = sys.stderr if options.json else sys.stdout
    return Platform(
        functions=functions,
        facts=facts,
        lake=Lake(s3, facts.bucket),
        lambda_client=lambda_client,
        sqs=aws_client("sqs", region, options.profile),
        say=lambda text: print(text, file=stream, flush=True),
    )


def _parser() -> argparse.ArgumentParser:
    parser = verb_parser("reindex", __doc__, EXAMPLES)
    parser.add_argument(
        "--stack", required=True, help="the stack whose index it is; Pulumi tells its functions"
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--index",
        metavar="NEW",
        type=_index_name,
        help="index to make, fill and switch to, such as documents-2; not the one in use",
    )
    what.add_argument(
        "--delete-old", metavar="NAME", type=_index_name, help="delete an index that no alias points to"
    )
    parser.add_argument(
        "--glacier",
        choices=[choice.value for choice in ArchiveChoice],
        help="archived vectors: restore them and run this again later, or make them anew from the text",
    )
    tiers = (BULK.lower(), STANDARD.lower())
    parser.add_argument(
        "--restore-tier", choices=tiers, default=tiers[0], help="how fast S3 restores (default: bulk)"
    )
    parser.add_argument(
        "--re-embed",
        action="store_true",
        help="make vectors anew that are missing or of another model or dimension",
    )
    parser.add_argument(
        "--parallel",
        metavar="N",
        type=whole_number(1, WORKERS),
        help="runs of the ingestion function at once (default and most: the stack's ingestionMaximumConcurrency)",
    )
    parser.add_argument(
        "--yes",
        action="store_true",
        help="go on without asking before anything is written, restored or deleted",
    )
    add_profile(parser)
    parser.add_argument(
        "--json", action="store_true", help="print JSON for machines; the rest goes to standard error"
    )
    return parser


def _index_name(text: str) -> str:
    if INDEX_NAME.fullmatch(text):
        return text
    raise argparse.ArgumentTypeError(f"{text!r} must be a lower-case name such as documents-2")
