"""The bodies of embedding models: Titan Text Embeddings V2 and Cohere Embed v4.

https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html
https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed-v4.html
"""

from typing import Any

from tests.standins.bedrock_errors import invalid
from tests.standins.embeddings import embedding, tokens
from tests.standins.loopback import Reply, json_reply

TITAN = "amazon.titan-embed-text-v2:0"
COHERE = "cohere.embed-v4:0"
TITAN_MAX_TOKENS = 8192
TITAN_MAX_CHARACTERS = 50_000
COHERE_MAX_TEXTS = 96
TITAN_FIELDS = {"inputText", "dimensions", "normalize", "embeddingTypes"}
COHERE_FIELDS = {
    "texts", "input_type", "embedding_types", "output_dimension", "truncate", "max_tokens", "images", "inputs",
}  # fmt: skip
COHERE_INPUT_TYPES = ("search_document", "search_query", "classification", "clustering")


def embed(model_id: str, body: dict[str, Any]) -> Reply:
    if model_id == TITAN:
        return _titan(body)
    if model_id == COHERE or model_id.endswith(f".{COHERE}"):
        return _cohere(body)
    raise invalid("The provided model identifier is invalid.")


def _titan(body: dict[str, Any]) -> Reply:
    text, dimensions = body.get("inputText"), body.get("dimensions", 1024)
    if unknown := set(body) - TITAN_FIELDS:
        raise invalid(f"Malformed input request: extraneous key {sorted(unknown)} is not permitted")
    if not isinstance(text, str) or not text:
        raise invalid("Malformed input request: #/inputText: expected minLength: 1, actual: 0")
    if dimensions not in (256, 512, 1024):
        raise invalid(f"Malformed input request: #/dimensions: {dimensions} is not a valid enum value")
    count = len(tokens(text))
    if count > TITAN_MAX_TOKENS or len(text) > TITAN_MAX_CHARACTERS:
        raise invalid(
            f"400 Bad Request: Too many input tokens. Max input tokens: {TITAN_MAX_TOKENS}, "
            f"request input token count: {count}"
        )
    vector = embedding(text, dimensions)
    document = {"embedding": vector, "embeddingsByType": {"float": vector}, "inputTextTokenCount": count}
    return json_reply(document, headers=_counted(count))


def _cohere(body: dict[str, Any]) -> Reply:
    texts, dimensions = body.get("texts"), body.get("output_dimension", 1536)
    if unknown := set(body) - COHERE_FIELDS:
        raise invalid(f"Malformed input request: extraneous key {sorted(unknown)} is not permitted")
    if not isinstance(texts, list) or not 0 < len(texts) <= COHERE_MAX_TEXTS:
        raise invalid(f"texts must hold 1 to {COHERE_MAX_TEXTS} texts")
    if not all(isinstance(text, str) and text for text in texts):
        raise invalid("a text must not be empty")
    if body.get("input_type") not in COHERE_INPUT_TYPES:
        raise invalid(f"input_type must be one of {', '.join(COHERE_INPUT_TYPES)}")
    if dimensions not in (256, 512, 1024, 1536):
        raise invalid(f"output_dimension {dimensions} is not supported")
    vectors = [embedding(text, dimensions) for text in texts]
    by_type = body.get("embedding_types") is not None
    document = {
        "id": "stand-in",
        "texts": texts,
        "embeddings": {"float": vectors} if by_type else vectors,
        "response_type": "embeddings_by_type" if by_type else "embeddings_floats",
    }
    return json_reply(document, headers=_counted(sum(len(tokens(text)) for text in texts)))


def _counted(tokens_read: int) -> dict[str, str]:
    return {"x-amzn-bedrock-input-token-count": str(tokens_read), "x-amzn-bedrock-invocation-latency": "1"}
