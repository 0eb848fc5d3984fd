"""What an operator's commands ask for, beside a deployment: to look, to make an index, to move the alias, to delete."""

from collections.abc import Callable
from typing import Any

from rag.indexes import dimension_of
from rag.search import OpenSearchClient
from vector_index.fields import EventFields
from vector_index.index import GENERATIONS, MAX_DIMENSION, lacking_fields, provide_index
from vector_index.waiting import MAX_WAIT_SECONDS, VectorIndexError

# A collection that scaled to zero wakes up in half a minute; a data policy takes up to a minute to hold.
DEFAULT_WAIT_SECONDS = 60

Action = Callable[[OpenSearchClient], dict[str, Any]]


def read_action(event: Any) -> tuple[str, int, Action]:
    """The action of an event, how long it may wait, and what does it.

    Every action may be repeated: done twice, or after it was cut off anywhere, it leaves the same behind. Raises one
    `VectorIndexError` that names every fault of the event.
    """
    fields = EventFields(event)
    name = fields.choice("action", *_ACTIONS)
    wait_seconds = fields.whole_number("wait_seconds", 0, MAX_WAIT_SECONDS, DEFAULT_WAIT_SECONDS)
    action = _ACTIONS.get(name, _nothing)(fields)
    if name in _ACTIONS:
        fields.refuse_others()
    fields.finish("The request")
    return name, wait_seconds, action


def _nothing(fields: EventFields) -> Action:
    return lambda client: {}


def _status(fields: EventFields) -> Action:
    """What the alias names, and every index that holds vectors."""
    alias = fields.name("alias")

    def act(client: OpenSearchClient) -> dict[str, Any]:
        indexes: dict[str, Any] = {}
        for index, found in client.all_fields().items():
            if dimension := dimension_of(found):
                indexes[index] = {"dimension": dimension, "documents": client.count(index)}
                if lacking := lacking_fields(found):
                    indexes[index]["missing_fields"] = lacking
        return {"alias": alias, "targets": client.alias_targets(alias), "indexes": indexes}

    return act


def _create_index(fields: EventFields) -> Action:
    """An empty index that can be written to and counted. One that exists must have the same dimension."""
    index = fields.name("index")
    dimension = fields.whole_number("dimension", 1, MAX_DIMENSION)
    generation = fields.choice("generation", *GENERATIONS)
    did: list[str] = []

    def act(client: OpenSearchClient) -> dict[str, Any]:
        lacking = provide_index(client, index, dimension, generation, did)
        if lacking:
            raise VectorIndexError(
                f"The index {index} was made by an older version and lacks {', '.join(lacking)}. "
                "Choose another name."
            )
        # A new index is not known to every part of the collection at once: this is refused with 404 until it is.
        return {"index": index, "did": did, "documents": client.count(index)}

    return act


def _count(fields: EventFields) -> Action:
    """How many chunks of an index can be searched."""
    index = fields.name("index")

    def act(client: OpenSearchClient) -> dict[str, Any]:
        _fields_of(client, index)
        return {"index": index, "documents": client.count(index)}

    return act


def _move_alias(fields: EventFields) -> Action:
    """The alias names one index and no other, changed in one step."""
    alias, index = fields.name("alias"), fields.name("to")
    if alias and alias == index:
        fields.fault("alias must differ from to")
    previous: list[str] = []

    def act(client: OpenSearchClient) -> dict[str, Any]:
        if not dimension_of(_fields_of(client, index)):
            raise VectorIndexError(
                f"The index {index} holds no vectors: the alias {alias} stays where it is."
            )
        previous.extend(client.move_alias(alias, index))
        return {"alias": alias, "targets": [index], "previous": previous}

    return act


def _delete_index(fields: EventFields) -> Action:
    """An index is gone for good. One that an alias names is kept."""
    index = fields.name("index")

    def act(client: OpenSearchClient) -> dict[str, Any]:
        aliases = client.aliases_of(index)
        if aliases:
            raise VectorIndexError(
                f"The index {index} is kept: readers use it through the alias {', '.join(aliases)}. "
                "Move the alias to another index first."
            )
        is_deleted = client.delete_index(index)
        return {"index": index, "did": [f"deleted index {index}"] if is_deleted else []}

    return act


def _fields_of(client: OpenSearchClient, index: str) -> dict[str, dict[str, Any]]:
    fields = client.index_fields(index)
    if fields is None:
        raise VectorIndexError(f"There is no index {index}.")
    return fields


_ACTIONS: dict[str, Callable[[EventFields], Action]] = {
    "status": _status,
    "create_index": _create_index,
    "count": _count,
    "move_alias": _move_alias,
    "delete_index": _delete_index,
}
