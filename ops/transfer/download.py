"""`python -m ops download`: fetches what lies below a prefix of the lake, or one object, and only what is not here.

What is here already is told by checksum, not by time. A file appears whole and checked, or not at all, and a second
run goes on after a break.
"""

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ops.aws_calls import AwsCallError, aws_client
from ops.capture.stack_files import StackFileError
from ops.progress import Progress, byte_count
from ops.stack_outputs import StackOutputsError
from ops.transfer.fetching import fetch_files
from ops.transfer.options import given, parsed, settings_of, shared_parser
from ops.transfer.places import TransferError, bucket_of
from ops.transfer.present import objects_below, unchanged_keys
from ops.transfer.report import Report
from ops.transfer.sending import Settings
from ops.transfer.targets import Target, Targets, targets_in

EXAMPLE = """example:
  python -m ops download --stack prod models/fine-tuned/first/ first
  7 fetched (13 GiB) in 61.4 s, 2 unchanged: s3://ai-platform-lake/models/fine-tuned/first/

Takes s3:ListBucket and s3:GetObject."""


def main(arguments: Sequence[str], make_client: Callable[..., Any] = aws_client) -> int:
    """0 when everything is here, 1 when something failed, 2 on wrong usage, 130 when interrupted."""
    options = parsed(_parser(), list(arguments))
    try:
        bucket, region = bucket_of(options)
        settings = settings_of(options)
        client = make_client("s3", region, options.profile, max_pool_connections=2 * settings.concurrency)
        report = _fetch(client, bucket, options, settings)
    except (StackFileError, TransferError) as error:
        print(error, file=sys.stderr)
        return 2
    except (AwsCallError, OSError, StackOutputsError) as error:
        print(error, file=sys.stderr)
        return 1
    return report.tell(as_json=options.json)


def _fetch(client: Any, bucket: str, options: argparse.Namespace, settings: Settings) -> Report:
    started = time.monotonic()
    folder = Path(options.destination)
    if folder.exists() and not folder.is_dir():
        raise TransferError(f"{folder} is a file. Fix: name a folder to fetch into.")
    found = _targets(client, bucket, options.source, folder)
    to_fetch = _not_here(client, bucket, found, settings)
    report = Report(
        verb="fetched",
        where=f"s3://{bucket}/{options.source}",
        dry_run=options.dry_run,
        planned=[(target.key, target.length) for target in to_fetch],
        unchanged=len(found.files) - len(to_fetch),
    )
    if to_fetch and not options.dry_run:
        total = sum(target.length for target in to_fetch)
        _make(folder)
        _need_space(folder, total)
        with Progress("Fetched", total, shown=byte_count) as progress:
            report.outcome, unchecked = fetch_files(client, bucket, to_fetch, settings, progress.advance)
        if unchecked:
            report.notes.append(
                f"{unchecked} objects have no checksum of the whole, and only their length was checked."
            )
    report.outcome.failures = [*found.failures, *report.outcome.failures]
    report.seconds = time.monotonic() - started
    return report


def _targets(client: Any, bucket: str, source: str, folder: Path) -> Targets:
    """A prefix that ends in /, or the same without it; or the one object of that name."""
    if source.startswith(("/", "s3://")):
        raise TransferError(
            f"{source} is no place in the bucket {bucket}. Fix: name what follows the bucket, such as raw/pdfs/."
        )
    prefix = source.rstrip("/") + "/"
    objects = objects_below(client, bucket, source.rstrip("/"))
    below = {key: length for key, length in objects.items() if key.startswith(prefix)}
    if source in objects and not source.endswith("/"):
        found = targets_in(
            folder, source.rpartition("/")[0] + "/" if "/" in source else "", {source: objects[source]}
        )
    elif below:
        found = targets_in(folder, prefix, below)
    else:
        raise AwsCallError(
            f"s3://{bucket}/{source} holds nothing. Fix: look with `aws s3 ls s3://{bucket}/`."
        )
    return found


def _not_here(client: Any, bucket: str, found: Targets, settings: Settings) -> list[Target]:
    candidates = [
        target
        for target in found.files
        if target.path.is_file() and target.path.stat().st_size == target.length
    ]
    if not candidates:
        return found.files
    with Progress("Compared", len(candidates)) as progress:
        pairs = [(str(target.path), target.key) for target in candidates]
        unchanged = unchanged_keys(client, bucket, pairs, settings.concurrency, progress.advance)
    return [target for target in found.files if target.key not in unchanged]


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"{folder} cannot be made: {error.strerror}. Fix: name a folder that you may write to."
        ) from error


def _need_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise OSError(
            f"{folder} has {byte_count(free)} free, and {byte_count(needed)} are to be fetched. Fix: free space, or name another folder."
        )


def _parser() -> argparse.ArgumentParser:
    made = shared_parser("download", __doc__, EXAMPLE)
    made.add_argument(
        "source", type=given, help="a prefix of the lake, such as models/fine-tuned/first/, or one key"
    )
    made.add_argument("destination", type=given, help="the folder to fetch into; made when it is not there")
    return made
