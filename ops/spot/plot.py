"""A line of characters that shows how a value went."""

from collections.abc import Sequence
from typing import TextIO

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN = "_.:-=+*#"


def shows_blocks(stream: TextIO) -> bool:
    """Whether block characters can be written to `stream`."""
    return (stream.encoding or "").lower().replace("-", "").startswith("utf")


def sparkline(values: Sequence[float | None], *, blocks: bool) -> str:
    """One character for each value, from the lowest to the highest of them; a blank where there is none."""
    known = [value for value in values if value is not None]
    if not known:
        return " " * len(values)
    low, high = min(known), max(known)
    levels = BLOCKS if blocks else PLAIN

    def level(value: float) -> str:
        if high == low:
            return levels[0]
        return levels[min(len(levels) - 1, int((value - low) / (high - low) * len(levels)))]

    return "".join(" " if value is None else level(value) for value in values)
