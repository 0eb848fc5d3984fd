"""What models cost: the table by which the pipeline itself estimates, lambda_src/rag/prices.py."""

import sys
from pathlib import Path

PIPELINE = Path(__file__).resolve().parents[1] / "lambda_src"


def usd_per_million_tokens(model_id: str) -> tuple[float, float] | None:
    """Price of tokens that go in and of those that come out; None for a model that the table does not have."""
    if str(PIPELINE) not in sys.path:
        # Where the functions run, this folder is the root of their bundle.
        sys.path.append(str(PIPELINE))
    from rag.prices import price_of

    price = price_of(model_id)
    return (price.input_usd, price.output_usd) if price else None
