"""How many tokens a text has, estimated without a model's vocabulary. Deterministic and additive."""

# Eighths of a token per UTF-8 byte and per character: `3 * bytes - characters` makes a quarter of a token of an ASCII
# letter, five eighths of a Cyrillic or accented one, one of a Chinese character, and eleven eighths of an emoji.
# Models' own counts differ from each other by more than this does from any of them (docs/rag.md).
EIGHTHS = 8


def weight(text: str) -> int:
    """Eighths of a token. The weight of two texts together is the sum of both."""
    characters = len(text)
    size = characters if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return 3 * size - characters


def estimate_tokens(text: str) -> int:
    """The estimated number of tokens, rounded up; 0 for an empty text only."""
    return -(-weight(text) // EIGHTHS)
