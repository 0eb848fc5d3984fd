"""What the ingestion function must know beside the pipeline's settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from rag.environment import Environment
from rag.settings import PipelineSettings


@dataclass(frozen=True, kw_only=True)
class IngestionSettings:
    """`collection_generation` is NEXTGEN or CLASSIC and decides who gives the chunks their ids."""

    pipeline: PipelineSettings
    data_lake_bucket: str
    collection_generation: str

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Read every variable; raise one `ConfigurationError` that names all faults."""
        environment = Environment(environ)
        settings = cls(
            pipeline=PipelineSettings.read(environment),
            data_lake_bucket=environment.text("DATA_LAKE_BUCKET"),
            collection_generation=environment.choice("COLLECTION_GENERATION", "NEXTGEN", "CLASSIC"),
        )
        environment.finish()
        return settings
