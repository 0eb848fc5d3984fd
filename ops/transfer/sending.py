"""Sends files, or a stream, through one transfer manager, and leaves no unfinished upload behind."""

import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from ops.aws_calls import AwsCallError, told
from ops.parallel import in_parallel
from ops.transfer.checksums import WHOLE_OBJECT
from ops.transfer.lake_client import LakeClient, nothing_left_open
from ops.transfer.parts import PART_BYTES, part_bytes
from ops.transfer.small_objects import SmallObjects
from ops.transfer.tree import LocalFile

CONCURRENCY = 10
THRESHOLD_BYTES = 8 * 1024 * 1024
# After so many failures the rest would most likely fail too.
MOST_FAILURES = 10
CHANGED = "it changed while it was read; run this again when nobody writes to it"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the transfer manager works; the defaults are those of s3transfer."""

    threshold_bytes: int = THRESHOLD_BYTES
    part_bytes: int = PART_BYTES
    concurrency: int = CONCURRENCY


@dataclass
class Outcome:
    """What became of the files: keys done, failures as (path or key, reason) in the order they happened."""

    done: list[str] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
    bytes_done: int = 0
    dropped: int = 0


def send_files(
    client: Any, bucket: str, files: Sequence[LocalFile], settings: Settings, count: Callable[[int], None]
) -> Outcome:
    """Sends every file; `count` hears of bytes. A failed one does not stop the others, until ten have failed."""
    outcome = Outcome()
    rest = _send_small(client, bucket, files, settings, count, outcome)
    with nothing_left_open(client, bucket) as lake, manager_for(lake, settings) as manager:
        _refuse_changed(lake, rest)
        begun = Begun()
        for file in rest:
            if begun.failures >= MOST_FAILURES:
                break
            extra = {**WHOLE_OBJECT, "MpuObjectSize": file.length}
            begun.add(manager.upload(file.path, bucket, file.key, extra, [begun, Counted(count)]), file)
        for file, future in begun.futures:
            _settle(file, future, outcome)
        outcome.dropped = len(rest) - len(begun.futures)
    return outcome


def _send_small(
    client: Any,
    bucket: str,
    files: Sequence[LocalFile],
    settings: Settings,
    count: Callable[[int], None],
    outcome: Outcome,
) -> list[LocalFile]:
    """Sends what takes one request, many at once, and returns what is left for the transfer manager."""
    small = [file for file in files if file.length < settings.threshold_bytes]
    if not small:
        return list(files)
    with told(f"looking up bucket {bucket}"):
        short_way = SmallObjects(client, bucket)

    def send(file: LocalFile) -> bool:
        taken = short_way.send(file)
        count(file.length if taken else 0)
        return taken

    with closing(short_way), told("signing"):
        taken = in_parallel(send, small, settings.concurrency)
    sent = {file.key for file, was_taken in zip(small, taken, strict=True) if was_taken}
    outcome.done += sorted(sent)
    outcome.bytes_done += sum(file.length for file in small if file.key in sent)
    return [file for file in files if file.key not in sent]


def send_stream(
    client: Any,
    bucket: str,
    key: str,
    stream: BinaryIO,
    expected_bytes: int,
    settings: Settings,
    count: Callable[[int], None],
) -> Outcome:
    """Sends what `stream` gives until it ends, in parts that are large enough for `expected_bytes`."""
    size = part_bytes(expected_bytes, settings.part_bytes)
    settings = Settings(
        threshold_bytes=settings.threshold_bytes, part_bytes=size, concurrency=settings.concurrency
    )
    outcome = Outcome()
    with nothing_left_open(client, bucket) as lake, manager_for(lake, settings) as manager:
        future = manager.upload(Unseekable(stream), bucket, key, dict(WHOLE_OBJECT), [Counted(count)])
        reason = failure_of(future, f"sending {key}")
    if reason:
        outcome.failures.append(("-", reason))
    else:
        outcome.done.append(key)
    return outcome


class Unseekable:
    """A pipe may say that it can be sought, and fail at it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def read(self, amount: int = -1) -> bytes:
        return self._stream.read(amount)


class Counted:
    """Hears of bytes; a repeated request takes them back first."""

    def __init__(self, count: Callable[[int], None]) -> None:
        self._count = count

    def on_progress(self, bytes_transferred: int, **rest: Any) -> None:
        self._count(bytes_transferred)


class Begun:
    """The transfers that were begun, and how many of them have failed so far."""

    def __init__(self) -> None:
        self.futures: list[tuple[Any, Any]] = []
        self.failures = 0
        self._lock = threading.Lock()

    def add(self, future: Any, item: Any) -> None:
        self.futures.append((item, future))

    def on_done(self, future: Any, **rest: Any) -> None:
        try:
            future.result()
        except Exception:
            with self._lock:
                self.failures += 1
                if self.failures != MOST_FAILURES:
                    return
            for _, other in list(self.futures):
                other.cancel()


def failure_of(future: Any, what: str) -> str:
    """Waits for a transfer, and says why it failed, or ""."""
    from s3transfer.exceptions import CancelledError

    try:
        with told(what):
            future.result()
    except (AwsCallError, ChangedFileError) as error:
        return str(error)
    except CancelledError:
        return "cancelled, since too many others failed"
    except OSError as error:
        return f"{what} failed: {error.strerror or error}."
    except Exception as error:
        # s3transfer has exceptions of many kinds, and none may hide the other files' outcome.
        return f"{what} failed: {str(error).rstrip('.')}."
    return ""


class ChangedFileError(Exception):
    """A file is not what it was when it was found."""


def manager_for(client: Any, settings: Settings) -> Any:
    from s3transfer.manager import TransferConfig, TransferManager

    config = TransferConfig(
        multipart_threshold=settings.threshold_bytes,
        multipart_chunksize=settings.part_bytes,
        max_request_concurrency=settings.concurrency,
    )
    return TransferManager(client, config)


def _refuse_changed(lake: LakeClient, files: Sequence[LocalFile]) -> None:
    """Stops an upload in parts before it is completed when its file has changed: half of each is nobody's file."""
    by_key = {file.key: file for file in files}

    def refuse(params: dict[str, Any], **rest: Any) -> None:
        file = by_key.get(str(params.get("Key")))
        if file and file.changed():
            raise ChangedFileError(CHANGED)

    lake.meta.events.register("before-parameter-build.s3.CompleteMultipartUpload", refuse)


def _settle(file: LocalFile, future: Any, outcome: Outcome) -> None:
    reason = failure_of(future, f"sending {file.path}")
    if not reason and file.changed():
        reason = CHANGED
    if reason:
        outcome.failures.append((file.path, reason))
    else:
        outcome.done.append(file.key)
        outcome.bytes_done += file.length
