"""How many tokens a minute each run of ingestion may embed, and how many it needs. Pure."""

from math import ceil

from components.config_sections import IngestionConfig

# A run gives a third of its time to embeddings, and the rest to retries, the index and the lake: so counts
# lambda_src/ingestion, which a test holds this to.
EMBEDDING_THIRDS = 3


def share_of_a_run(config: IngestionConfig) -> int:
    """Tokens a minute of one run, so that as many as there can be at once keep to the configured number together."""
    return config.tokens_per_minute // config.maximum_concurrency


def least_share(config: IngestionConfig) -> int:
    """Tokens a minute at which a run embeds one chunk in the time that it has for that."""
    return ceil(config.chunk_tokens * EMBEDDING_THIRDS * 60 / config.timeout_seconds)
