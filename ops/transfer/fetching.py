"""Fetches objects through one transfer manager: each file appears whole and checked, or not at all."""

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ops.aws_calls import AwsCallError
from ops.transfer.checksums import holds_same_bytes
from ops.transfer.present import head_of
from ops.transfer.sending import MOST_FAILURES, Begun, Counted, Outcome, Settings, failure_of, manager_for
from ops.transfer.targets import Target

TEMPORARY = ".part-"


def fetch_files(
    client: Any, bucket: str, targets: Sequence[Target], settings: Settings, count: Callable[[int], None]
) -> tuple[Outcome, int]:
    """Fetches every object, and says how many had no checksum of the whole to check against.

    What was fetched is renamed into place only when its bytes are those of the object's checksum.
    """
    outcome, unchecked = Outcome(), 0
    begun, temporary = Begun(), []
    try:
        with manager_for(client, settings) as manager:
            for target in targets:
                if begun.failures >= MOST_FAILURES:
                    break
                path = _temporary(target.path)
                temporary.append(path)
                future = manager.download(bucket, target.key, path, subscribers=[begun, Counted(count)])
                begun.add(future, (target, path))
            for (target, path), future in begun.futures:
                reason = failure_of(future, f"fetching {target.key}")
                unchecked += _settle(client, bucket, target, path, reason, outcome)
    finally:
        for path in temporary:
            Path(path).unlink(missing_ok=True)
    outcome.dropped = len(targets) - len(begun.futures)
    return outcome, unchecked


def _temporary(path: Path) -> str:
    """A new empty file beside `path`, of its own name as far as that is not too long."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{TEMPORARY}{path.name[:40]}.")
    os.close(handle)
    return name


def _settle(client: Any, bucket: str, target: Target, path: str, reason: str, outcome: Outcome) -> bool:
    """Checks what was fetched and puts it in its place; whether it could not be checked."""
    same: bool | None = True
    if not reason:
        try:
            head = head_of(client, bucket, target.key)
            same = holds_same_bytes(path, head) if head else False
        except AwsCallError as error:
            reason = str(error)
    if not reason and (same is False or os.path.getsize(path) != target.length):
        reason = (
            "what arrived is not what the lake holds: it changed meanwhile, or was damaged; run this again"
        )
    if reason:
        outcome.failures.append((target.key, reason))
        return False
    os.chmod(path, 0o666 & ~_umask())
    os.replace(path, target.path)
    outcome.done.append(target.key)
    outcome.bytes_done += target.length
    return same is None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
