"""One index in memory: its mapping, its documents, and the part of them that searches see."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.standins.search_query import QueryError, Searchable, evaluate

# OpenSearch returns at most this many hits of one search (index.max_result_window).
MAX_HITS = 10_000
DEFAULT_HITS = 10
KNOWN_KEYS = {"size", "from", "query", "_source", "min_score", "sort", "track_total_hits"}


@dataclass
class Index:
    """`definition` has `settings` and `mappings` as they were given."""

    name: str
    definition: dict[str, Any]
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    visible: dict[str, dict[str, Any]] = field(default_factory=dict)
    aliases: set[str] = field(default_factory=set)

    @property
    def fields(self) -> dict[str, dict[str, Any]]:
        return self.definition.get("mappings", {}).get("properties", {})

    def refresh(self) -> None:
        self.visible = dict(self.documents)

    def write(self, key: str | None, source: dict[str, Any], *, create: bool = False) -> dict[str, Any]:
        """The item of a bulk reply."""
        fault = self._vector_fault(source)
        if fault:
            return self.item(key, 400, error=("mapper_parsing_exception", fault))
        # The form of the ids that a collection gives; they must be quoted in a path.
        key = key or f"1%3A0%3A{secrets.token_urlsafe(15)}"
        existed = key in self.documents
        if existed and create:
            return self.item(
                key, 409, error=("version_conflict_engine_exception", f"[{key}]: document already exists")
            )
        self.documents[key] = source
        return self.item(key, 200 if existed else 201, result="updated" if existed else "created")

    def delete(self, key: str) -> dict[str, Any]:
        existed = self.documents.pop(key, None) is not None
        return self.item(key, 200 if existed else 404, result="deleted" if existed else "not_found")

    def item(
        self, key: str | None, status: int, *, result: str = "", error: tuple[str, str] | None = None
    ) -> dict[str, Any]:
        item: dict[str, Any] = {"_index": self.name, "_id": key, "status": status}
        if error:
            return {**item, "error": {"type": error[0], "reason": error[1]}}
        return {
            **item,
            "result": result,
            "_version": 1,
            "_shards": {"total": 2, "successful": 1, "failed": 0},
        }

    def search(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The reply to a search. Hits of the same score come in the order of their first writing, as in Lucene."""
        size, start = body.get("size", DEFAULT_HITS), body.get("from", 0)
        if size + start > MAX_HITS:
            raise QueryError(
                "illegal_argument_exception",
                f"Result window is too large, from + size must be less than or equal to: [{MAX_HITS}]",
            )
        if unknown := set(body) - KNOWN_KEYS:
            raise QueryError("parsing_exception", f"Unknown key in a search: {sorted(unknown)}")
        scores = evaluate(body.get("query", {"match_all": {}}), Searchable(self.visible, self.fields))
        found = [(key, score) for key, score in scores.items() if score >= body.get("min_score", 0)]
        hits = _sorted(found, body, self.visible)[start : start + size]
        return {
            "took": 1,
            "timed_out": False,
            "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
            "hits": {
                "total": {"value": len(found), "relation": "eq"},
                "max_score": max((score for _, score in found), default=None),
                "hits": [self._hit(key, score, body) for key, score in hits],
            },
        }

    def count(self, body: Mapping[str, Any]) -> int:
        return len(evaluate(body.get("query", {"match_all": {}}), Searchable(self.visible, self.fields)))

    def _hit(self, key: str, score: float, body: Mapping[str, Any]) -> dict[str, Any]:
        hit: dict[str, Any] = {"_index": self.name, "_id": key, "_score": None if "sort" in body else score}
        if body.get("_source") is not False:
            hit["_source"] = _selected(self.visible[key], body.get("_source"))
        if "sort" in body:
            hit["sort"] = [_sort_value(key, self.visible, name) for name, _ in _order_of(body["sort"])]
        return hit

    def _vector_fault(self, source: dict[str, Any]) -> str | None:
        for name, definition in self.fields.items():
            vector = source.get(name)
            if (
                definition.get("type") == "knn_vector"
                and vector is not None
                and len(vector) != definition["dimension"]
            ):
                return f"failed to parse field [{name}] of type [knn_vector]. Vector dimension mismatch. Expected: {definition['dimension']}, Given: {len(vector)}"
        return None


def _selected(source: Mapping[str, Any], wanted: Any) -> dict[str, Any]:
    if isinstance(wanted, dict):
        excluded = wanted.get("excludes", [])
        included = wanted.get("includes", list(source))
        return {name: value for name, value in source.items() if name in included and name not in excluded}
    names = [wanted] if isinstance(wanted, str) else wanted
    return {name: value for name, value in source.items() if not isinstance(names, list) or name in names}


def _sorted(
    found: list[tuple[str, float]], body: Mapping[str, Any], documents: Mapping[str, Any]
) -> list[tuple[str, float]]:
    if "sort" not in body:
        places = {key: place for place, key in enumerate(documents)}
        return sorted(found, key=lambda scored: (-scored[1], places[scored[0]]))
    for name, order in reversed(_order_of(body["sort"])):
        found = sorted(
            found, key=lambda scored: _sort_value(scored[0], documents, name), reverse=order == "desc"
        )
    return found


def _order_of(sort: list[Any]) -> list[tuple[str, str]]:
    """Names of fields with `asc` or `desc`."""
    named = [one if isinstance(one, dict) else {one: "asc"} for one in sort]
    pairs = [next(iter(one.items())) for one in named]
    return [(name, how if isinstance(how, str) else how.get("order", "asc")) for name, how in pairs]


def _sort_value(key: str, documents: Mapping[str, Any], name: str) -> Any:
    return key if name == "_id" else documents[key].get(name)
