"""Fetches objects through one transfer manager: each file appears whole and checked, or not at all."""

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ops.aws_calls import AwsCallError
from ops.stops import stopped_as_by_ctrl_c
from ops.transfer.checksums import holds_same_bytes
from ops.transfer.present import head_of
from ops.transfer.sending import MOST_FAILURES, Begun, Counted, Outcome, Settings, failure_of, manager_for
from ops.transfer.targets import Target

TEMPORARY = ".part-"
DAMAGED = "what arrived is not what the lake holds: it changed meanwhile, or was damaged; run this again"


def _umask() -> int:
    """What the process takes from the modes of new files; it can be read only by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


UMASK = _umask()


def fetch_files(
    client: Any, bucket: str, targets: Sequence[Target], settings: Settings, count: Callable[[int], None]
) -> tuple[Outcome, int]:
    """Fetches every object, and says how many had no checksum of the whole to check against.

    What was fetched is renamed into place only when its bytes are those of the object's checksum.
    """
    outcome, unchecked = Outcome(), 0
    begun, temporary = Begun(), []
    settled: list[tuple[Target, Future[tuple[str, bool]]]] = []
    try:
        # Checking and renaming go on beside the fetching, so that a break costs only what is under way.
        with (
            stopped_as_by_ctrl_c(),
            ThreadPoolExecutor(settings.concurrency) as pool,
            manager_for(client, settings) as manager,
        ):
            for target in targets:
                if begun.failures >= MOST_FAILURES:
                    break
                path = _temporary(target.path)
                temporary.append(path)
                future = manager.download(bucket, target.key, path, subscribers=[begun, Counted(count)])
                begun.add(future, target)
                settled.append((target, pool.submit(_settle, client, bucket, target, path, future)))
            for target, settling in settled:
                reason, was_unchecked = settling.result()
                unchecked += was_unchecked
                _note(target, reason, outcome)
    finally:
        for path in temporary:
            Path(path).unlink(missing_ok=True)
    outcome.dropped = len(targets) - len(settled)
    return outcome, unchecked


def _temporary(path: Path) -> str:
    """A new empty file beside `path`, of its own name as far as that is not too long."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{TEMPORARY}{path.name[:40]}.")
    os.close(handle)
    return name


def _settle(client: Any, bucket: str, target: Target, path: str, future: Any) -> tuple[str, bool]:
    """Waits for a file, checks it and puts it in its place: why not, or "", and whether it could not be checked."""
    reason = failure_of(future, f"fetching {target.key}")
    if reason:
        return reason, False
    try:
        head = head_of(client, bucket, target.key)
        same = holds_same_bytes(path, head) if head else False
        if same is False or os.path.getsize(path) != target.length:
            return DAMAGED, False
        os.chmod(path, 0o666 & ~UMASK)
        os.replace(path, target.path)
    except AwsCallError as error:
        return str(error), False
    except OSError as error:
        return f"it cannot be put in its place: {error.strerror}", False
    return "", same is None


def _note(target: Target, reason: str, outcome: Outcome) -> None:
    if reason:
        outcome.failures.append((target.key, reason))
    else:
        outcome.done.append(target.key)
        outcome.bytes_done += target.length
