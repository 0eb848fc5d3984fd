"""What tokens cost at Amazon Bedrock, on demand, in US dollars: an estimate for trends, not a bill."""

from dataclasses import dataclass

from rag.results import Usage

# Read on 2026-12-01. Claude: AWS's price list (AmazonBedrockFoundationModels, us-east-1) as kept in litellm 1.110.2,
# model_prices_and_context_window_backup.json; the embedding models: the same file.
# A profile that keeps requests in one geography costs a tenth more for Claude from 4.5 on; a global one does not.
# The same source.
GEOGRAPHIES = ("us", "eu", "au", "jp", "apac")
GEOGRAPHY_PREMIUM = 1.1


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens."""

    input_usd: float
    output_usd: float


PRICES = {
    "anthropic.claude-haiku-4-5-20251001-v1:0": Price(1, 5),
    "anthropic.claude-haiku-5-5": Price(0.10, 0.50),
    "anthropic.claude-sonnet-4-5-20250929-v1:0": Price(3, 15),
    "anthropic.claude-sonnet-4-6": Price(3, 15),
    "anthropic.claude-sonnet-5": Price(2, 10),
    "anthropic.claude-sonnet-5-5": Price(2, 10),
    "anthropic.claude-opus-4-5-20251101-v1:0": Price(5, 25),
    "anthropic.claude-opus-4-6-v1": Price(5, 25),
    "anthropic.claude-opus-4-7": Price(5, 25),
    "anthropic.claude-opus-4-8": Price(5, 25),
    "anthropic.claude-opus-5": Price(5, 25),
    "anthropic.claude-opus-5-5": Price(4, 20),
    "anthropic.claude-fable-5": Price(10, 50),
    "anthropic.claude-fable-5-1": Price(10, 50),
    "amazon.titan-embed-text-v2:0": Price(0.02, 0),
    "cohere.embed-v4:0": Price(0.12, 0),
}


def price_of(model_id: str) -> Price | None:
    """The price of a model or of one of its profiles; None when it is not known."""
    geography, _, base = model_id.partition(".")
    if geography in GEOGRAPHIES and base.startswith("anthropic."):
        price = PRICES.get(base)
        factor = GEOGRAPHY_PREMIUM
        return price and Price(price.input_usd * factor, price.output_usd * factor)
    return PRICES.get(base if geography in (*GEOGRAPHIES, "global") else model_id)


def cost_usd(usage: Usage, answer_model_id: str, embedding_model_id: str) -> float | None:
    """What `usage` costs; None when the price of a model that was used is not known."""
    answering, embedding = price_of(answer_model_id), price_of(embedding_model_id)
    asked = usage.input_tokens + usage.output_tokens > 0
    if embedding is None or (asked and answering is None):
        return None
    millionths = usage.embedding_tokens * embedding.input_usd
    if answering:
        millionths += usage.input_tokens * answering.input_usd + usage.output_tokens * answering.output_usd
    return millionths / 1_000_000
