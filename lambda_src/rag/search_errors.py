"""What a refusal of the vector store means, and whether it answered in full."""

import json
import re
from collections.abc import Mapping
from typing import Any

from rag.errors import ConfigurationError, PipelineError, SearchError, UnavailableError
from rag.opensearch_http import Reply, passing_failure

# The sentences of OpenSearch's k-NN plugin, for a query and for a document.
WRONG_LENGTH = (
    re.compile(r"invalid dimension: (?P<given>\d+)\W+dimension should be: (?P<index>\d+)", re.IGNORECASE),
    re.compile(r"dimension mismatch\W+expected: (?P<index>\d+), given: (?P<given>\d+)", re.IGNORECASE),
)
IDS_REFUSED = "Document ID is not supported"


def accepted(reply: Reply, what: str, *, show_reason: bool = False) -> Reply:
    """`reply` itself, or the error it tells of. `show_reason` is for calls that send no text of a document."""
    if reply.status < 300:
        return reply
    raise refusal(reply, what, show_reason=show_reason)


def refusal(reply: Reply, what: str, *, show_reason: bool = False) -> PipelineError:
    """The error for a reply, or for a part of one, that tells of a failure."""
    passing = passing_failure(reply.status, what)
    if passing:
        return passing
    known = _known(json.dumps(reply.document.get("error", "")), what)
    if known is not None:
        return known
    reason = f" {reply.reason}" if show_reason else ""
    sentence = f"{what} was refused with {reply.status} {reply.error_type}.{reason}{_hint(reply)}"
    return SearchError(sentence, reply.status, reply.error_type)


def complete(document: Mapping[str, Any], what: str) -> None:
    """Raise `UnavailableError` when a part of the index did not answer: what it holds would seem not to exist."""
    shards = document.get("_shards")
    failed = shards.get("failed", 0) if isinstance(shards, Mapping) else 0
    if failed or document.get("timed_out"):
        raise UnavailableError(f"{what} reached only a part of the index: {failed} of its shards failed.")


def _known(error: str, what: str) -> ConfigurationError | None:
    if IDS_REFUSED in error:
        return ConfigurationError(
            f"{what} was refused: the collection takes no ids of ours, as CLASSIC ones do, "
            "but COLLECTION_GENERATION is NEXTGEN."
        )
    match = next((found for pattern in WRONG_LENGTH if (found := pattern.search(error))), None)
    if match is None:
        return None
    return ConfigurationError(
        f"{what} was refused: the embedding model makes vectors of {match['given']} numbers, but the index holds "
        f"vectors of {match['index']}. Run `python -m ops reindex`, which fills an index for this model."
    )


def _hint(reply: Reply) -> str:
    if reply.status in (401, 403):
        return " Check the data access policy of the collection."
    if reply.error_type == "index_not_found_exception":
        return " Deploy the platform, which makes the index and its alias."
    return ""
