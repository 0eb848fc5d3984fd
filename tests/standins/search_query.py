"""Which documents a query finds, and with what score: the queries that the platform may send, no others.

Words are scored by BM25 as OpenSearch 2 does, vectors by the formulas of its k-NN plugin; a test compares both with a
real OpenSearch.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

K1, B = 1.2, 0.75
# One character of Chinese or Japanese is a word, any other run of letters and digits is one.
WORD = re.compile(
    r"[\u3040-\u309f\u4e00-\u9fff]|[^\W\u3040-\u309f\u4e00-\u9fff]+(?:['’.][^\W\u3040-\u309f\u4e00-\u9fff]+)*"
)

Documents = Mapping[str, Mapping[str, Any]]
Scores = dict[str, float]


class QueryError(Exception):
    """A query that OpenSearch would refuse, with its name of the error."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True)
class Searchable:
    """The visible documents of an index; `fields` are the properties of its mapping."""

    documents: Documents
    fields: Mapping[str, Mapping[str, Any]]


def evaluate(query: Mapping[str, Any], index: Searchable) -> Scores:
    """The found documents' ids with their scores."""
    if len(query) != 1:
        raise QueryError("parsing_exception", f"a query has one kind, not {sorted(query)}")
    ((kind, body),) = query.items()
    if kind not in QUERIES:
        raise QueryError("parsing_exception", f"unknown query [{kind}]")
    return QUERIES[kind](body, index)


def words_of(text: str) -> list[str]:
    return WORD.findall(text.lower())


def _match_all(body: Any, index: Searchable) -> Scores:
    return dict.fromkeys(index.documents, 1.0)


def _match(body: Any, index: Searchable) -> Scores:
    name, wanted = _field_and_value(body, "query")
    if not _is_text(index, name):
        return _term({name: wanted}, index)
    texts = {key: Counter(words_of(str(text))) for key, text in _values(index, name).items()}
    texts = {key: counts for key, counts in texts.items() if counts}
    lengths = {key: counts.total() for key, counts in texts.items()}
    average = sum(lengths.values()) / len(lengths) if lengths else 0
    scores: Scores = {}
    for word in words_of(str(wanted)):
        holders = {key: counts[word] for key, counts in texts.items() if counts[word]}
        weight = _rarity(len(holders), len(texts))
        for key, count in holders.items():
            saturation = count + K1 * (1 - B + B * lengths[key] / average)
            scores[key] = scores.get(key, 0) + weight * (K1 + 1) * count / saturation
    return scores


def _term(body: Any, index: Searchable) -> Scores:
    name, wanted = _field_and_value(body, "value")
    found = {
        key for key, value in _values(index, name).items() if value == wanted or str(value) == str(wanted)
    }
    if index.fields.get(name, {}).get("type") != "keyword":
        return dict.fromkeys(found, 1.0)
    return dict.fromkeys(found, _rarity(len(found), len(_values(index, name))))


def _terms(body: Any, index: Searchable) -> Scores:
    ((name, wanted),) = ((name, value) for name, value in body.items() if name != "boost")
    return {key: 1.0 for key, value in _values(index, name).items() if value in wanted}


def _prefix(body: Any, index: Searchable) -> Scores:
    name, wanted = _field_and_value(body, "value")
    return {key: 1.0 for key, value in _values(index, name).items() if str(value).startswith(wanted)}


def _exists(body: Any, index: Searchable) -> Scores:
    return dict.fromkeys(_values(index, body["field"]), 1.0)


def _ids(body: Any, index: Searchable) -> Scores:
    return {key: 1.0 for key in body["values"] if key in index.documents}


def _range(body: Any, index: Searchable) -> Scores:
    ((name, limits),) = body.items()
    checks: dict[str, Callable[[Any, Any], bool]] = {
        "gt": lambda value, limit: value > limit,
        "gte": lambda value, limit: value >= limit,
        "lt": lambda value, limit: value < limit,
        "lte": lambda value, limit: value <= limit,
    }
    if unknown := set(limits) - set(checks):
        raise QueryError("parsing_exception", f"[range] query does not support {sorted(unknown)}")
    found = _values(index, name).items()
    return {
        key: 1.0 for key, value in found if all(checks[sign](value, limit) for sign, limit in limits.items())
    }


