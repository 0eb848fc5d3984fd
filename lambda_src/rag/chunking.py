"""Cuts a document's blocks into overlapping chunks at the most natural places. Deterministic.

The blocks become one text with marks, out of which every chunk is a slice: the work per chunk is a few searches in C.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

from rag.text_borders import later_border, latest_border
from rag.tokens import EIGHTHS, weight

MINIMUM_SIZE_TOKENS = 2
LIGHTEST, HEAVIEST = 2, 11  # what one character can weigh (rag/tokens.py)
# A chunk ends at a heading or at the end of a table once it has a quarter of its size; a smaller one takes more in.
SMALL = 4
TITLE_CHARACTERS = 120
# White space as `str.strip` sees it and what shows nothing either: zero-width characters, fillers, a blank in Braille.
INVISIBLE = (
    " \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f"
    "\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u2800\u3164\ufe0e\ufe0f"
    "\ufeff\uffa0\0"
)
Kind = Literal["heading", "paragraph", "row", "code"]


class Block(NamedTuple):
    """A part of a document that belongs together. `level` is a heading's, from 1; `page` counts from 1."""

    text: str
    kind: Kind = "paragraph"
    level: int = 0
    page: int | None = None


class Chunk(NamedTuple):
    """A piece to be embedded. `heading` is the path of headings in force where its new text begins, `page` too.

    The new text begins after what the chunk repeats of the one before. A heading's own line stands in `text` as well.
    """

    text: str
    heading: str
    page: int | None


def chunk_blocks(blocks: Sequence[Block], size_tokens: int, overlap_tokens: int) -> list[Chunk]:
    """Chunks of at most `size_tokens` by `estimate_tokens`, in order, none blank, together holding all the text.

    A chunk that goes on where the one before had to stop repeats at most the last `overlap_tokens` of it, beginning
    with a sentence or a word; after a heading, and between rows, nothing is repeated.
    """
    if size_tokens < MINIMUM_SIZE_TOKENS or not 0 <= overlap_tokens * 2 < size_tokens:
        raise ValueError(
            f"size_tokens is {size_tokens} and overlap_tokens {overlap_tokens}: the size must be at least "
            f"{MINIMUM_SIZE_TOKENS} and the overlap under half of it."
        )
    blocks = [block for block in blocks if block.text.strip(INVISIBLE)]
    document = _Document(blocks)
    chunks: list[Chunk] = []
    start = new = 0
    while new < len(document.text):
        small = _fit(document.text, new, size_tokens * EIGHTHS // SMALL)
        end = document.end(new, small, _fit(document.text, start, size_tokens * EIGHTHS))
        if document.text[new:end].strip(INVISIBLE):
            piece = document.text[start:end].rstrip().lstrip("\n")
            chunks.append(Chunk(piece, document.heading(new), document.block_at(new).page))
        start, new = document.overlap(start, end, overlap_tokens * EIGHTHS), end
    return chunks


class _Document:
    """All blocks as one text. `starts` are their offsets; `sections` the offsets at which a chunk should end early."""

    def __init__(self, blocks: list[Block]) -> None:
        self._blocks = blocks
        joints = ["\n" if one.kind == other.kind == "row" else "\n\n" for one, other in pairwise(blocks)]
        parts = (
            [block.text + joint for block, joint in zip(blocks, [*joints, ""], strict=True)] if blocks else []
        )
        self.text = "".join(parts)
        self._starts = list(accumulate(map(len, parts), initial=0))[: len(parts)]
        self._borders, self._sections = [], []
        self._headings: list[int] = []
        self._paths: list[str] = []
        self._mark()

    def _mark(self) -> None:
        """No border lies between a heading and what follows it; headings in a row count as one."""
        titles: dict[int, str] = {}
        before: Kind = "paragraph"
        for start, block in zip(self._starts, self._blocks, strict=True):
            kind = block.kind
            if before != "heading":
                self._borders.append(start)
                if kind == "heading" or (kind == "row") != (before == "row"):
                    self._sections.append(start)
            if kind == "heading":
                titles = {level: title for level, title in titles.items() if level < block.level}
                titles[block.level] = " ".join(block.text.split())[:TITLE_CHARACTERS]
                self._headings.append(start if before != "heading" else self._headings.pop())
                del self._paths[len(self._headings) - 1 :]
                self._paths.append(" > ".join(titles.values()))
            before = kind

    def block_at(self, offset: int) -> Block:
        return self._blocks[bisect_right(self._starts, offset) - 1]

    def heading(self, offset: int) -> str:
        number = bisect_right(self._headings, offset)
        return self._paths[number - 1] if number else ""

    def end(self, new: int, small: int, limit: int) -> int:
        """Where to end a chunk whose text is new from `new` on: after `small` if it can, at `limit` at the latest."""
        number = bisect_right(self._sections, small)
        if number < len(self._sections) and self._sections[number] <= limit:
            return self._sections[number]
        if limit == len(self.text):
            return limit
        border = self._borders[bisect_right(self._borders, limit) - 1]
        if border > small:
            return border
        code = self.block_at(limit - 1).kind == "code"
        return latest_border(self.text, new, limit, code)

    def overlap(self, start: int, end: int, budget: int) -> int:
        """Where the chunk after that from `start` to `end` begins; `end` itself to repeat nothing."""
        before = self.block_at(end - 1).kind
        if not budget or _holds(self._sections, end) or (before == "row" and _holds(self._starts, end)):
            return end
        number = bisect_left(self._sections, end)
        section = self._sections[number - 1] if number else 0
        low = max(_fit_back(self.text, end, budget), (start + end) // 2)
        return section if section >= low else later_border(self.text, low, end, before == "code")


def _holds(numbers: list[int], number: int) -> bool:
    """Whether `number` is among `numbers`, which are sorted."""
    place = bisect_left(numbers, number)
    return place < len(numbers) and numbers[place] == number


def _fit(text: str, start: int, budget: int) -> int:
    """The last end at which the text from `start` weighs no more than `budget`."""
    return start + _fitting(text[start : start + budget // LIGHTEST], budget)


def _fit_back(text: str, end: int, budget: int) -> int:
    """The first start from which the text until `end` weighs no more than `budget`."""
    return end - _fitting(text[max(0, end - budget // LIGHTEST) : end][::-1], budget)


def _fitting(window: str, budget: int) -> int:
    """How many characters at the start of `window` weigh no more than `budget`, where no more than all can."""
    if window.isascii():
        return len(window)
    whole = weight(window)
    if whole <= budget:
        return len(window)
    count = len(window) * budget // whole
    room = budget - weight(window[:count])
    # The guess is close; so many characters at least are too many, or fit in any case.
    while step := room // HEAVIEST:
        if step < 0:
            room += weight(window[count + step : count])
        else:
            room -= weight(window[count : count + step])
        count += step
    return count
