"""Makes the vector index and its alias when Pulumi creates or updates the collection; keeps both on delete.

Pulumi invokes it with lifecycle scope CRUD, which adds `"tf": {"action": "create" | "update" | "delete"}` to its input
(documentation of aws_lambda_invocation in the Terraform AWS provider). An operator's command invokes it with an
`action` instead: status, create_index, count, move_alias or delete_index.
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
from vector_index.actions import read_action
from vector_index.index import IndexRequest, provide
from vector_index.waiting import Patience


def lambda_handler(event: Any, context: Any) -> dict[str, Any]:
    """The entry point of the function. What it raises fails the deployment or the command with its sentence."""
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
    given, or when what is there stands in the way.
    """

    def patience(wait_seconds: int) -> Patience:
        return Patience(
            wait_seconds=wait_seconds, deadline=Deadline.of_lambda(context), sleep=sleep, clock=clock
        )

    is_command = isinstance(event, dict) and "action" in event and "tf" not in event
    result = _command(event, get_client, patience) if is_command else _deploy(event, get_client, patience)
    log_event("vector_index", **result)
    return result


def _deploy(
    event: Any, get_client: Callable[[], OpenSearchClient], patience: Callable[[int], Patience]
) -> dict[str, Any]:
    request = IndexRequest.from_event(event)
    if request.action == "delete":
        outcome: dict[str, Any] = {"did": [], "kept": [request.index, request.alias]}
    else:
        outcome = provide(get_client(), request, patience(request.wait_seconds))
    return {"action": request.action, "index": request.index, "alias": request.alias, **outcome}


def _command(
    event: Any, get_client: Callable[[], OpenSearchClient], patience: Callable[[int], Patience]
) -> dict[str, Any]:
    name, wait_seconds, action = read_action(event)
    client, patient = get_client(), patience(wait_seconds)
    outcome = patient.until_done(lambda: action(client))
    return {"action": name, **outcome, **patient.report()}


def _client(environ: Mapping[str, str]) -> OpenSearchClient:
    environment = Environment(environ)
    endpoint = environment.url("OPENSEARCH_ENDPOINT", "https", loopback=("http",))
    region = environment.text("AWS_REGION")
    environment.finish()
    return OpenSearchClient(OpenSearchHttp(endpoint, region, boto3.Session().get_credentials()))
