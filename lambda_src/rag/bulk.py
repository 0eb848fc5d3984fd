"""Bulk requests: cut to a size that is taken, and repeated for the items that a busy collection put off."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rag.deadline import back_off_seconds
from rag.errors import ConfigurationError, PipelineError, SearchError, ThrottledError, UnavailableError
from rag.opensearch_http import Reply
from rag.search_errors import accepted, refusal

# OpenSearch Serverless takes requests of up to 10 MiB; a part of that is left for what AWS adds on the way.
# https://docs.aws.amazon.com/solutions/latest/migration-assistant-for-amazon-opensearch-service/mts-limits.html
REQUEST_BYTES = 8 * 1024 * 1024
ATTEMPTS = 4


def batches(
    entries: Iterable[bytes], most_items: int, most_bytes: int = REQUEST_BYTES
) -> Iterator[list[bytes]]:
    """`entries` in their order, in lists of at most so many items and bytes; a larger entry is a list of its own."""
    batch: list[bytes] = []
    size = 0
    for entry in entries:
        if batch and (len(batch) == most_items or size + len(entry) > most_bytes):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += len(entry)
    if batch:
        yield batch


def send_batch(
    post: Callable[[bytes], Reply],
    entries: Sequence[bytes],
    action: str,
    done: list[str],
    sleep: Callable[[float], None],
) -> None:
    """Send `entries` and add their ids to `done`, in order; after a failure only those that were taken are added.

    `action` is `index` or `delete`. An item answered with 429 or 5xx is sent again by itself, up to three times, with
    growing pauses of 7 seconds at most together. Raises `ThrottledError` or `UnavailableError` when that did not
    help, and for an item that is refused `SearchError` or `ConfigurationError`.
    """
    waiting = dict(enumerate(entries))
    ids: dict[int, str] = {}
    failure: PipelineError | None = None
    try:
        for attempt in range(ATTEMPTS):
            if attempt:
                sleep(back_off_seconds(attempt - 1) * random.uniform(0.5, 1))
            failure = _attempt(post, waiting, action, ids)
            if not isinstance(failure, ThrottledError | UnavailableError):
                break
    finally:
        done += [ids[position] for position in sorted(ids)]
    if failure is not None:
        raise failure


def _attempt(
    post: Callable[[bytes], Reply], waiting: dict[int, bytes], action: str, ids: dict[int, str]
) -> PipelineError | None:
    """Send what is `waiting`; what is taken moves from there into `ids`. Returns why the rest was not."""
    items = _post(post, list(waiting.values()), action)
    failed = [item for item in items if not _is_taken(item, action)]
    for position, item in zip(list(waiting), items, strict=True):
        if _is_taken(item, action):
            ids[position] = str(item.get("_id", ""))
            del waiting[position]
    return _failure(failed, len(items))


def _post(post: Callable[[bytes], Reply], entries: Sequence[bytes], action: str) -> list[dict[str, Any]]:
    reply = accepted(post(b"".join(entries)), "A bulk request")
    items = [item.get(action, {}) for item in reply.document.get("items", [])]
    if len(items) != len(entries):
        raise UnavailableError(f"A bulk request of {len(entries)} items was answered for {len(items)}.")
    return items


def _is_taken(item: dict[str, Any], action: str) -> bool:
    """A bulk request is answered with 200 even when items failed. To delete what is not there is no failure."""
    status = item.get("status", 500)
    return status < 300 or (action == "delete" and status == 404)


def _failure(failed: Sequence[dict[str, Any]], total: int) -> PipelineError | None:
    """The error for the items that were not taken; one that cannot be helped by another attempt goes first."""
    if not failed:
        return None
    errors = [refusal(Reply(item.get("status", 500), item), "An item of a bulk request") for item in failed]
    known = next((error for error in errors if isinstance(error, ConfigurationError)), None)
    if known is not None:
        return known
    # The reason is left out: it can quote the document.
    types = sorted({Reply(0, item).error_type or str(item.get("status", 500)) for item in failed})
    sentence = f"{len(failed)} of {total} items of a bulk request failed: {', '.join(types)}."
    refused = next((error for error in errors if isinstance(error, SearchError)), None)
    if refused is not None:
        return SearchError(sentence, refused.http_status, refused.error_type)
    is_busy = any(isinstance(error, ThrottledError) for error in errors)
    return ThrottledError(sentence) if is_busy else UnavailableError(sentence)
