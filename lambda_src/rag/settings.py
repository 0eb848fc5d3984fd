"""What the pipeline must know: models, vector store, and how long it may wait."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from rag.environment import Environment

TITAN_TEXT_EMBEDDINGS_V2 = "amazon.titan-embed-text-v2:0"
COHERE_EMBED_V4 = "cohere.embed-v4:0"
# Lengths of vector that each model makes. A profile of a model (`eu.cohere.embed-v4:0`) makes the same ones.
# https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed-v4.html
EMBEDDING_DIMENSIONS: dict[str, tuple[int, ...]] = {
    TITAN_TEXT_EMBEDDINGS_V2: (256, 512, 1024),
    COHERE_EMBED_V4: (256, 512, 1024, 1536),
}
SEARCH_MODES = ("vector", "hybrid")


@dataclass(frozen=True, kw_only=True)
class PipelineSettings:
    """Times are in seconds; `opensearch_endpoint` is an https address, `index_alias` the readers' name.

    Plain http is taken on the loopback interface only, where no wire carries it. `answer_temperature` is None
    where the model chooses itself: newer models refuse the parameter.
    """

    region: str
    opensearch_endpoint: str
    index_alias: str
    embedding_model_id: str
    embedding_dimensions: int
    answer_model_id: str
    bedrock_read_timeout_seconds: int
    bedrock_max_attempts: int
    retrieval_count: int
    search_mode: str
    context_tokens: int
    answer_max_tokens: int
    answer_temperature: float | None

    @property
    def embedding_base_model_id(self) -> str:
        """The embedding model without the geography of a profile."""
        return base_model(self.embedding_model_id)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Read every variable; raise one `ConfigurationError` that names all faults."""
        environment = Environment(environ)
        settings = cls.read(environment)
        environment.finish()
        return settings

    @classmethod
    def read(cls, environment: Environment) -> Self:
        """Read every variable and leave the faults in `environment`, for a caller that reads more of them."""
        model_id, dimensions = _embedding(environment)
        return cls(
            region=environment.text("AWS_REGION"),
            opensearch_endpoint=environment.url("OPENSEARCH_ENDPOINT", "https", loopback=("http",)),
            index_alias=environment.text("INDEX_ALIAS"),
            embedding_model_id=model_id,
            embedding_dimensions=dimensions,
            answer_model_id=environment.text("ANSWER_MODEL_ID"),
            bedrock_read_timeout_seconds=environment.integer("BEDROCK_READ_TIMEOUT_SECONDS", 1, 900),
            bedrock_max_attempts=environment.integer("BEDROCK_MAX_ATTEMPTS", 1, 10),
            retrieval_count=environment.integer("RETRIEVAL_COUNT", 1, 100),
            search_mode=environment.choice("SEARCH_MODE", *SEARCH_MODES),
            context_tokens=environment.integer("CONTEXT_TOKENS", 100, 1_000_000),
            answer_max_tokens=environment.integer("ANSWER_MAX_TOKENS", 1, 128_000),
            answer_temperature=environment.optional_number("ANSWER_TEMPERATURE", 0, 1),
        )


def base_model(model_id: str) -> str:
    """`cohere.embed-v4:0` for that model and for each of its profiles; any other id as it is."""
    return next((model for model in EMBEDDING_DIMENSIONS if model_id.endswith(f".{model}")), model_id)


def _embedding(environment: Environment) -> tuple[str, int]:
    """Model and vector length, which must fit each other: a call's body differs from model to model."""
    model_id = environment.text("EMBEDDING_MODEL_ID")
    allowed = EMBEDDING_DIMENSIONS.get(base_model(model_id))
    if model_id and allowed is None:
        environment.fault(
            f"EMBEDDING_MODEL_ID is {model_id!r}, it must be {' or '.join(EMBEDDING_DIMENSIONS)}"
        )
    lengths = allowed or EMBEDDING_DIMENSIONS[COHERE_EMBED_V4]
    return model_id, environment.integer_choice("EMBEDDING_DIMENSIONS", *lengths)
