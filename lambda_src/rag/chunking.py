"""Cuts a text into overlapping pieces at the most natural places. Deterministic."""

CHUNK_CHARACTERS = 1500
OVERLAP_CHARACTERS = 200
# Where a piece may end, the best first: paragraph, line, sentence, word.
BREAKS = ("\n\n", "\n", ". ", " ")


def chunk(text: str, size: int = CHUNK_CHARACTERS, overlap: int = OVERLAP_CHARACTERS) -> list[str]:
    """Pieces of at most `size` characters, none of them blank, that cover the text in order.

    A piece begins with at most the last `overlap` characters of the one before. `overlap` must be under half
    of `size`.
    """
    if not 0 <= overlap < size // 2:
        raise ValueError(f"overlap is {overlap}, it must be from 0 to under half of size ({size}).")
    text = text.replace("\r\n", "\n").strip()
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = _end(text, start, size)
        pieces.append(text[start:end].strip())
        start = end if end == len(text) else _overlapping_start(text, end, overlap)
    return [piece for piece in pieces if piece]


def _end(text: str, start: int, size: int) -> int:
    limit = start + size
    if limit >= len(text):
        return len(text)
    for separator in BREAKS:
        position = text.rfind(separator, start + size // 2, limit)
        if position >= 0:
            return position + len(separator)
    return limit


def _overlapping_start(text: str, end: int, overlap: int) -> int:
    """Back by `overlap`, then on to the next word, so that no piece begins inside a word."""
    blank = text.find(" ", end - overlap, end)
    return blank + 1 if blank >= 0 else end - overlap
