"""Stands in for Amazon Bedrock's runtime on loopback: embeddings, answers and streamed answers.

Signatures and request bodies are checked as far as botocore's own description of the service goes, plus the refusals
that its documentation names. The answers quote the documents of the prompt; no model thinks here.
"""

import json
import re
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

from tests.standins.bedrock_answers import Answering, converse, converse_stream
from tests.standins.bedrock_embeddings import embed
from tests.standins.bedrock_errors import BedrockError
from tests.standins.faults import Fault, Faults
from tests.standins.loopback import KEPT_CALLS, Reply, Request, serving
from tests.standins.signature import signature_fault

CALL = re.compile(r"/model/([^/]+)/(invoke|converse|converse-stream)")
OPERATIONS = {"invoke": "InvokeModel", "converse": "Converse", "converse-stream": "ConverseStream"}


@dataclass
class Bedrock:
    """`answering` tells how models answer; `calls` are the last operations with their model ids, oldest first.

    `bodies` are those of the same requests.
    """

    answering: Answering
    faults: Faults = field(default_factory=Faults)
    calls: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=KEPT_CALLS))
    bodies: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=KEPT_CALLS))
    url: str = ""

    def handle(self, request: Request) -> Reply:
        try:
            return self._answer(request)
        except BedrockError as error:
            return error.reply()

    def _answer(self, request: Request) -> Reply:
        refused = signature_fault(request, "bedrock")
        if refused:
            raise BedrockError(403, "AccessDeniedException", refused)
        match = CALL.fullmatch(request.path)
        if request.method != "POST" or match is None:
            raise BedrockError(404, "UnknownOperationException", "")
        operation, model_id = OPERATIONS[match[2]], unquote(match[1])
        body = _json_object(request.body)
        self.calls.append((operation, model_id))
        self.bodies.append(body)
        fault = self.faults.take(operation)
        if fault and fault.status:
            raise BedrockError(fault.status, fault.code, fault.message)
        return self._call(operation, model_id, body, fault)

    def _call(self, operation: str, model_id: str, body: dict[str, Any], fault: Fault | None) -> Reply:
        if operation == "InvokeModel":
            return embed(model_id, body)
        _validate(operation, {"modelId": model_id, **body})
        if operation == "Converse":
            return converse(model_id, body, self.answering)
        return converse_stream(model_id, body, self.answering, fault)


@contextmanager
def serving_bedrock(nothing_found: str, **answering: Any) -> Generator[Bedrock]:
    """A Bedrock whose `url` belongs into AWS_ENDPOINT_URL_BEDROCK_RUNTIME.

    `nothing_found` is what a model says when no document answers; other words are fields of `Answering`.
    """
    bedrock = Bedrock(Answering(nothing_found=nothing_found, **answering))
    with serving(bedrock.handle) as bedrock.url:
        yield bedrock


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise BedrockError(400, "ValidationException", "Malformed input request, please reformat your input.")
    return document


@lru_cache(maxsize=1)
def _service() -> ServiceModel:
    return ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"), "bedrock-runtime")


def _validate(operation: str, parameters: dict[str, Any]) -> None:
    report = ParamValidator().validate(parameters, _service().operation_model(operation).input_shape)
    if report.has_errors():
        raise BedrockError(400, "ValidationException", report.generate_report())
