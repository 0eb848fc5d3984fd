"""What one run of ingestion may embed, and what it needs for a chunk, fits what the function counts on."""

from dataclasses import replace

import pytest

from components.config_sections import IngestionConfig
from components.pacing import least_share, share_of_a_run
from ingestion import embedder


@pytest.mark.parametrize(
    ("total", "runs", "share"), [(150_000, 2, 75_000), (100_000, 8, 12_500), (999, 10, 99)]
)
def test_all_runs_at_once_keep_to_the_configured_number(total: int, runs: int, share: int) -> None:
    config = replace(IngestionConfig(), tokens_per_minute=total, maximum_concurrency=runs)
    assert share_of_a_run(config) == share
    assert share * runs <= total, "Bedrock would refuse calls of the whole account"


@pytest.mark.parametrize(
    ("chunk_tokens", "seconds", "share"), [(400, 300, 240), (400, 30, 2400), (401, 900, 81), (50, 900, 10)]
)
def test_a_chunk_is_embedded_in_a_third_of_a_run(chunk_tokens: int, seconds: int, share: int) -> None:
    config = replace(IngestionConfig(), chunk_tokens=chunk_tokens, timeout_seconds=seconds)
    assert least_share(config) == share
    # So many of the least share fit into the time that the function itself counts with.
    assert embedder.chunks_per_part([chunk_tokens] * 2, 2 * share, seconds) == 2
    assert embedder.chunks_per_part([chunk_tokens] * 2, 2 * (share - 1), seconds) == 1


def test_the_defaults_leave_a_run_many_chunks() -> None:
    config = IngestionConfig()
    assert share_of_a_run(config) > 100 * least_share(config), "a document would be embedded chunk by chunk"
