"""Makes the vector index and its alias when Pulumi creates or updates the collection; keeps both on delete.

Pulumi invokes it with lifecycle scope CRUD, which adds `"tf": {"action": "create" | "update" | "delete"}` to
its input (documentation of aws_lambda_invocation in the Terraform AWS provider).
"""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import boto3

from rag.deadline import Deadline
from rag.environment import Environment
from rag.log import log_event
from rag.opensearch_http import OpenSearchHttp
from rag.search import OpenSearchClient
from vector_index.index import IndexRequest, ensure_index


def lambda_handler(event: Any, context: Any) -> dict[str, Any]:
    """The entry point of the function. What it raises fails the deployment with its sentence."""
    return handle(event, context, lambda: _client(os.environ))


def handle(
    event: Any,
    context: Any,
    get_client: Callable[[], OpenSearchClient],
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Do what the event's action asks and say what was done and what was waited for.

    Raises `VectorIndexError` when the event is wrong, when the collection does not let us in within the time
    given, or when an index of another dimension stands in the place.
    """
    request = IndexRequest.from_event(event)
    if request.action == "delete":
        outcome: dict[str, Any] = {"did": [], "kept": [request.index, request.alias]}
    else:
        outcome = ensure_index(get_client(), request, Deadline.of_lambda(context), sleep, clock)
    result = {"action": request.action, "index": request.index, "alias": request.alias, **outcome}
    log_event("vector_index", **result)
    return result


def _client(environ: Mapping[str, str]) -> OpenSearchClient:
    environment = Environment(environ)
    endpoint = environment.url("OPENSEARCH_ENDPOINT", "https")
    region = environment.text("AWS_REGION")
    environment.finish()
    return OpenSearchClient(OpenSearchHttp(endpoint, region, boto3.Session().get_credentials()))
