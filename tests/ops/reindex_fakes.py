"""A platform in memory for `python -m ops reindex`: moto's S3, and a Lambda and an SQS that keep the contracts."""

import io
import json
import threading
from collections.abc import Callable
from typing import Any

import boto3
from botocore.exceptions import ClientError

from ops.reindex.functions import Functions
from ops.reindex.lake import Lake
from ops.reindex.procedure import Platform
from tests.ops.answering_client import REGION, answering_client, refusal
from vector_index.actions import read_action
from vector_index.waiting import VectorIndexError

BUCKET, ALIAS, OLD, NEW = "lake-abc", "documents", "documents-1", "documents-2"
TITAN = "amazon.titan-embed-text-v2:0"
QUEUE = f"https://sqs.{REGION}.amazonaws.com/111122223333/events"
MAPPING = "14e0db71-xmpl-4eb5-b481-8945cf9d10c2"
CHUNKS_PER_PART = 2


class FakeWorld:
    """State of a platform. `notes` are what the operator was told; `calls` what Lambda was asked, in order."""

    def __init__(self, *, model_id: str = TITAN, dimensions: int = 256) -> None:
        self.s3 = boto3.client("s3", region_name=REGION, aws_access_key_id="x", aws_secret_access_key="x")
        self.s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        self.model_id, self.dimensions = model_id, dimensions
        self.manifests: dict[str, dict[str, Any]] = {}
        self.indexes: dict[str, dict[str, Any]] = {OLD: {"dimension": 256, "chunks": set()}}
        self.alias = [OLD]
        self.mapping = "Enabled"
        self.in_flight = [0]
        self.visible_after = 0
        self.calls: list[Any] = []
        self.notes: list[str] = []
        self.slept = 0.0
        self.on_part: Callable[[dict[str, Any]], None] = lambda request: None
        self._lock = threading.Lock()

    # What the tests put in place.

    def add(
        self, key: str, chunks: int, *, state: str = "indexed", storage_class: str = "STANDARD", **fields: Any
    ) -> None:
        parts = -(-chunks // CHUNKS_PER_PART)
        manifest = {
            "document_key": key,
            "state": state,
            "revision": "0123456789ab",
            "model_id": TITAN,
            "dimensions": 256,
            "chunks": chunks,
            "parts": parts,
            "chunks_per_part": CHUNKS_PER_PART,
            **fields,
        }
        self.manifests[key] = manifest
        self._put(f"processed/chunks/{key}.manifest.json", json.dumps(manifest).encode())
        self._put(self.chunks_object(key), b"texts")
        for part in range(parts):
            self._put(self.part_object(key, part), b"vectors", storage_class)
        self.indexes[OLD]["chunks"] |= {(key, number) for number in range(chunks)}

    def _put(self, key: str, body: bytes, storage_class: str = "STANDARD") -> None:
        self.s3.put_object(Bucket=BUCKET, Key=key, Body=body, StorageClass=storage_class)

    def chunks_object(self, key: str) -> str:
        return f"processed/chunks/{key}/0123456789ab.jsonl.gz"

    def part_object(self, key: str, part: int) -> str:
        return f"processed/embeddings/{key}/0123456789ab/{part:05d}.jsonl.gz"

    def platform(self) -> Platform:
        lambda_client = answering_client(
            "lambda",
            {
                "GetFunctionConfiguration": self._configuration,
                "Invoke": self._invoke,
                "ListEventSourceMappings": self._mappings,
                "UpdateEventSourceMapping": self._switch,
            },
        )
        functions = Functions(lambda_client, "ingest", "keep-index", self._sleep)
        return Platform(
            functions=functions,
            facts=functions.facts(),
            lake=Lake(self.s3, BUCKET),
            lambda_client=lambda_client,
            sqs=answering_client("sqs", {"GetQueueAttributes": self._queue}),
            say=self.notes.append,
            sleep=self._sleep,
        )

    @property
    def told(self) -> str:
        return "\n".join(self.notes)

    def parts_asked(self) -> list[tuple[str, int, bool]]:
        asked = [call["reindex"] for call in self.calls if isinstance(call, dict) and "reindex" in call]
        return sorted((one["document_key"], one["part"], one["re_embed"]) for one in asked if "part" in one)

    # What stands in for AWS.

    def _sleep(self, seconds: float) -> None:
        self.slept += seconds

    def _configuration(self, FunctionName: str) -> dict[str, Any]:
        variables = {
            "DATA_LAKE_BUCKET": BUCKET,
            "QUEUE_URL": QUEUE,
            "INDEX_ALIAS": ALIAS,
            "COLLECTION_GENERATION": "NEXTGEN",
            "EMBEDDING_MODEL_ID": self.model_id,
            "EMBEDDING_DIMENSIONS": str(self.dimensions),
            "CHUNK_TOKENS": "400",
            "EMBEDDING_TOKENS_PER_MINUTE": "75000",
        }
        return {"Environment": {"Variables": variables}, "Timeout": 300}

    def _mappings(self, FunctionName: str, **page: Any) -> dict[str, Any]:
        mapping = {"UUID": MAPPING, "State": self.mapping, "ScalingConfig": {"MaximumConcurrency": 2}}
        return {"EventSourceMappings": [mapping]}

    def _switch(self, UUID: str, Enabled: bool) -> None:
        self.mapping = "Enabled" if Enabled else "Disabled"
        self.calls.append("on" if Enabled else "off")

    def _queue(self, QueueUrl: str, AttributeNames: list[str]) -> dict[str, Any]:
        assert self.mapping == "Disabled", "runs are waited for while new ones begin"
        count = self.in_flight.pop(0) if len(self.in_flight) > 1 else self.in_flight[0]
        return {"Attributes": {AttributeNames[0]: str(count)}}

    def _invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:
        request = json.loads(Payload)
        with self._lock:
            self.calls.append(request)
            try:
                answer = self._keep_index(request) if FunctionName == "keep-index" else self._ingest(request)
            except VectorIndexError as error:
                answer = {"errorMessage": str(error)}
                return {"FunctionError": "Unhandled", "Payload": io.BytesIO(json.dumps(answer).encode())}
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}

    def _keep_index(self, request: dict[str, Any]) -> dict[str, Any]:
        read_action(request)  # the real function must understand the request
        action, index = request["action"], request.get("index", "")
        if action == "status":
            counts = {
                name: {"dimension": found["dimension"], "documents": len(found["chunks"])}
                for name, found in self.indexes.items()
            }
            return {"alias": ALIAS, "targets": list(self.alias), "indexes": counts}
        if action == "create_index":
            self.indexes.setdefault(index, {"dimension": request["dimension"], "chunks": set()})
            return {}
        if action == "count":
            self.visible_after -= 1
            return {"documents": 0 if self.visible_after >= 0 else len(self.indexes[index]["chunks"])}
        if action == "move_alias":
            self.alias = [request["to"]]
            return {}
        del self.indexes[index]
        return {}

    def _ingest(self, event: dict[str, Any]) -> dict[str, Any]:
        request = event["reindex"]
        manifest = self.manifests[request["document_key"]]
        there = self.indexes[request["index"]]["chunks"]
        key = manifest["document_key"]
        if request.get("finish"):
            found = sum(one == key for one, _ in there)
            return {"complete": found == manifest["chunks"], "expected": manifest["chunks"], "found": found}
        self.on_part(request)
        embedded = self._embedded(request, manifest)
        first = request["part"] * CHUNKS_PER_PART
        wanted = {(key, n) for n in range(first, min(first + CHUNKS_PER_PART, manifest["chunks"]))}
        new = wanted - there
        there |= wanted
        return {
            "document_key": key,
            "part": request["part"],
            "written": len(new),
            "skipped": len(wanted) - len(new),
            "embedding_tokens": 400 * len(wanted) if embedded else 0,
        }

    def _embedded(self, request: dict[str, Any], manifest: dict[str, Any]) -> bool:
        """Whether vectors had to be made anew; fails as the real function does where that was not allowed."""
        same = (manifest["model_id"], manifest["dimensions"]) == (self.model_id, self.dimensions)
        try:
            self.s3.get_object(Bucket=BUCKET, Key=self.part_object(manifest["document_key"], request["part"]))
        except ClientError:
            same = False
        assert same or request["re_embed"], "the function would refuse this part"
        return not same


def throttled() -> ClientError:
    return refusal("TooManyRequestsException", "slow down")
