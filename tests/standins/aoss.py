"""Stands in for a vector collection of OpenSearch Serverless: a front that refuses what the collection refuses.

Behind it an engine holds the documents: the one of `search_engine.py`, or a real OpenSearch by its address.
"""

import json
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, Protocol
from urllib.parse import parse_qs

from tests.standins.aoss_bulk import BulkRequest
from tests.standins.aoss_calls import is_allowed, operation_of
from tests.standins.faults import Fault, Faults
from tests.standins.loopback import KEPT_CALLS, Reply, Request, json_reply, serving
from tests.standins.search_engine import MemoryEngine
from tests.standins.signature import body_hash_fault, signature_fault

# https://docs.aws.amazon.com/solutions/latest/migration-assistant-for-amazon-opensearch-service/mts-limits.html
MAX_REQUEST_BYTES = 10 * 1024 * 1024
GENERATIONS = ("NEXTGEN", "CLASSIC")
NO_IDS = "Document ID is not supported in create/index operation request"


class Engine(Protocol):
    """Holds indexes, documents and aliases, and answers as OpenSearch does."""

    def call(self, method: str, target: str, body: bytes) -> tuple[int, Any]:
        """Status and JSON document of the reply."""
        ...

    def refresh(self) -> None:
        """Lets searches see what was written."""
        ...


@dataclass
class Collection:
    """One vector collection.

    Writes become visible to searches `refresh_seconds` after the oldest unseen one of them; with None only when
    `refresh` is called. A fault's `operation` is a call such as `_search`, or `bulk_item` for one item of a bulk.
    """

    engine: Engine
    generation: str = "NEXTGEN"
    refresh_seconds: float | None = 0
    clock: Callable[[], float] = time.monotonic
    faults: Faults = field(default_factory=Faults)
    calls: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_CALLS))
    url: str = ""
    _lock: Any = field(default_factory=RLock)
    _unseen_since: float | None = None

    def refresh(self) -> None:
        """Makes every write visible now."""
        with self._lock:
            self._unseen_since = None
            self.engine.refresh()

    def handle(self, request: Request) -> Reply:
        self.calls.append(f"{request.method} {request.path}")
        refused = self._refusal(request)
        if refused:
            return refused
        fault = self.faults.take(operation_of(request.method, request.path))
        if fault and fault.status:
            return error_reply(fault.status, fault.code, fault.message)
        with self._lock:
            self._refresh_when_due()
            status, document = self._call(request)
        return json_reply(document, status)

    def _refusal(self, request: Request) -> Reply | None:
        """What the service refuses before any index is looked at; the forms are the service's own."""
        if body_hash_fault(request) or signature_fault(request, "aoss"):
            return _gateway_reply(403, "Forbidden")
        if len(request.body) > MAX_REQUEST_BYTES:
            return _gateway_reply(413, "Request Entity Too Large")
        if not is_allowed(request.method, request.path):
            return _gateway_reply(404, "Not Found")
        if parse_qs(request.query).get("refresh", ["false"]) != ["false"]:
            return error_reply(400, "status_exception", "true refresh policy is not supported")
        if request.method == "PUT" and operation_of(request.method, request.path) == "PUT":
            return _engine_refusal(request.body)
        return None

    def _call(self, request: Request) -> tuple[int, Any]:
        operation = operation_of(request.method, request.path)
        if operation == "_bulk":
            return self._bulk(request)
        status, document = self.engine.call(request.method, request.target, request.body)
        if operation == "_doc" and request.method in ("POST", "DELETE"):
            self._written()
        return status, document

    def _bulk(self, request: Request) -> tuple[int, Any]:
        bulk = BulkRequest.parse(request.body)
        if bulk is None:
            return self.engine.call(request.method, request.target, request.body)
        for entry in bulk.entries:
            if self.generation == "CLASSIC" and entry.action in ("index", "create") and entry.has_id:
                entry.refuse(400, "illegal_argument_exception", NO_IDS)
            fault = self.faults.take("bulk_item")
            if fault and fault.status:
                entry.refuse(fault.status, fault.code, fault.message)
        body = bulk.accepted_body()
        status, document = (
            self.engine.call(request.method, request.target, body) if body else (200, {"items": []})
        )
        self._written()
        return (status, bulk.merged(document)) if status == 200 else (status, document)

    def _written(self) -> None:
        if self.refresh_seconds == 0:
            self.engine.refresh()
        elif self._unseen_since is None:
            self._unseen_since = self.clock()

    def _refresh_when_due(self) -> None:
        if self._unseen_since is None or self.refresh_seconds is None:
            return
        if self.clock() - self._unseen_since >= self.refresh_seconds:
            self.refresh()


@contextmanager
def serving_collection(engine: Engine | None = None, **settings: Any) -> Generator[Collection]:
    """A collection whose `url` belongs into OPENSEARCH_ENDPOINT; `settings` are fields of `Collection`."""
    collection = Collection(engine or MemoryEngine(), **settings)
    with serving(collection.handle) as collection.url:
        yield collection


def error_reply(status: int, code: str, reason: str) -> Reply:
    error = {"type": code, "reason": reason}
    return json_reply({"error": {"root_cause": [error], **error}, "status": status}, status)


def denied() -> Fault:
    """What a collection answers until its data access policy has taken effect."""
    return Fault(status=403, code="security_exception", message="403 Forbidden")


def _gateway_reply(status: int, kind: str) -> Reply:
    error = {"reason": f"{status} {kind}", "type": kind}
    return json_reply({"status": status, "request-id": "stand-in", "error": error}, status)


def _engine_refusal(body: bytes) -> Reply | None:
    """Serverless has HNSW of Faiss and nothing else."""
    try:
        fields = json.loads(body or b"{}").get("mappings", {}).get("properties", {})
    except (ValueError, AttributeError):
        return None
    for name, definition in fields.items():
        method = definition.get("method", {})
        if method.get("engine", "faiss") != "faiss" or method.get("name", "hnsw") != "hnsw":
            return error_reply(400, "mapper_parsing_exception", f"{name}: only hnsw of faiss is supported")
    return None
