"""What the ingestion function must know beside the pipeline's settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self

from rag.environment import Environment
from rag.settings import PipelineSettings

Generation = Literal["NEXTGEN", "CLASSIC"]


@dataclass(frozen=True, kw_only=True)
class IngestionSettings:
    """`collection_generation` decides who gives the chunks their ids: on CLASSIC it is the collection.

    `embedding_tokens_per_minute` is the share of one run; the event source limits how many there are at once.
    """

    pipeline: PipelineSettings
    data_lake_bucket: str
    collection_generation: Generation
    chunk_tokens: int
    chunk_overlap_tokens: int
    embedding_tokens_per_minute: int
    queue_url: str
    dead_letter_queue_url: str
    maximum_receives: int

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Read every variable; raise one `ConfigurationError` that names all faults."""
        environment = Environment(environ)
        generation = environment.choice("COLLECTION_GENERATION", "NEXTGEN", "CLASSIC")
        settings = cls(
            pipeline=PipelineSettings.read(environment),
            data_lake_bucket=environment.text("DATA_LAKE_BUCKET"),
            collection_generation="CLASSIC" if generation == "CLASSIC" else "NEXTGEN",
            chunk_tokens=environment.integer("CHUNK_TOKENS", 2, 8000),
            chunk_overlap_tokens=environment.integer("CHUNK_OVERLAP_TOKENS", 0, 4000),
            embedding_tokens_per_minute=environment.integer("EMBEDDING_TOKENS_PER_MINUTE", 1, 999_999_999),
            queue_url=environment.url("QUEUE_URL", "https", loopback=("http",)),
            dead_letter_queue_url=environment.url("DEAD_LETTER_QUEUE_URL", "https", loopback=("http",)),
            maximum_receives=environment.integer("MAXIMUM_RECEIVES", 1, 1000),
        )
        if settings.chunk_overlap_tokens * 2 >= settings.chunk_tokens:
            environment.fault("CHUNK_OVERLAP_TOKENS must be under half of CHUNK_TOKENS")
        environment.finish()
        return settings
