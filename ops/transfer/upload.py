"""`python -m ops upload`: puts a folder, a file or standard input into the lake, and sends only what is not there.

What is there already is told by checksum, not by time, so a second run goes on after a break. An upload that fails or
is interrupted leaves no parts behind; a file that was under way is sent from its beginning the next time.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ops.aws_calls import AwsCallError, aws_client
from ops.capture.stack_files import StackFileError
from ops.progress import Progress, byte_count
from ops.stack_outputs import StackOutputsError
from ops.transfer.options import given, parsed, settings_of, shared_parser, size
from ops.transfer.parts import PartError
from ops.transfer.places import TransferError, bucket_of, checked_destination, key_fault
from ops.transfer.present import objects_below, unchanged_keys
from ops.transfer.report import Report
from ops.transfer.sending import Outcome, Settings, send_files, send_stream
from ops.transfer.tree import LocalFile, Tree, read_tree

STREAM = "-"
# S3 checks the CRC-32 of what arrives, and TLS keeps it from being changed: no SHA-256 of every byte beside.
UNSIGNED = {"payload_signing_enabled": False}
EXAMPLE = """examples:
  python -m ops upload --stack prod handbooks raw/pdfs/handbooks/
  12 sent (48 MiB) in 3.1 s, 230 unchanged: s3://ai-platform-lake/raw/pdfs/handbooks/

  pg_dump shop | python -m ops upload --stack prod --expected-size 200G - raw/databases/shop.sql

Takes s3:ListBucket, s3:GetObject, s3:PutObject and s3:AbortMultipartUpload."""


def main(arguments: Sequence[str], make_client: Callable[..., Any] = aws_client) -> int:
    """0 when everything is in the lake, 1 when something failed, 2 on wrong usage, 130 when interrupted."""
    parser = _parser()
    options = parsed(parser, list(arguments))
    if options.expected_size and options.source != STREAM:
        parser.error("--expected-size is for standard input (-); files tell their size")
    try:
        destination = checked_destination(options.destination)
        bucket, region = bucket_of(options)
        settings = settings_of(options)
        client = make_client(
            "s3", region, options.profile, s3=UNSIGNED, max_pool_connections=settings.concurrency
        )
        if options.source == STREAM:
            report = _send_stream(client, bucket, destination, options, settings)
        else:
            report = _send_tree(client, bucket, destination, options, settings)
    except (StackFileError, TransferError) as error:
        print(error, file=sys.stderr)
        return 2
    except (AwsCallError, OSError, PartError, StackOutputsError) as error:
        print(error, file=sys.stderr)
        return 1
    return report.tell(as_json=options.json)


def _send_tree(
    client: Any, bucket: str, destination: str, options: argparse.Namespace, settings: Settings
) -> Report:
    started = time.monotonic()
    tree = read_tree(Path(options.source), destination)
    to_send = _not_there(client, bucket, destination, tree, settings)
    report = Report(
        verb="sent",
        where=f"s3://{bucket}/{destination}",
        dry_run=options.dry_run,
        planned=[(file.key, file.length) for file in to_send],
        unchanged=len(tree.files) - len(to_send),
        notes=_notes(tree),
    )
    if to_send and not options.dry_run:
        total = sum(file.length for file in to_send)
        with Progress("Sent", total, shown=byte_count) as progress:
            report.outcome = send_files(client, bucket, to_send, settings, progress.advance)
    report.outcome.failures = [*tree.failures, *report.outcome.failures]
    report.seconds = time.monotonic() - started
    return report


def _send_stream(
    client: Any, bucket: str, key: str, options: argparse.Namespace, settings: Settings
) -> Report:
    if key_fault(key):
        raise TransferError(
            f"{key} names no object for standard input. Fix: give it a name, without / behind."
        )
    started = time.monotonic()
    report = Report(
        "sent", f"s3://{bucket}/{key}", options.dry_run, planned=[(key, options.expected_size or 0)]
    )
    if not options.dry_run:
        with Progress("Sent", None, shown=byte_count) as progress:
            report.outcome = _sent(client, bucket, key, sys.stdin.buffer, options, settings, progress)
    report.seconds = time.monotonic() - started
    return report


def _sent(
    client: Any,
    bucket: str,
    key: str,
    stream: BinaryIO,
    options: argparse.Namespace,
    settings: Settings,
    progress: Progress,
) -> Outcome:
    counted = [0]

    def count(more: int) -> None:
        counted[0] += more
        progress.advance(more)

    outcome = send_stream(client, bucket, key, stream, options.expected_size or 0, settings, count)
    outcome.bytes_done = counted[0] if outcome.done else 0
    return outcome


def _not_there(client: Any, bucket: str, destination: str, tree: Tree, settings: Settings) -> list[LocalFile]:
    """The files that the lake lacks or has otherwise. Only an object of the same length can be the same."""
    there = objects_below(client, bucket, destination)
    candidates = [file for file in tree.files if there.get(file.key) == file.length]
    if not candidates:
        return tree.files
    with Progress("Compared", len(candidates)) as progress:
        pairs = [(file.path, file.key) for file in candidates]
        unchanged = unchanged_keys(client, bucket, pairs, settings.concurrency, progress.advance)
    return [file for file in tree.files if file.key not in unchanged]


def _notes(tree: Tree) -> list[str]:
    if not tree.empty_folders:
        return []
    return [f"{tree.empty_folders} empty folders are left out, since the lake has objects only."]


def _parser() -> argparse.ArgumentParser:
    made = shared_parser("upload", __doc__, EXAMPLE)
    made.add_argument(
        "source",
        type=given,
        help="a folder, whose files go below DESTINATION; a file; or - for standard input",
    )
    made.add_argument(
        "destination", help="a place in the lake, such as raw/pdfs/ or models/fine-tuned/first/"
    )
    made.add_argument(
        "--expected-size", type=size, metavar="SIZE", help="of standard input, when it may be above 78 GiB"
    )
    return made
