"""What the pipeline must know: models, vector store, and how long it may wait."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from rag.environment import Environment

TITAN_TEXT_EMBEDDINGS_V2 = "amazon.titan-embed-text-v2:0"


@dataclass(frozen=True, kw_only=True)
class PipelineSettings:
    """Times are in seconds; `opensearch_endpoint` is an https address, `index_alias` the readers' name."""

    region: str
    opensearch_endpoint: str
    index_alias: str
    embedding_model_id: str
    embedding_dimensions: int
    answer_model_id: str
    bedrock_read_timeout_seconds: int
    bedrock_max_attempts: int
    retrieval_count: int

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
        return cls(
            region=environment.text("AWS_REGION"),
            opensearch_endpoint=environment.url("OPENSEARCH_ENDPOINT", "https"),
            index_alias=environment.text("INDEX_ALIAS"),
            # The body of an embedding call differs from model to model; ours is written for Titan.
            embedding_model_id=environment.choice("EMBEDDING_MODEL_ID", TITAN_TEXT_EMBEDDINGS_V2),
            embedding_dimensions=environment.integer_choice("EMBEDDING_DIMENSIONS", 256, 512, 1024),
            answer_model_id=environment.text("ANSWER_MODEL_ID"),
            bedrock_read_timeout_seconds=environment.integer("BEDROCK_READ_TIMEOUT_SECONDS", 1, 900),
            bedrock_max_attempts=environment.integer("BEDROCK_MAX_ATTEMPTS", 1, 10),
            retrieval_count=environment.integer("RETRIEVAL_COUNT", 1, 100),
        )
