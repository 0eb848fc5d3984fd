"""What the platform asks of the vector store: search, bulk changes, one index and its alias."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rag.errors import SearchError, ThrottledError
from rag.opensearch_http import OpenSearchHttp, Reply
from rag.prompt import Passage

# A NEXTGEN collection that scaled to zero needs 10 to 30 seconds for its first reply.
# https://docs.aws.amazon.com/opensearch-service/latest/developerguide/serverless-scale-to-zero.html
SEARCH_READ_TIMEOUT_SECONDS = 35
BULK_ITEMS = 100
# OpenSearch returns at most this many hits of one search (index.max_result_window).
MAX_HITS = 10_000


@dataclass(frozen=True, kw_only=True)
class IndexedChunk:
    """One document of the index; the field names are those of its mapping."""

    document_key: str
    chunk_number: int
    text: str
    model_id: str
    embedding: list[float]


class OpenSearchClient:
    """Every call is one attempt; it raises `SearchError` when refused, else as `OpenSearchHttp.send` does."""

    def __init__(self, http: OpenSearchHttp) -> None:
        self._http = http

    def search(
        self,
        index: str,
        vector: Sequence[float],
        count: int,
        read_timeout_seconds: int = SEARCH_READ_TIMEOUT_SECONDS,
    ) -> list[Passage]:
        """The `count` passages nearest to `vector`, best first."""
        query = {
            "size": count,
            "_source": ["text", "document_key", "chunk_number"],
            "query": {"knn": {"embedding": {"vector": list(vector), "k": count}}},
        }
        reply = _accepted(
            self._http.send("POST", f"/{index}/_search", query, read_timeout_seconds), "Searching"
        )
        return [_passage(hit) for hit in reply.document.get("hits", {}).get("hits", [])]

    def document_ids(self, index: str, document_key: str) -> set[str]:
        """The ids of all searchable chunks of one document. A write shows up after the next refresh only."""
        query = {"size": MAX_HITS, "_source": False, "query": {"term": {"document_key": document_key}}}
        reply = self._http.send("POST", f"/{index}/_search", query, SEARCH_READ_TIMEOUT_SECONDS)
        return {hit["_id"] for hit in _accepted(reply, "Searching").document.get("hits", {}).get("hits", [])}

    def bulk_index(self, index: str, chunks: Sequence[IndexedChunk], ids: Sequence[str] | None) -> list[str]:
        """Write `chunks` and return their ids in the same order.

        `ids` may be given to a NEXTGEN collection only: vector collections of CLASSIC refuse ids of ours.
        """
        written: list[str] = []
        for start in range(0, len(chunks), BULK_ITEMS):
            lines: list[dict[str, Any]] = []
            for position, chunk in enumerate(chunks[start : start + BULK_ITEMS], start):
                lines += [{"index": {} if ids is None else {"_id": ids[position]}}, asdict(chunk)]
            written += [item["_id"] for item in self._bulk(index, lines, "index")]
        return written

    def bulk_delete(self, index: str, ids: Sequence[str]) -> None:
        """Delete by id. An id that is not there any more is no error."""
        for start in range(0, len(ids), BULK_ITEMS):
            self._bulk(index, [{"delete": {"_id": one}} for one in ids[start : start + BULK_ITEMS]], "delete")

    def _bulk(self, index: str, lines: Sequence[dict[str, Any]], action: str) -> list[dict[str, Any]]:
        payload = "".join(json.dumps(line) + "\n" for line in lines).encode()
        reply = self._http.send("POST", f"/{index}/_bulk", payload, SEARCH_READ_TIMEOUT_SECONDS)
        items = [item[action] for item in _accepted(reply, "A bulk request").document.get("items", [])]
        # A bulk request is answered with 200 even when every item in it failed.
        failed = [
            item for item in items if item["status"] >= 300 and (action, item["status"]) != ("delete", 404)
        ]
        if failed:
            _raise_bulk_failure(failed, len(items))
        return items

    def index_dimension(self, index: str) -> int | None:
        """The dimension of the field `embedding`: None without an index, 0 when the field is no vector."""
        reply = self._http.send("GET", f"/{index}/_mapping", None, SEARCH_READ_TIMEOUT_SECONDS)
        if reply.status == 404 and reply.error_type == "index_not_found_exception":
            return None
        mappings = _accepted(reply, f"Reading the mapping of {index}", show_reason=True).document
        properties = next(iter(mappings.values()), {}).get("mappings", {}).get("properties", {})
        return properties.get("embedding", {}).get("dimension", 0)

    def create_index(self, index: str, definition: dict[str, Any]) -> None:
        """Create `index` from its settings and mappings."""
        reply = self._http.send("PUT", f"/{index}", definition, SEARCH_READ_TIMEOUT_SECONDS)
        _accepted(reply, f"Creating the index {index}", show_reason=True)

    def alias_targets(self, alias: str) -> list[str]:
        """The indexes behind `alias`, sorted; empty when the alias does not exist."""
        reply = self._http.send("GET", f"/_alias/{alias}", None, SEARCH_READ_TIMEOUT_SECONDS)
        # A missing alias is a plain sentence; a 404 with a type can hide a permission that is not there yet.
        if reply.status == 404 and reply.error_type in ("", "aliases_not_found_exception"):
            return []
        return sorted(_accepted(reply, f"Reading the alias {alias}", show_reason=True).document)

    def add_alias(self, index: str, alias: str) -> None:
        """Let `alias` name `index` too."""
        actions = {"actions": [{"add": {"index": index, "alias": alias}}]}
        reply = self._http.send("POST", "/_aliases", actions, SEARCH_READ_TIMEOUT_SECONDS)
        _accepted(reply, f"Adding the alias {alias} to {index}", show_reason=True)


def _accepted(reply: Reply, what: str, *, show_reason: bool = False) -> Reply:
    if reply.status < 300:
        return reply
    reason = f" {reply.reason}" if show_reason else ""
    hint = " Check the data access policy of the collection." if reply.status in (401, 403) else ""
    sentence = f"{what} was refused with {reply.status} {reply.error_type}.{reason}{hint}"
    raise SearchError(sentence, reply.status, reply.error_type)


def _raise_bulk_failure(failed: Sequence[dict[str, Any]], total: int) -> None:
    # The reason is left out: it can quote the document.
    error_types = sorted({str(item.get("error", {}).get("type", item["status"])) for item in failed})
    sentence = f"{len(failed)} of {total} items of a bulk request failed: {', '.join(error_types)}."
    if all(item["status"] == 429 for item in failed):
        raise ThrottledError(sentence)
    raise SearchError(sentence, failed[0]["status"], error_types[0])


def _passage(hit: dict[str, Any]) -> Passage:
    source = hit["_source"]
    return Passage(
        text=source["text"],
        document_key=source["document_key"],
        chunk_number=source["chunk_number"],
        score=float(hit["_score"]),
    )
