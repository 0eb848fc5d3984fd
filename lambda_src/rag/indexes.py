"""Indexes and aliases of the vector store."""

from collections.abc import Sequence
from typing import Any

from rag.opensearch_http import OpenSearchHttp, Reply
from rag.search_errors import accepted

# A NEXTGEN collection that scaled to zero needs 10 to 30 seconds for its first reply.
# https://docs.aws.amazon.com/opensearch-service/latest/developerguide/serverless-scale-to-zero.html
SEARCH_READ_TIMEOUT_SECONDS = 35

Fields = dict[str, dict[str, Any]]


class IndexClient:
    """Makes, describes and removes indexes, and moves aliases. Every call is one attempt.

    Raises as `OpenSearchHttp.send` does, and `SearchError` with OpenSearch's own reason when it is refused.
    """

    def __init__(self, http: OpenSearchHttp) -> None:
        self._http = http

    def index_fields(self, index: str) -> Fields | None:
        """The fields of the mapping by name; None without an index."""
        reply = self._send("GET", f"/{index}/_mapping")
        if _is_missing_index(reply):
            return None
        mappings = accepted(reply, f"Reading the mapping of {index}", show_reason=True).document
        return _fields(next(iter(mappings.values()), {}))

    def index_dimension(self, index: str) -> int | None:
        """The dimension of the field `embedding`: None without an index, 0 when the field is no vector."""
        fields = self.index_fields(index)
        return None if fields is None else dimension_of(fields)

    def all_fields(self) -> dict[str, Fields]:
        """The fields of every index of the collection, by its name."""
        reply = accepted(self._send("GET", "/_mapping"), "Reading the mappings", show_reason=True)
        return {name: _fields(entry) for name, entry in sorted(reply.document.items())}

    def create_index(self, index: str, definition: dict[str, Any]) -> None:
        """Create `index` from its settings and mappings."""
        accepted(self._send("PUT", f"/{index}", definition), f"Creating the index {index}", show_reason=True)

    def delete_index(self, index: str) -> bool:
        """Delete `index` with all that is in it; False when there is none."""
        reply = self._send("DELETE", f"/{index}")
        if _is_missing_index(reply):
            return False
        accepted(reply, f"Deleting the index {index}", show_reason=True)
        return True

    def alias_targets(self, alias: str) -> list[str]:
        """The indexes behind `alias`, sorted; empty when the alias does not exist."""
        reply = self._send("GET", f"/_alias/{alias}")
        # A missing alias is a plain sentence; a 404 with a type can hide a permission that is not there yet.
        if reply.status == 404 and reply.error_type in ("", "aliases_not_found_exception"):
            return []
        return sorted(accepted(reply, f"Reading the alias {alias}", show_reason=True).document)

    def aliases_of(self, index: str) -> list[str]:
        """The aliases that name `index`, sorted; empty when it has none or does not exist."""
        reply = accepted(self._send("GET", "/_alias"), "Reading the aliases", show_reason=True)
        entry = reply.document.get(index, {})
        return sorted(entry.get("aliases", {}))

    def add_alias(self, index: str, alias: str) -> None:
        """Let `alias` name `index` too."""
        self._change_aliases(
            [{"add": {"index": index, "alias": alias}}], f"Adding the alias {alias} to {index}"
        )

    def move_alias(self, alias: str, index: str) -> list[str]:
        """Let `alias` name `index` and nothing else, in one step; returns what else it named before.

        Readers see the old index or the new one, never none or both. When another caller moved the alias in the
        same moment, the store refuses the whole change and `SearchError` is raised.
        """
        before = self.alias_targets(alias)
        others = [target for target in before if target != index]
        actions = [{"remove": {"index": target, "alias": alias}} for target in others]
        if index not in before:
            actions.append({"add": {"index": index, "alias": alias}})
        if actions:
            self._change_aliases(actions, f"Moving the alias {alias} to {index}")
        return others

    def _change_aliases(self, actions: Sequence[dict[str, Any]], what: str) -> None:
        accepted(self._send("POST", "/_aliases", {"actions": list(actions)}), what, show_reason=True)

    def _send(self, method: str, path: str, payload: Any = None) -> Reply:
        return self._http.send(method, path, payload, SEARCH_READ_TIMEOUT_SECONDS)


def dimension_of(fields: Fields) -> int:
    """The dimension of the field `embedding`, 0 when it is no vector."""
    dimension = fields.get("embedding", {}).get("dimension", 0)
    return dimension if isinstance(dimension, int) else 0


def _fields(entry: Any) -> Fields:
    mappings = entry.get("mappings", {}) if isinstance(entry, dict) else {}
    return mappings.get("properties", {})


def _is_missing_index(reply: Reply) -> bool:
    return reply.status == 404 and reply.error_type == "index_not_found_exception"
