"""The two calls of Amazon Bedrock: a vector for a text, and an answer from passages."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from rag.aws_errors import typed_errors
from rag.deadline import CONNECT_TIMEOUT_SECONDS
from rag.errors import ConfigurationError, QuestionTooLongError, UnavailableError
from rag.prompt import SYSTEM_TEXT, Passage, user_text
from rag.settings import PipelineSettings

# Bedrock takes all of maxTokens from the quota when a call starts; models that think spend a part on that.
# The answer must also be complete within one read time-out, 20 seconds by default.
ANSWER_MAX_TOKENS = 1024


@dataclass(frozen=True, kw_only=True)
class Answer:
    """`text` is None when the model said nothing. `stop_reason` is the model's own word."""

    text: str | None
    stop_reason: str
    input_tokens: int = 0
    output_tokens: int = 0


@lru_cache(maxsize=8)
def bedrock_client(region: str, read_timeout_seconds: int) -> Any:
    """A client that makes one attempt per call: `rag.deadline.Attempts` knows the time left and repeats."""
    config = Config(
        region_name=region,
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=read_timeout_seconds,
        retries={"mode": "standard", "total_max_attempts": 1},
    )
    return boto3.client("bedrock-runtime", config=config)


def embed(client: Any, settings: PipelineSettings, text: str) -> list[float]:
    """The normalised vector of `text`, of exactly the settings' length. One attempt.

    Raises `QuestionTooLongError` when the text has more tokens than the model takes.
    """
    body = {"inputText": text, "dimensions": settings.embedding_dimensions, "normalize": True}
    with typed_errors(f"Embedding with {settings.embedding_model_id}"):
        try:
            reply = client.invoke_model(
                modelId=settings.embedding_model_id,
                contentType="application/json",
                accept="application/json",
                body=json.dumps(body),
            )
            vector = json.loads(reply["body"].read()).get("embedding")
        except ClientError as error:
            if "too many input tokens" in error.response.get("Error", {}).get("Message", "").lower():
                raise QuestionTooLongError(
                    "The text has more than the 8192 tokens that can be embedded."
                ) from None
            raise
    if not isinstance(vector, list) or len(vector) != settings.embedding_dimensions:
        raise ConfigurationError(
            f"{settings.embedding_model_id} returned a vector of {len(vector or [])} numbers, "
            f"but EMBEDDING_DIMENSIONS is {settings.embedding_dimensions}."
        )
    return vector


def answer(client: Any, settings: PipelineSettings, question: str, passages: Sequence[Passage]) -> Answer:
    """Ask the answer model once. No sampling parameter is sent: newer models refuse them."""
    with typed_errors(f"Answering with {settings.answer_model_id}"):
        reply = client.converse(
            modelId=settings.answer_model_id,
            system=[{"text": SYSTEM_TEXT}],
            messages=[{"role": "user", "content": [{"text": user_text(question, passages)}]}],
            inferenceConfig={"maxTokens": ANSWER_MAX_TOKENS},
        )
    message = reply.get("output", {}).get("message")
    if message is None:
        raise UnavailableError(f"{settings.answer_model_id} replied without a message.")
    # A model that thinks sends its reasoning in blocks before the text: blocks are picked by kind.
    text = "".join(block["text"] for block in message.get("content", []) if "text" in block).strip()
    usage = reply.get("usage", {})
    return Answer(
        text=text or None,
        stop_reason=reply.get("stopReason", ""),
        input_tokens=usage.get("inputTokens", 0),
        output_tokens=usage.get("outputTokens", 0),
    )
