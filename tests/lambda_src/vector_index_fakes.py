"""A collection in memory and a clock, for the tests of the index function."""

import json
from typing import Any

from rag.errors import SearchError
from tests.lambda_src import fakes
from vector_index.handler import handle

REQUEST = {
    "index": "documents-1",
    "alias": "documents",
    "dimension": 512,
    "generation": "NEXTGEN",
    "wait_seconds": 120,
    "tf": {"action": "create", "prev_input": None},
}
FORBIDDEN = SearchError("Creating was refused with 403.", 403, "security_exception")


class FakeTime(fakes.FakeTime):
    """With the longer life of the index function."""

    def __init__(self, lambda_seconds: float = 600) -> None:
        super().__init__(lambda_seconds)


class FakeCollection:
    """Indexes and aliases in memory; raises the queued errors first, the last one until `open`."""

    def __init__(self, *refusals: Exception) -> None:
        self.refusals = list(refusals)
        self.indexes: dict[str, dict[str, Any]] = {}
        self.documents: dict[str, int] = {}
        self.aliases: dict[str, list[str]] = {}
        self.unknown_to_searches = 0
        self.interruptions: dict[str, Exception] = {}
        self.calls = 0

    def _call(self) -> None:
        self.calls += 1
        if self.refusals:
            raise self.refusals.pop(0) if len(self.refusals) > 1 else self.refusals[0]

    def _done(self, call: str) -> None:
        """Raise after the change was made, as a connection that breaks then does; once."""
        if call in self.interruptions:
            raise self.interruptions.pop(call)

    def open(self) -> None:
        self.refusals.clear()

    def index_fields(self, index: str) -> dict[str, Any] | None:
        self._call()
        return self.indexes[index]["mappings"]["properties"] if index in self.indexes else None

    def all_fields(self) -> dict[str, dict[str, Any]]:
        self._call()
        return {name: definition["mappings"]["properties"] for name, definition in self.indexes.items()}

    def create_index(self, index: str, definition: dict[str, Any]) -> None:
        if index in self.indexes:
            raise SearchError("400", 400, "resource_already_exists_exception")
        self.indexes[index] = definition
        self._done("create_index")

    def delete_index(self, index: str) -> bool:
        is_there = self.indexes.pop(index, None) is not None
        self._done("delete_index")
        return is_there

    def count(self, index: str) -> int:
        if self.unknown_to_searches:
            self.unknown_to_searches -= 1
            raise SearchError("404", 404, "index_not_found_exception")
        return self.documents.get(index, 0)

    def alias_targets(self, alias: str) -> list[str]:
        return self.aliases.get(alias, [])

    def aliases_of(self, index: str) -> list[str]:
        self._call()
        return [alias for alias, targets in self.aliases.items() if index in targets]

    def add_alias(self, index: str, alias: str) -> None:
        self.aliases.setdefault(alias, []).append(index)
        self._done("add_alias")

    def move_alias(self, alias: str, index: str) -> list[str]:
        before = [target for target in self.alias_targets(alias) if target != index]
        self.aliases[alias] = [index]
        self._done("move_alias")
        return before


def run(collection: FakeCollection, time: FakeTime | None = None, **changes: Any) -> dict[str, Any]:
    return invoke(collection, {**REQUEST, **changes}, time)


def invoke(collection: FakeCollection, event: Any, time: FakeTime | None = None) -> dict[str, Any]:
    time = time or FakeTime()
    fake: Any = collection
    result = handle(event, time, lambda: fake, time.sleep, time.clock)
    assert json.loads(json.dumps(result)) == result, "the caller reads the result as JSON"
    return result
