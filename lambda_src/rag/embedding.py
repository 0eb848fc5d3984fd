"""The vectors of texts, made by an embedding model of Amazon Bedrock."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot, isfinite
from typing import Any, Literal

from botocore.exceptions import ClientError

from rag.aws_errors import typed_errors
from rag.errors import ConfigurationError, QuestionTooLongError, UnavailableError
from rag.settings import COHERE_EMBED_V4, TITAN_TEXT_EMBEDDINGS_V2, PipelineSettings
from rag.tokens import estimate_tokens
from rag.well_formed import well_formed

Purpose = Literal["document", "query"]
# InvokeModel tells the tokens of a call in this header; botocore gives header names in lower case.
TOKENS_HEADER = "x-amzn-bedrock-input-token-count"
# What the models say of a text with too many tokens or characters. Bedrock itself says "Too many tokens, please wait"
# when it throttles, so this is looked for in a ValidationException only.
TOO_LONG = re.compile(
    r"too many (input )?tokens|maxlength|size limit exceeded|exceed\w* .*tokens?\b", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class Vectors:
    """One vector of length 1 for each text, in their order, and the tokens that all of them have together."""

    vectors: list[list[float]]
    tokens: int


@dataclass(frozen=True, kw_only=True)
class _Model:
    """How a model is called. `vectors` and `tokens` read its reply; `tokens` is None where it tells no count."""

    texts_per_call: int
    longest_tokens: int
    body: Callable[[PipelineSettings, Sequence[str], Purpose], dict[str, Any]]
    vectors: Callable[[Mapping[str, Any]], Any]
    tokens: Callable[[Mapping[str, Any]], Any]
    is_normalised: bool


def texts_per_call(settings: PipelineSettings) -> int:
    """How many texts one call of the settings' model takes."""
    return _MODELS[settings.embedding_base_model_id].texts_per_call


def embed(client: Any, settings: PipelineSettings, texts: Sequence[str], purpose: Purpose) -> Vectors:
    """The vectors of at most `texts_per_call` texts, each of exactly the settings' length. One attempt.

    `client` is one of bedrock-runtime. A lone surrogate counts as U+FFFD. Raises `QuestionTooLongError` when a text
    has more tokens than the model takes, `ConfigurationError` when the model makes vectors of another length.
    """
    model = _MODELS[settings.embedding_base_model_id]
    if len(texts) > model.texts_per_call:
        raise ValueError(f"{len(texts)} texts, but a call takes {model.texts_per_call}")
    if not texts:
        return Vectors(vectors=[], tokens=0)
    texts = [well_formed(text) for text in texts]
    document, headers = _invoke(client, settings, model, texts, purpose)
    vectors = model.vectors(document)
    _check(vectors, len(texts), settings)
    return Vectors(
        vectors=vectors if model.is_normalised else [_normalised(vector) for vector in vectors],
        tokens=_tokens(model.tokens(document), headers, texts),
    )


def _invoke(
    client: Any, settings: PipelineSettings, model: _Model, texts: Sequence[str], purpose: Purpose
) -> tuple[dict[str, Any], Mapping[str, str]]:
    with typed_errors(f"Embedding with {settings.embedding_model_id}"):
        try:
            reply = client.invoke_model(
                modelId=settings.embedding_model_id,
                contentType="application/json",
                accept="application/json",
                body=json.dumps(model.body(settings, texts, purpose)),
            )
            content = reply["body"].read()
        except ClientError as error:
            if _is_too_long(error):
                raise QuestionTooLongError(
                    f"The text has more than the {model.longest_tokens} tokens that can be embedded."
                ) from None
            raise
    try:
        document = json.loads(content)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise UnavailableError(
            f"{settings.embedding_model_id} replied with something else than a JSON object."
        )
    return document, reply.get("ResponseMetadata", {}).get("HTTPHeaders", {})


def _is_too_long(error: ClientError) -> bool:
    details = error.response.get("Error", {})
    return details.get("Code") == "ValidationException" and bool(TOO_LONG.search(details.get("Message", "")))


def _check(vectors: Any, texts: int, settings: PipelineSettings) -> None:
    model_id, wanted = settings.embedding_model_id, settings.embedding_dimensions
    if not isinstance(vectors, list) or len(vectors) != texts:
        count = len(vectors) if isinstance(vectors, list) else 0
        raise ConfigurationError(f"{model_id} returned {count} vectors for {texts} texts.")
    for vector in vectors:
        length = len(vector) if isinstance(vector, list) else 0
        if length != wanted:
            raise ConfigurationError(
                f"{model_id} returned a vector of {length} numbers, but EMBEDDING_DIMENSIONS is {wanted}."
            )
        try:
            usable = isfinite(hypot(*vector))
        except TypeError:
            usable = False
        if not usable:
            raise ConfigurationError(f"{model_id} returned a vector with something else than numbers in it.")


def _normalised(vector: Sequence[float]) -> list[float]:
    """`vector` at length 1, since the index compares by inner product; one of zeros stays as it is."""
    norm = hypot(*vector) or 1.0
    # The index keeps 32-bit numbers: further digits would only make files and requests longer.
    return [round(number / norm, 9) for number in vector]


def _tokens(told: Any, headers: Mapping[str, str], texts: Sequence[str]) -> int:
    count = headers.get(TOKENS_HEADER, "") if told is None else str(told)
    return int(count) if count.isascii() and count.isdigit() else sum(map(estimate_tokens, texts))


def _titan_body(settings: PipelineSettings, texts: Sequence[str], purpose: Purpose) -> dict[str, Any]:
    return {"inputText": texts[0], "dimensions": settings.embedding_dimensions, "normalize": True}


def _cohere_body(settings: PipelineSettings, texts: Sequence[str], purpose: Purpose) -> dict[str, Any]:
    return {
        "texts": list(texts),
        "input_type": f"search_{purpose}",
        "embedding_types": ["float"],
        "output_dimension": settings.embedding_dimensions,
        "truncate": "NONE",
    }


def _cohere_vectors(document: Mapping[str, Any]) -> Any:
    """A reply holds its vectors by type, or as a plain list where one type was asked for."""
    embeddings = document.get("embeddings")
    return embeddings.get("float") if isinstance(embeddings, dict) else embeddings


_MODELS = {
    # https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html
    TITAN_TEXT_EMBEDDINGS_V2: _Model(
        texts_per_call=1,
        longest_tokens=8192,
        body=_titan_body,
        vectors=lambda document: [document.get("embedding")],
        tokens=lambda document: document.get("inputTextTokenCount"),
        is_normalised=True,
    ),
    # https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed-v4.html
    COHERE_EMBED_V4: _Model(
        texts_per_call=96,
        longest_tokens=128_000,
        body=_cohere_body,
        vectors=_cohere_vectors,
        tokens=lambda document: None,
        is_normalised=False,
    ),
}
