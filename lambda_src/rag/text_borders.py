"""Where a text without structure is best cut: at a sentence, a line, a word, between characters that can be parted."""

from unicodedata import category

# A sentence ends with a blank after its mark, or with a wide mark, after which no blank is written.
SENTENCES = (". ", "! ", "? ", ".\n", "!\n", "?\n", "\n\n")
WIDE_SENTENCES = (
    *SENTENCES,
    *("。", "！", "？", "．", "।", "؟ ", "۔ ", "።"),
)
WORDS = (" ", "\n", "\t")
WIDE_WORDS = (*WORDS, "，", "、", "；", "：", "\u3000", "\u200b", "\xa0")
LINES = ("\n",)
CLOSING = "”’」』）》】〉"
JOINER = "\u200d"
# Skin tones and the tags that follow an emoji flag; other marks have the category M.
MODIFIERS = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
# More characters than this on one base are no letter of any language.
GLUE_STEPS = 16


def latest_border(text: str, low: int, high: int, code: bool) -> int:
    """The best place to end a piece that begins at `low`: the last one of its kind not after `high`, never `low`."""
    wide = not text[low:high].isascii()
    middle, late = (low + high) // 2, high - (high - low) // 4
    sentences = WIDE_SENTENCES if wide else SENTENCES
    for marks, begin in ((LINES if code else sentences, middle), (LINES, middle)):
        border = _last(text, marks, begin, high)
        if border > begin:
            return border
    border = _last(text, WIDE_WORDS if wide else WORDS, late, high)
    return border if border > late else _unglued(text, low, high)


def later_border(text: str, low: int, high: int, code: bool) -> int:
    """The first place from `low` on at which a sentence begins, else a word, else a character; before `high`."""
    wide = not text[low:high].isascii()
    sentences = WIDE_SENTENCES if wide else SENTENCES
    for marks in (LINES if code else sentences, LINES, WIDE_WORDS if wide else WORDS):
        border = _first(text, marks, low, high)
        if border < high:
            return border
    while low < high and glued(text, low):
        low += 1
    return low


def glued(text: str, position: int) -> bool:
    """Whether a cut at `position` would part a character from its marks."""
    character = text[position : position + 1]
    if character.isascii():
        return False
    return (
        character in MODIFIERS or category(character)[0] == "M" or JOINER in text[position - 1 : position + 1]
    )


def _unglued(text: str, low: int, high: int) -> int:
    for position in range(high, max(low, high - GLUE_STEPS), -1):
        if not glued(text, position):
            return position
    return high


def _last(text: str, marks: tuple[str, ...], low: int, high: int) -> int:
    """The end of the last mark that lies wholly before `high`; `low` when there is none."""
    best = low
    for mark in marks:
        found = text.rfind(mark, best, high)
        if found >= 0:
            best = found + len(mark)
    return _after_closing(text, best, high) if best > low else low


def _first(text: str, marks: tuple[str, ...], low: int, high: int) -> int:
    """The end of the first mark that ends before `high`; `high` when there is none."""
    best = high
    for mark in marks:
        found = text.find(mark, low, best)
        if found >= 0:
            best = found + len(mark)
    return min(_after_closing(text, best, high), high)


def _after_closing(text: str, position: int, high: int) -> int:
    """Past the quotation marks that close a wide sentence."""
    while position < high and text[position] in CLOSING:
        position += 1
    return position
