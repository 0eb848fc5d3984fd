"""Calls the two functions of a stack that reach its collection: the one that ingests and the one that keeps indexes."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ops.aws_calls import AwsCallError, error_code, refusal, told

# Lambda itself is short of room or time; the function has not run.
# https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html, section Errors
THROTTLED = ("TooManyRequestsException", "ThrottlingException", "EC2ThrottledException", "ServiceException")
# What the function says when a service behind it asked for patience; see lambda_src/rag/errors.py.
PASSING = ("throttled", "unavailable", "upstream_timeout", "out_of_time", "conflict")
ATTEMPTS = 6
LONGEST_PAUSE_SECONDS = 60


class FunctionError(AwsCallError):
    """A function ran and failed; the message is its own sentence."""


@dataclass(frozen=True, kw_only=True)
class IngestionFacts:
    """How the ingestion function is set up, as Lambda tells it. `tokens_per_minute` is the share of one run."""

    bucket: str
    queue_url: str
    alias: str
    generation: str
    model_id: str
    dimensions: int
    chunk_tokens: int
    tokens_per_minute: int
    timeout_seconds: int


class Functions:
    """Both functions by name. Safe to use from several threads."""

    def __init__(
        self, client: Any, ingestion: str, vector_index: str, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._client = client
        self.ingestion = ingestion
        self._vector_index = vector_index
        self._sleep = sleep

    def facts(self) -> IngestionFacts:
        """What the deployed function works with, which is what counts; the stack's file may be newer."""
        with told(f"reading the set-up of the function {self.ingestion}"):
            reply = self._client.get_function_configuration(FunctionName=self.ingestion)
        variables = reply.get("Environment", {}).get("Variables", {})
        try:
            return IngestionFacts(
                bucket=variables["DATA_LAKE_BUCKET"],
                queue_url=variables["QUEUE_URL"],
                alias=variables["INDEX_ALIAS"],
                generation=variables["COLLECTION_GENERATION"],
                model_id=variables["EMBEDDING_MODEL_ID"],
                dimensions=int(variables["EMBEDDING_DIMENSIONS"]),
                chunk_tokens=int(variables["CHUNK_TOKENS"]),
                tokens_per_minute=int(variables["EMBEDDING_TOKENS_PER_MINUTE"]),
                timeout_seconds=int(reply["Timeout"]),
            )
        except (KeyError, ValueError) as error:
            raise AwsCallError(
                f"The function {self.ingestion} is not set up as this version needs it ({error}). Fix: run `pulumi up`."
            ) from error

    def vector_index(self, **request: Any) -> dict[str, Any]:
        """Asks the function that keeps indexes for one action."""
        return self._invoke(self._vector_index, request)

    def reindex(self, **request: Any) -> dict[str, Any]:
        """Asks the ingestion function to bring one part into an index, or to finish a document there."""
        return self._invoke(self.ingestion, {"reindex": request})

    def _invoke(self, function: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer; tried again while it can help, which these requests allow: doing one twice does no harm."""
        for attempt in range(1, ATTEMPTS + 1):
            answer, passing = self._one_attempt(function, request)
            if answer is not None:
                return answer
            if attempt < ATTEMPTS:
                self._sleep(min(2.0**attempt, LONGEST_PAUSE_SECONDS))
        raise FunctionError(f"{function} gave up after {ATTEMPTS} tries: {passing}")

    def _one_attempt(self, function: str, request: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
        """The answer, or None and the reason why it is worth another try."""
        from botocore.exceptions import ClientError

        with told(f"calling the function {function}"):
            try:
                reply = self._client.invoke(FunctionName=function, Payload=json.dumps(request).encode())
                payload = json.loads(reply["Payload"].read() or b"null")
            except ClientError as error:
                if error_code(error) in THROTTLED:
                    return None, refusal(error)
                raise
        if reply.get("FunctionError"):
            message = payload.get("errorMessage") if isinstance(payload, dict) else None
            raise FunctionError(f"{function} failed: {message or 'no reason was given'}")
        error = payload.get("error") if isinstance(payload, dict) else {"message": "its answer is no object"}
        if not error:
            return payload, ""
        if error.get("code") in PASSING:
            return None, str(error.get("message"))
        raise FunctionError(f"{function} failed: {error.get('message')}")
