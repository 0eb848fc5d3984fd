"""The index definition, and what a deployment asks for: the index, and an alias that names some index."""

from dataclasses import dataclass
from typing import Any, Self

from rag.indexes import dimension_of
from rag.search import OpenSearchClient
from vector_index.fields import EventFields
from vector_index.waiting import MAX_WAIT_SECONDS, PAUSE_SECONDS, Patience, VectorIndexError

__all__ = [
    "PAUSE_SECONDS",
    "IndexRequest",
    "VectorIndexError",
    "index_definition",
    "provide",
    "provide_index",
]

GENERATIONS = ("NEXTGEN", "CLASSIC")
LIFECYCLE = ("create", "update", "delete")
# The longest vector that the k-NN plugin takes.
MAX_DIMENSION = 16_000
# Vectors are normalised, so the inner product ranks as the cosine does and costs less.
SPACE_TYPE = "innerproduct"


@dataclass(frozen=True, kw_only=True)
class IndexRequest:
    """What the deployment asks for. `dimension` is that of the embedding model."""

    action: str
    index: str
    alias: str
    dimension: int
    generation: str
    wait_seconds: int

    @classmethod
    def from_event(cls, event: Any) -> Self:
        """Read the event; raise one `VectorIndexError` that names every fault."""
        fields = EventFields(event)
        lifecycle = fields.value("tf")
        action = lifecycle.get("action") if isinstance(lifecycle, dict) else "create"
        if action not in LIFECYCLE:
            fields.fault(f"tf.action is {action!r}, it must be {' or '.join(LIFECYCLE)}")
        request = cls(
            action=str(action),
            index=fields.name("index"),
            alias=fields.name("alias"),
            dimension=fields.whole_number("dimension", 1, MAX_DIMENSION),
            generation=fields.choice("generation", *GENERATIONS),
            wait_seconds=fields.whole_number("wait_seconds", 0, MAX_WAIT_SECONDS),
        )
        if request.index and request.index == request.alias:
            fields.fault("alias must differ from index")
        fields.finish("The request for a vector index")
        return request


def provide(client: OpenSearchClient, request: IndexRequest, patience: Patience) -> dict[str, Any]:
    """Make what is missing of index and alias, waiting for a new collection and its data access policy.

    Safe to repeat and to run twice at the same time. An alias that names any index is left where it is. Returns what
    was done, what the alias names and the fields that an older index lacks.
    """
    did: list[str] = []

    def attempt() -> tuple[list[str], list[str]]:
        lacking = provide_index(client, request.index, request.dimension, request.generation, did)
        targets = client.alias_targets(request.alias)
        if not targets:
            client.add_alias(request.index, request.alias)
            did.append(f"added alias {request.alias}")
        return targets or [request.index], lacking

    targets, lacking = patience.until_done(attempt)
    return {"did": did, "alias_points_to": targets, **_notes(request.index, lacking), **patience.report()}


def provide_index(
    client: OpenSearchClient, index: str, dimension: int, generation: str, did: list[str]
) -> list[str]:
    """Create `index` unless it exists with this dimension. Adds to `did`; returns the fields that it lacks."""
    fields = client.index_fields(index)
    if fields is None:
        client.create_index(index, index_definition(dimension, generation))
        did.append(f"created index {index}")
        return []
    found = dimension_of(fields)
    if not found:
        raise VectorIndexError(
            f"The index {index} exists, but its field embedding holds no vectors: this function did not make it. "
            "Delete it, or choose another index name."
        )
    if found != dimension:
        raise VectorIndexError(
            f"The index {index} exists with dimension {found}, but {dimension} was asked for. "
            "A dimension cannot be changed: choose another index name, fill the new index, then move the alias."
        )
    return lacking_fields(fields)


def lacking_fields(fields: dict[str, dict[str, Any]]) -> list[str]:
    """The fields of our mapping that an index does not have, because an older version made it; sorted."""
    return sorted(index_definition(1, "NEXTGEN")["mappings"]["properties"].keys() - fields.keys())


def index_definition(dimension: int, generation: str) -> dict[str, Any]:
    """Settings and mappings of the index.

    CLASSIC takes Faiss HNSW only and must be told so; NEXTGEN chooses engine, method and compression itself.
    https://docs.aws.amazon.com/opensearch-service/latest/developerguide/serverless-vector-search.html
    """
    embedding: dict[str, Any] = {"type": "knn_vector", "dimension": dimension}
    index: dict[str, Any] = {"knn": True}
    if generation == "CLASSIC":
        parameters = {"m": 16, "ef_construction": 512}
        embedding["method"] = {
            "name": "hnsw",
            "engine": "faiss",
            "space_type": SPACE_TYPE,
            "parameters": parameters,
        }
        index["knn.algo_param.ef_search"] = 512
    else:
        embedding["space_type"] = SPACE_TYPE
    properties = {
        "embedding": embedding,
        "text": {"type": "text"},
        "heading": {"type": "text"},
        "document_key": {"type": "keyword"},
        "chunk_number": {"type": "integer"},
        "page": {"type": "integer"},
        "revision": {"type": "keyword"},
        "model_id": {"type": "keyword"},
    }
    return {"settings": {"index": index}, "mappings": {"properties": properties}}


def _notes(index: str, lacking: list[str]) -> dict[str, Any]:
    if not lacking:
        return {}
    return {
        "missing_fields": lacking,
        "advice": f"The index {index} was made by an older version and lacks {', '.join(lacking)}. "
        "Answers are found as before; run `python -m ops reindex` to fill a new index that has them.",
    }
