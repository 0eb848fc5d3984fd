"""What reading archived vectors back, or making them anew, costs and how long it takes. US East, in USD.

Times: https://docs.aws.amazon.com/AmazonS3/latest/userguide/restoring-objects-retrieval-options.html
Retrieval: https://aws.amazon.com/s3/pricing/ as of June 2026, requests also in
https://repost.aws/knowledge-center/s3-manage-data-retrieval. Regions differ by some tenths: for a decision, not a bill.
"""

from dataclasses import dataclass

from ops.model_prices import usd_per_million_tokens

BULK, STANDARD = "Bulk", "Standard"
GIB = 1024**3
# S3 Standard, for the restored copy.
COPY_USD_PER_GIB_MONTH = 0.023
DAYS_PER_MONTH = 30


@dataclass(frozen=True, kw_only=True)
class Retrieval:
    """One way to restore from one storage class."""

    hours: str
    usd_per_gib: float
    usd_per_thousand: float


RETRIEVALS = {
    ("GLACIER", BULK): Retrieval(hours="5 to 12 hours", usd_per_gib=0, usd_per_thousand=0),
    ("GLACIER", STANDARD): Retrieval(hours="3 to 5 hours", usd_per_gib=0.01, usd_per_thousand=0.05),
    ("DEEP_ARCHIVE", BULK): Retrieval(hours="up to 48 hours", usd_per_gib=0.0025, usd_per_thousand=0.025),
    ("DEEP_ARCHIVE", STANDARD): Retrieval(hours="up to 12 hours", usd_per_gib=0.02, usd_per_thousand=0.10),
}


def retrieval_usd(storage_class: str, tier: str, objects: int, size_bytes: int, days: int) -> float:
    """Fees of the retrieval, and the restored copy for so many days."""
    way = RETRIEVALS[(storage_class, tier)]
    gib = size_bytes / GIB
    copy = gib * COPY_USD_PER_GIB_MONTH * days / DAYS_PER_MONTH
    return gib * way.usd_per_gib + objects / 1000 * way.usd_per_thousand + copy


def embedding_usd(model_id: str, tokens: int) -> float | None:
    """None where the model's price is not known."""
    price = usd_per_million_tokens(model_id)
    return price[0] * tokens / 1_000_000 if price else None
