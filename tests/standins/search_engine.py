"""The part of OpenSearch's HTTP interface that the platform uses, over indexes in memory.

Why not a server from a package: the one there is has no k-NN, so everything but the words would be ours anyway.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from tests.standins.search_index import Index
from tests.standins.search_query import QueryError

Outcome = tuple[int, Any]


class EngineError(Exception):
    def __init__(self, status: int, code: str, reason: str) -> None:
        super().__init__(reason)
        error = {"type": code, "reason": reason}
        self.outcome: Outcome = (status, {"error": {"root_cause": [error], **error}, "status": status})


class MemoryEngine:
    """Indexes, documents and aliases; a write is seen by searches after the next `refresh`."""

    def __init__(self) -> None:
        self.indexes: dict[str, Index] = {}

    def refresh(self) -> None:
        for index in self.indexes.values():
            index.refresh()

    def call(self, method: str, target: str, body: bytes) -> Outcome:
        """Answers one request."""
        parts = [unquote(part) for part in target.partition("?")[0].split("/") if part]
        try:
            return self._route(method, parts, body)
        except EngineError as error:
            return error.outcome
        except QueryError as error:
            if error.code == "parsing_exception":
                return EngineError(400, error.code, str(error)).outcome
            # What a shard refuses is wrapped, with the cause named at the root.
            cause = {"type": error.code, "reason": str(error)}
            wrapped = {"type": "search_phase_execution_exception", "reason": "all shards failed"}
            return 400, {"error": {"root_cause": [cause], **wrapped}, "status": 400}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return EngineError(400, "parse_exception", f"{type(error).__name__}: {error}").outcome

    def _route(self, method: str, parts: list[str], body: bytes) -> Outcome:
        if parts[0].startswith("_"):
            return self._global(method, parts, body)
        name, rest = parts[0], parts[1:]
        if not rest:
            return self._index(method, name, body)
        routes: dict[str, Callable[[], Outcome]] = {
            "_mapping": lambda: (200, {one.name: _mappings(one) for one in self._named(name)}),
            "_search": lambda: (200, self._one(name).search(_json(body))),
            "_msearch": lambda: (200, self._many_searches(name, body)),
            "_count": lambda: (200, {"count": self._one(name).count(_json(body))}),
            "_bulk": lambda: (200, self._bulk(name, body)),
            "_doc": lambda: self._document(method, name, rest[1:], body),
            "_alias": lambda: self._aliases_of(rest[1] if len(rest) > 1 else None, name),
        }
        if rest[0] not in routes:
            raise EngineError(400, "illegal_argument_exception", f"the stand-in has no {rest[0]}")
        return routes[rest[0]]()

    def _global(self, method: str, parts: list[str], body: bytes) -> Outcome:
        if parts[0] == "_bulk":
            return 200, self._bulk(None, body)
        if parts[0] == "_aliases" and method == "POST":
            return self._change_aliases(_json(body)["actions"])
        if parts[0] == "_alias":
            return self._aliases_of(parts[1] if len(parts) > 1 else None)
        if parts[0] in ("_mapping", "_mappings"):
            return 200, {one.name: _mappings(one) for one in self.indexes.values()}
        if parts[:2] == ["_cat", "indices"]:
            return 200, [
                {"index": one.name, "docs.count": str(len(one.visible))} for one in self.indexes.values()
            ]
        raise EngineError(400, "illegal_argument_exception", f"the stand-in has no {parts[0]}")

    def _index(self, method: str, name: str, body: bytes) -> Outcome:
        if method == "PUT":
            return self._create(name, _json(body))
        found = self._named(name)
        if method == "DELETE":
            if name not in self.indexes:
                raise EngineError(
                    400,
                    "illegal_argument_exception",
                    f"The provided expression [{name}] matches an alias, specify the corresponding concrete indices instead.",
                )
            del self.indexes[name]
            return 200, {"acknowledged": True}
        return 200, {
            one.name: {"aliases": {alias: {} for alias in one.aliases}, **one.definition} for one in found
        }

    def _create(self, name: str, definition: dict[str, Any]) -> Outcome:
        if name in self.indexes:
            raise EngineError(400, "resource_already_exists_exception", f"index [{name}] already exists")
        if any(name in index.aliases for index in self.indexes.values()):
            raise EngineError(
                400, "invalid_index_name_exception", f"Invalid index name [{name}], already exists as alias"
            )
        self.indexes[name] = Index(name, definition)
        return 200, {"acknowledged": True, "shards_acknowledged": True, "index": name}

    def _named(self, name: str) -> list[Index]:
        """The index of that name, or those behind the alias."""
        found = [one for one in self.indexes.values() if one.name == name or name in one.aliases]
        if not found:
            raise EngineError(404, "index_not_found_exception", f"no such index [{name}]")
        return found

    def _one(self, name: str) -> Index:
        found = self._named(name)
        if len(found) > 1:
            raise EngineError(400, "illegal_argument_exception", f"[{name}] has more than one index")
        return found[0]

    def _many_searches(self, name: str, body: bytes) -> dict[str, Any]:
        lines = [json.loads(line) for line in body.splitlines() if line]
        responses = []
        for header, search in zip(lines[::2], lines[1::2], strict=True):
            outcome = self.call("POST", f"/{header.get('index', name)}/_search", json.dumps(search).encode())
            responses.append({**outcome[1], "status": outcome[0]})
        return {"took": 1, "responses": responses}

    def _bulk(self, name: str | None, body: bytes) -> dict[str, Any]:
        lines = [json.loads(line) for line in body.splitlines() if line]
        if not lines:
            raise EngineError(400, "parse_exception", "request body is required")
        items = []
        rest = iter(lines)
        for line in rest:
            ((action, target),) = line.items()
            items.append(
                {action: self._bulk_item(action, target, name, None if action == "delete" else next(rest))}
            )
        return {
            "took": 1,
            "errors": any("error" in one for item in items for one in item.values()),
            "items": items,
        }

    def _bulk_item(
        self, action: str, target: Mapping[str, Any], name: str | None, source: Any
    ) -> dict[str, Any]:
        key, wanted = target.get("_id"), target.get("_index", name)
        try:
            index = self._one(wanted)
        except EngineError as error:
            return {
                "_index": wanted,
                "_id": key,
                "status": error.outcome[0],
                "error": error.outcome[1]["error"],
            }
        if action == "delete":
            return index.delete(str(key))
        if action not in ("index", "create"):
            raise EngineError(400, "illegal_argument_exception", f"the stand-in has no bulk action {action}")
        return index.write(key, source, create=action == "create")

    def _document(self, method: str, name: str, rest: list[str], body: bytes) -> Outcome:
        index = self._one(name)
        if method == "POST":
            item = index.write(None, _json(body))
        elif method == "DELETE":
            item = index.delete(rest[0])
        else:
            source = index.documents.get(rest[0])
            found = {} if source is None else {"_source": source}
            return (404 if source is None else 200), {
                "_index": name,
                "_id": rest[0],
                "found": source is not None,
                **found,
            }
        if "error" in item:
            return EngineError(item["status"], item["error"]["type"], item["error"]["reason"]).outcome
        return item["status"], item

    def _aliases_of(self, alias: str | None, name: str | None = None) -> Outcome:
        found = self._named(name) if name else list(self.indexes.values())
        chosen = {
            one.name: {"aliases": {own: {} for own in one.aliases if alias in (None, own)}} for one in found
        }
        if alias is None:
            return 200, chosen
        holders = {key: value for key, value in chosen.items() if value["aliases"]}
        return (200, holders) if holders else (404, {"error": f"alias [{alias}] missing", "status": 404})

    def _change_aliases(self, actions: list[dict[str, Any]]) -> Outcome:
        """All of `actions` or none."""
        changed = {name: set(index.aliases) for name, index in self.indexes.items()}
        for action in actions:
            ((kind, what),) = action.items()
            index = self._one(what["index"]).name
            if kind == "add":
                if what["alias"] in self.indexes:
                    raise EngineError(
                        400,
                        "invalid_alias_name_exception",
                        f"Invalid alias name [{what['alias']}]: an index or data stream exists with the same name as the alias",
                    )
                changed[index].add(what["alias"])
            elif kind == "remove" and what["alias"] in changed[index]:
                changed[index].remove(what["alias"])
            else:
                raise EngineError(404, "aliases_not_found_exception", f"aliases [{what['alias']}] missing")
        for name, aliases in changed.items():
            self.indexes[name].aliases = aliases
        return 200, {"acknowledged": True}


def _mappings(index: Index) -> dict[str, Any]:
    return {"mappings": index.definition.get("mappings", {})}


def _json(body: bytes) -> dict[str, Any]:
    return json.loads(body) if body else {}
