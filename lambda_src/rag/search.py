"""What the platform asks of the vector store: searches, and the chunks of documents by the bulk."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rag import queries
from rag.bulk import batches, send_batch
from rag.errors import PipelineError, SearchError, UnavailableError
from rag.hits import Hit, chunk_number, hits_of, passage, score_of
from rag.indexes import SEARCH_READ_TIMEOUT_SECONDS, IndexClient
from rag.log import log_event
from rag.opensearch_http import OpenSearchHttp, Reply
from rag.passages import Filter, Passage
from rag.ranking import reciprocal_rank_fusion
from rag.search_errors import accepted, complete
from rag.well_formed import well_formed

__all__ = ["SEARCH_READ_TIMEOUT_SECONDS", "IndexedChunk", "OpenSearchClient"]

INDEXED_ITEMS = 100
DELETED_ITEMS = 1000
# OpenSearch returns at most this many hits of one search (index.max_result_window).
MAX_HITS = 10_000
# Each half of a hybrid search looks deeper than asked: a chunk that both find beats one that a single half finds.
LEAST_CANDIDATES = 30
PASSAGE_FIELDS = ["text", "document_key", "chunk_number", "page", "heading"]


@dataclass(frozen=True, kw_only=True)
class IndexedChunk:
    """One document of the index; the field names are those of its mapping.

    `page` counts from 1 and is None where a document has no pages; `heading` is the path of headings above the text.
    """

    document_key: str
    chunk_number: int
    text: str
    revision: str
    model_id: str
    embedding: list[float]
    heading: str = ""
    page: int | None = None


class OpenSearchClient(IndexClient):
    """Every call but `bulk_index` and `bulk_delete` is one attempt.

    Raises `SearchError` when refused, `ConfigurationError` where the way out is known, else as `OpenSearchHttp.send`
    does. May be used by many threads at once.
    """

    def __init__(self, http: OpenSearchHttp, sleep: Callable[[float], None] = time.sleep) -> None:
        super().__init__(http)
        self._sleep = sleep

    def search(
        self,
        index: str,
        text: str,
        vector: Sequence[float],
        count: int,
        mode: str = "vector",
        filter: Filter = Filter(),  # noqa: B008 - frozen
        read_timeout_seconds: int = SEARCH_READ_TIMEOUT_SECONDS,
    ) -> list[Passage]:
        """At most `count` passages of the documents in `filter`, best first.

        In mode `vector` those nearest to `vector`, scored by their similarity. In mode `hybrid` also those with words
        of `text`: both searches go in one request and their rankings become one, which gives the score.
        """
        if mode == "hybrid":
            hits = self._hybrid(index, text, vector, count, filter, read_timeout_seconds)
        else:
            body = _body(queries.nearest(vector, count, filter), count)
            reply = self._http.send("POST", f"/{index}/_search", body, read_timeout_seconds)
            hits = [(hit, score_of(hit)) for hit in hits_of(reply)]
        found = [passage(hit, score) for hit, score in hits[:count]]
        return [one for one in found if one.text]

    def _hybrid(
        self, index: str, text: str, vector: Sequence[float], count: int, wanted: Filter, timeout: int
    ) -> list[tuple[Hit, float]]:
        candidates = max(count, LEAST_CANDIDATES)
        lines: list[Any] = []
        for query in (queries.nearest(vector, candidates, wanted), queries.matching(text, wanted)):
            lines += [{}, _body(query, candidates)]
        # AWS lists this call of OpenSearch Serverless with GET only.
        # https://docs.aws.amazon.com/opensearch-service/latest/developerguide/serverless-genref.html
        reply = self._http.send("GET", f"/{index}/_msearch", _json_lines(*lines), timeout)
        responses = accepted(reply, "Searching").document.get("responses", [])
        if len(responses) != 2:
            raise UnavailableError(f"Two searches in one request were answered with {len(responses)}.")
        rankings = [hits_of(Reply(response.get("status", 200), response)) for response in responses]
        by_id = {hit["_id"]: hit for ranking in rankings for hit in ranking}
        fused = reciprocal_rank_fusion([[hit["_id"] for hit in ranking] for ranking in rankings])
        return [(by_id[one], score) for one, score in fused]

    def document_ids(
        self,
        index: str,
        document_key: str,
        *,
        revision: str | None = None,
        not_revision: str | None = None,
        chunk_numbers: range | None = None,
    ) -> set[str]:
        """The ids of all searchable chunks of one document; a write shows up after the next refresh only.

        Only those of `revision`, of every other revision than `not_revision`, and with a number in `chunk_numbers`
        (of step 1). Where a search finds as many as it may return, the chunk numbers are halved until none does.
        """
        if chunk_numbers is not None and not chunk_numbers:
            return set()

        def find(numbers: range | None) -> set[str]:
            query = queries.chunks_of(
                document_key, revision=revision, not_revision=not_revision, numbers=numbers
            )
            hits = self._search(index, {"size": MAX_HITS, "_source": False, "query": query})
            if len(hits) < MAX_HITS:
                return {hit["_id"] for hit in hits}
            numbers = range(self._highest_number(index, query) + 1) if numbers is None else numbers
            if len(numbers) < 2:
                raise SearchError(f"{MAX_HITS} chunks of a document have the same number.", 200, "")
            middle = (numbers.start + numbers.stop) // 2
            return find(range(numbers.start, middle)) | find(range(middle, numbers.stop))

        return find(chunk_numbers)

    def count(self, index: str, document_key: str | None = None, revision: str | None = None) -> int:
        """How many chunks can be searched: all, or those of one document, or of one revision."""
        body = {"query": queries.chunks_of(document_key, revision=revision)}
        reply = accepted(self._send("POST", f"/{index}/_count", body), f"Counting {index}")
        complete(reply.document, f"Counting {index}")
        return int(reply.document.get("count", 0))

    def bulk_index(self, index: str, chunks: Sequence[IndexedChunk], ids: Sequence[str] | None) -> list[str]:
        """Write `chunks` and return their ids in the same order.

        `ids` may be given to a NEXTGEN collection only: vector collections of CLASSIC refuse ids of ours. Without ids
        a failure takes back what was written before it, as far as the collection lets us, so that a repetition writes
        nothing twice; what a request that was never answered has written stays.
        """
        written: list[str] = []
        entries = (
            _json_lines({"index": {} if ids is None else {"_id": ids[position]}}, _source(chunk))
            for position, chunk in enumerate(chunks)
        )
        try:
            self._bulk(index, entries, "index", INDEXED_ITEMS, written)
        except PipelineError:
            if ids is None:
                self._take_back(index, written)
            raise
        return written

    def bulk_delete(self, index: str, ids: Sequence[str]) -> None:
        """Delete by id. An id that is not there any more is no error."""
        self._bulk(index, (_json_lines({"delete": {"_id": one}}) for one in ids), "delete", DELETED_ITEMS, [])

    def _bulk(self, index: str, entries: Iterator[bytes], action: str, items: int, done: list[str]) -> None:
        for batch in batches(entries, items):
            send_batch(
                lambda payload: self._send("POST", f"/{index}/_bulk", payload),
                batch,
                action,
                done,
                self._sleep,
            )

    def _take_back(self, index: str, ids: Sequence[str]) -> None:
        try:
            self.bulk_delete(index, ids)
        except PipelineError as error:
            log_event("chunks_left_behind", level="WARNING", index=index, chunks=len(ids), detail=str(error))

    def _highest_number(self, index: str, query: queries.Query) -> int:
        order = [{"chunk_number": {"order": "desc", "unmapped_type": "integer"}}]
        hits = self._search(index, {"size": 1, "_source": ["chunk_number"], "query": query, "sort": order})
        return max((chunk_number(hit) for hit in hits), default=0)

    def _search(self, index: str, body: dict[str, Any]) -> list[Hit]:
        return hits_of(self._send("POST", f"/{index}/_search", body))


def _body(query: queries.Query, count: int) -> dict[str, Any]:
    return {"size": count, "_source": PASSAGE_FIELDS, "query": query}


def _json_lines(*values: Any) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def _source(chunk: IndexedChunk) -> dict[str, Any]:
    return {**vars(chunk), "text": well_formed(chunk.text), "heading": well_formed(chunk.heading)}