def _bool(body: Any, index: Searchable) -> Scores:
    if unknown := set(body) - {"must", "should", "filter", "must_not", "minimum_should_match", "boost"}:
        raise QueryError("parsing_exception", f"[bool] query does not support {sorted(unknown)}")
    parts = {kind: [evaluate(one, index) for one in _listed(body.get(kind))] for kind in
             ("must", "should", "filter", "must_not")}  # fmt: skip
    required = parts["must"] + parts["filter"]
    least = int(body.get("minimum_should_match", 1 if parts["should"] and not required else 0))
    found = [
        key
        for key in index.documents
        if all(key in scores for scores in required)
        and not any(key in scores for scores in parts["must_not"])
        and sum(key in scores for scores in parts["should"]) >= least
    ]
    if not parts["must"] and not parts["should"]:
        return dict.fromkeys(found, 0.0 if required or parts["must_not"] else 1.0)
    return {key: sum(scores.get(key, 0.0) for scores in parts["must"] + parts["should"]) for key in found}


def _knn(body: Any, index: Searchable) -> Scores:
    """The exact `k` nearest among the documents that the filter lets through."""
    ((name, wanted),) = body.items()
    definition = index.fields.get(name, {})
    if definition.get("type") != "knn_vector":
        raise QueryError(
            "query_shard_exception", f"failed to create query: Field '{name}' is not knn_vector type."
        )
    vector = wanted["vector"]
    if len(vector) != definition["dimension"]:
        reason = f"Query vector has invalid dimension: {len(vector)}. Dimension should be: {definition['dimension']}"
        raise QueryError("query_shard_exception", f"failed to create query: {reason}")
    candidates = _values(index, name)
    if "filter" in wanted:
        allowed = evaluate(wanted["filter"], index)
        candidates = {key: value for key, value in candidates.items() if key in allowed}
    if not candidates:
        return {}
    scores = _nearness(np.array(list(candidates.values())), np.array(vector), space_of(definition))
    ranked = sorted(zip(candidates, scores.tolist(), strict=True), key=lambda scored: -scored[1])
    return {key: score for key, score in ranked[: wanted.get("k")] if score >= wanted.get("min_score", 0)}


def space_of(definition: Mapping[str, Any]) -> str:
    """The space in which vectors of this field are compared."""
    return definition.get("method", {}).get("space_type") or definition.get("space_type", "l2")


def _nearness(vectors: Any, wanted: Any, space: str) -> Any:
    """https://docs.opensearch.org/latest/mappings/supported-field-types/knn-spaces/"""
    if space == "l2":
        return 1 / (1 + ((vectors - wanted) ** 2).sum(axis=1))
    product = vectors @ wanted
    if space == "innerproduct":
        return np.where(product >= 0, product + 1, 1 / (1 - np.minimum(product, 0)))
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(wanted)
    return (1 + product / lengths) / 2


def _values(index: Searchable, name: str) -> dict[str, Any]:
    """The documents that have the field, with its value."""
    found = ((key, document.get(name)) for key, document in index.documents.items())
    return {key: value for key, value in found if value is not None}


def _is_text(index: Searchable, name: str) -> bool:
    return index.fields.get(name, {}).get("type") == "text"


def _field_and_value(body: Any, key: str) -> tuple[str, Any]:
    if not isinstance(body, dict) or len(body) != 1:
        raise QueryError("parsing_exception", "the query names one field")
    ((name, value),) = body.items()
    return name, value[key] if isinstance(value, dict) else value


def _listed(clauses: Any) -> list[Any]:
    return clauses if isinstance(clauses, list) else [] if clauses is None else [clauses]


def _rarity(holders: int, total: int) -> float:
    return log(1 + (total - holders + 0.5) / (holders + 0.5))


QUERIES: dict[str, Callable[[Any, Searchable], Scores]] = {
    "match_all": _match_all, "match": _match, "term": _term, "terms": _terms, "prefix": _prefix, "range": _range,
    "exists": _exists, "ids": _ids, "bool": _bool, "knn": _knn,
}  # fmt: skip
