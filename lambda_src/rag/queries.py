"""The queries that the platform sends to OpenSearch, as plain values. Pure."""

from collections.abc import Sequence
from typing import Any

from rag.passages import Filter
from rag.well_formed import well_formed

Query = dict[str, Any]

# A query may have 1,024 clauses (indices.query.bool.max_clause_count). Each word is one in both fields, and a word may
# be one character: a Chinese question is cut into its characters.
MATCHED_CHARACTERS = 500


def nearest(vector: Sequence[float], count: int, wanted: Filter) -> Query:
    """The `count` chunks nearest to `vector` among those of `wanted`.

    The condition is inside the search for neighbours: outside it would throw away neighbours that were found.
    https://docs.opensearch.org/latest/vector-search/filter-search-knn/efficient-knn-filtering/
    """
    knn: Query = {"vector": list(vector), "k": count}
    if conditions := _conditions(wanted):
        knn["filter"] = {"bool": {"filter": conditions}}
    return {"knn": {"embedding": knn}}


def matching(text: str, wanted: Filter) -> Query:
    """Chunks of `wanted` with words of `text`, in them or in a heading above; its first 500 characters count."""
    words = well_formed(text[:MATCHED_CHARACTERS])
    fields = [{"match": {field: {"query": words}}} for field in ("text", "heading")]
    return {"bool": {"should": fields, "minimum_should_match": 1, "filter": _conditions(wanted)}}


def chunks_of(
    document_key: str | None,
    *,
    revision: str | None = None,
    not_revision: str | None = None,
    numbers: range | None = None,
) -> Query:
    """Chunks of one document, or of all; of one revision, or of every other one; with one of `numbers`."""
    conditions: list[Query] = []
    if document_key is not None:
        conditions.append({"term": {"document_key": document_key}})
    if revision is not None:
        conditions.append({"term": {"revision": revision}})
    if numbers is not None:
        conditions.append({"range": {"chunk_number": {"gte": numbers.start, "lt": numbers.stop}}})
    excluded = [] if not_revision is None else [{"term": {"revision": not_revision}}]
    if not conditions and not excluded:
        return {"match_all": {}}
    return {"bool": {"filter": conditions, "must_not": excluded}}


def _conditions(wanted: Filter) -> list[Query]:
    """One condition that holds for any of the keys and prefixes; none when there are no such."""
    either: list[Query] = [{"prefix": {"document_key": {"value": prefix}}} for prefix in wanted.prefixes]
    if wanted.document_keys:
        either.append({"terms": {"document_key": list(wanted.document_keys)}})
    return [{"bool": {"should": either, "minimum_should_match": 1}}] if either else []
