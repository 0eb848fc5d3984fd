"""The procedure of a reindex against the real ingestion function, with its lake, index and queue in memory."""

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ingestion.settings import Generation
from ingestion.store import chunks_key, manifest_key, part_key
from ops.reindex.functions import PASSING, Functions
from ops.reindex.lake import CHUNKS_PREFIX, MANIFEST_SUFFIX, Document, Lake
from ops.reindex.plan import Choices
from ops.reindex.procedure import Order, Platform, RefusedError, reindex
from rag.errors import DeadlineError, PipelineError, ThrottledError, UnavailableError, UpstreamTimeoutError
from tests.lambda_src.ingestion_fakes import MemoryS3
from tests.lambda_src.ingestion_world import INGESTION_ENVIRONMENT, World, text
from tests.ops.answering_client import answering_client
from tests.ops.reindex_fakes import MAPPING
from vector_index.actions import read_action

OLD, NEW = "documents-1", "documents-2"
ORDER = Order(index=NEW, choices=Choices(), sure=True)
GENERATIONS: tuple[Generation, ...] = ("NEXTGEN", "CLASSIC")
KEYS = ("raw/a name+é.txt", "raw/b.md")


class WholeListings:
    """A client of S3 over the world's bucket, as the operator's side uses it."""

    def __init__(self, s3: MemoryS3) -> None:
        self._s3 = s3
        self.get_object = s3.get_object
        self.head_object = s3.head_object

    def get_paginator(self, name: str) -> Any:
        return self

    def paginate(self, Bucket: str, Prefix: str) -> Iterator[dict[str, Any]]:
        keys = [key for key in self._s3.objects if key.startswith(Prefix)]
        yield {"Contents": [{"Key": key, "Size": len(self._s3.objects[key])} for key in keys]}


class Connected:
    """A world whose functions Lambda invokes, and whose queue is held back by an event source mapping."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.mapping = "Enabled"
        world.vector_length = world.settings.pipeline.embedding_dimensions

    def platform(self) -> Platform:
        client = answering_client(
            "lambda",
            {
                "GetFunctionConfiguration": self._configuration,
                "Invoke": self._invoke,
                "ListEventSourceMappings": self._mappings,
                "UpdateEventSourceMapping": self._switch,
            },
        )
        functions = Functions(client, "ingest", "keep-index", self._sleep)
        queue = {"ApproximateNumberOfMessagesNotVisible": "0"}
        return Platform(
            functions=functions,
            facts=functions.facts(),
            lake=Lake(WholeListings(self.world.s3), "lake"),
            lambda_client=client,
            sqs=answering_client("sqs", {"GetQueueAttributes": lambda **asked: {"Attributes": queue}}),
            say=lambda line: None,
            sleep=self._sleep,
        )

    def _sleep(self, seconds: float) -> None:
        self.world.now += seconds

    def _configuration(self, FunctionName: str) -> dict[str, Any]:
        pipeline = self.world.settings.pipeline
        variables = {
            **INGESTION_ENVIRONMENT,
            "COLLECTION_GENERATION": self.world.settings.collection_generation,
            "EMBEDDING_DIMENSIONS": str(pipeline.embedding_dimensions),
        }
        return {"Environment": {"Variables": variables}, "Timeout": 300}

    def _mappings(self, FunctionName: str, **page: Any) -> dict[str, Any]:
        return {"EventSourceMappings": [{"UUID": MAPPING, "State": self.mapping}]}

    def _switch(self, UUID: str, Enabled: bool) -> None:
        self.mapping = "Enabled" if Enabled else "Disabled"

    def _invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:
        event = json.loads(Payload)
        answer = self.world.invoke(event) if FunctionName == "ingest" else self._keep_index(event)
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}

    def _keep_index(self, event: dict[str, Any]) -> dict[str, Any]:
        read_action(event)
        index = self.world.index
        match event["action"]:
            case "status":
                counts = {
                    name: {"dimension": 256, "documents": len(held)} for name, held in index.held.items()
                }
                return {"targets": list(index.targets), "indexes": {OLD: counts.get(OLD, {})}}
            case "count":
                keys = {chunk.document_key for chunk in index.chunks(event["index"]).values()}
                return {"documents": sum(len(index.document_ids(event["index"], key)) for key in keys)}
            case "move_alias":
                index.targets = [event["to"]]
        return {}


@pytest.fixture(params=GENERATIONS)
def connected(request: pytest.FixtureRequest) -> Connected:
    """Documents of seven and one chunks, indexed by the real function."""
    made = Connected(World(request.param))
    made.world.put(KEYS[0], text(7))
    made.world.put(KEYS[1], text(1))
    made.world.settle()
    return made


def test_the_new_index_holds_what_the_old_one_held_and_no_embedding_is_paid(connected: Connected) -> None:
    world = connected.world
    paid = world.embedded
    world.now += 100
    result = reindex(connected.platform(), ORDER)
    assert (result["written"], result["skipped"], result["embedding_tokens"]) == (8, 0, 0)
    assert world.embedded == paid
    assert world.index.targets == [NEW]
    assert connected.mapping == "Enabled"
    world.check()


def test_documents_change_and_go_after_the_switch_as_before(connected: Connected) -> None:
    world = connected.world
    world.now += 100
    # An event that comes meanwhile waits in the queue.
    world.put(KEYS[0], text(5, "second"))
    reindex(connected.platform(), ORDER)
    world.settle()
    world.check()
    world.delete(KEYS[1])
    world.settle()
    world.check()
    assert len(world.index.chunks(OLD)) == 8, "the old index is kept as it was"


def test_a_run_that_is_repeated_writes_nothing_twice(connected: Connected) -> None:
    world = connected.world
    world.now += 100
    reindex(connected.platform(), ORDER)
    world.index.targets = [OLD]
    world.now += 100
    again = reindex(connected.platform(), ORDER)
    assert (again["written"], again["skipped"]) == (0, 8)
    world.check()


def test_another_model_needs_new_vectors_and_gets_them_when_allowed(connected: Connected) -> None:
    world = connected.world
    pipeline = replace(world.settings.pipeline, embedding_dimensions=512)
    world.settings = replace(world.settings, pipeline=pipeline)
    world.vector_length = 512
    world.now += 100
    with pytest.raises(RefusedError, match="--re-embed"):
        reindex(connected.platform(), ORDER)
    result = reindex(connected.platform(), replace(ORDER, choices=Choices(re_embed=True)))
    assert result["embedding_tokens"] == 8
    assert {len(chunk.embedding) for chunk in world.index.chunks(NEW).values()} == {512}
    world.check()
    assert {world.manifest(key)["dimensions"] for key in KEYS} == {512}


def test_objects_lie_where_the_function_puts_them() -> None:
    document = Document(
        key=KEYS[0], state="indexed", revision="0123456789ab", model_id="m", dimensions=1, chunks=3, parts=2
    )
    assert document.chunks_object == chunks_key(KEYS[0], "0123456789ab")
    assert document.part_objects == [part_key(KEYS[0], "0123456789ab", part) for part in (0, 1)]
    assert f"{CHUNKS_PREFIX}{KEYS[0]}{MANIFEST_SUFFIX}" == manifest_key(KEYS[0])


def test_what_is_tried_again_is_what_the_function_calls_passing() -> None:
    passing: list[type[PipelineError]] = [
        ThrottledError, UnavailableError, UpstreamTimeoutError, DeadlineError,
    ]  # fmt: skip
    assert {error.code for error in passing} <= set(PASSING)
