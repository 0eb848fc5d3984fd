"""The index definition, and the bounded wait until a new collection lets us create it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from rag.deadline import CONNECT_TIMEOUT_SECONDS, RESERVE_SECONDS, Deadline
from rag.errors import PipelineError, SearchError, ThrottledError, UnavailableError, UpstreamTimeoutError
from rag.search import SEARCH_READ_TIMEOUT_SECONDS, OpenSearchClient

PAUSE_SECONDS = 5
MAX_WAIT_SECONDS = 800
GENERATIONS = ("NEXTGEN", "CLASSIC")
ACTIONS = ("create", "update", "delete")
INDEX_NAME = re.compile(r"[a-z][a-z0-9_-]{0,127}")
# Vectors are normalised, so the inner product ranks as the cosine does and costs less.
SPACE_TYPE = "innerproduct"


class VectorIndexError(PipelineError):
    """The index or its alias could not be brought about; the sentence is for the person who deploys."""

    code = "vector_index"


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
        fields = event if isinstance(event, dict) else {}
        lifecycle = fields.get("tf")
        action = lifecycle.get("action") if isinstance(lifecycle, dict) else "create"
        faults: list[str] = []
        for name in ("index", "alias"):
            if not isinstance(fields.get(name), str) or not INDEX_NAME.fullmatch(fields[name]):
                faults.append(
                    f"{name} is {fields.get(name)!r}, it must be a lower-case name such as documents-1"
                )
        if fields.get("index") == fields.get("alias"):
            faults.append("alias must differ from index")
        if fields.get("generation") not in GENERATIONS:
            faults.append(
                f"generation is {fields.get('generation')!r}, it must be {' or '.join(GENERATIONS)}"
            )
        if action not in ACTIONS:
            faults.append(f"tf.action is {action!r}, it must be {' or '.join(ACTIONS)}")
        dimension = _whole_number(fields, "dimension", 1, 16_000, faults)
        wait_seconds = _whole_number(fields, "wait_seconds", 0, MAX_WAIT_SECONDS, faults)
        if faults:
            raise VectorIndexError("The request for a vector index is not usable: " + "; ".join(faults) + ".")
        return cls(
            action=str(action),
            index=fields["index"],
            alias=fields["alias"],
            dimension=dimension,
            generation=fields["generation"],
            wait_seconds=wait_seconds,
        )


def ensure_index(
    client: OpenSearchClient,
    request: IndexRequest,
    deadline: Deadline,
    sleep: Callable[[float], None],
    clock: Callable[[], float],
) -> dict[str, Any]:
    """Create what is missing, waiting for a new collection and its data access policy to take effect."""
    started = clock()
    did: list[str] = []
    waited_for: list[str] = []
    while True:
        try:
            targets = _bring_about(client, request, did)
        except PipelineError as error:
            reason = _worth_waiting_for(error)
            waited = clock() - started
            if reason is None or waited + PAUSE_SECONDS > request.wait_seconds or not _has_time(deadline):
                raise _gave_up(request, error, reason, waited) from error
            if reason not in waited_for:
                waited_for.append(reason)
        else:
            waited = round(clock() - started)
            return {
                "did": did,
                "alias_points_to": targets,
                "waited_seconds": waited,
                "waited_for": waited_for,
            }
        sleep(PAUSE_SECONDS)


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
        "document_key": {"type": "keyword"},
        "chunk_number": {"type": "integer"},
        "model_id": {"type": "keyword"},
    }
    return {"settings": {"index": index}, "mappings": {"properties": properties}}


def _bring_about(client: OpenSearchClient, request: IndexRequest, did: list[str]) -> list[str]:
    """One pass; safe to repeat. Adds to `did` and returns what the alias points to."""
    dimension = client.index_dimension(request.index)
    if dimension is None:
        client.create_index(request.index, index_definition(request.dimension, request.generation))
        did.append(f"created index {request.index}")
    elif dimension != request.dimension:
        raise VectorIndexError(
            f"The index {request.index} exists with dimension {dimension}, "
            f"but {request.dimension} was asked for. A dimension cannot be changed: choose another index name, fill the new index, then move the alias."
        )
    targets = client.alias_targets(request.alias)
    if targets:
        return targets
    client.add_alias(request.index, request.alias)
    did.append(f"added alias {request.alias}")
    return [request.index]


def _worth_waiting_for(error: PipelineError) -> str | None:
    if isinstance(error, SearchError):
        if error.http_status in (401, 403):
            return "the data access policy to take effect"
        # A second creation meets an index that is there but not visible yet.
        is_new = error.http_status == 404 or error.error_type == "resource_already_exists_exception"
        return "the collection to know its new index" if is_new else None
    if isinstance(error, ThrottledError | UnavailableError | UpstreamTimeoutError):
        return "the collection to reply"
    return None


def _gave_up(
    request: IndexRequest, error: PipelineError, reason: str | None, waited: float
) -> VectorIndexError:
    if reason is None:
        return error if isinstance(error, VectorIndexError) else VectorIndexError(str(error))
    return VectorIndexError(
        f"Waited {waited:.0f} of {request.wait_seconds} seconds for {reason}; the last reply was: {error} "
        "Check that the data access policy names this function's role and that the network policy lets it in, "
        "then deploy again."
    )


def _has_time(deadline: Deadline) -> bool:
    next_pass = PAUSE_SECONDS + CONNECT_TIMEOUT_SECONDS + SEARCH_READ_TIMEOUT_SECONDS + RESERVE_SECONDS
    return deadline.remaining_seconds() > next_pass


def _whole_number(fields: dict[str, Any], name: str, lowest: int, highest: int, faults: list[str]) -> int:
    """JSON may carry a whole number as 512.0."""
    value = fields.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and lowest <= value <= highest and value == int(value):
        return int(value)
    faults.append(f"{name} is {value!r}, it must be a whole number from {lowest} to {highest}")
    return lowest
