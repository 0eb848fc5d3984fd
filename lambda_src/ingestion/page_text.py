"""All text of a web page, however its elements are nested."""

import re
from html.parser import HTMLParser

from rag.chunking import Block, Kind

HIDDEN = frozenset(("script", "style", "noscript", "template", "svg", "math", "iframe", "object", "title"))
HEADINGS = {f"h{level}": level for level in range(1, 7)}
KINDS: dict[str, Kind] = {**dict.fromkeys(HEADINGS, "heading"), "tr": "row", "pre": "code"}
# Elements that begin a line of their own.
BLOCKS = frozenset(
    (
        *(
            "address",
            "article",
            "aside",
            "blockquote",
            "body",
            "br",
            "caption",
            "center",
            "dd",
            "details",
            "dialog",
        ),
        *(
            "div",
            "dl",
            "dt",
            "fieldset",
            "figcaption",
            "figure",
            "footer",
            "form",
            "header",
            "hr",
            "html",
            "legend",
        ),
        *("li", "main", "menu", "nav", "ol", "option", "p", "section", "select", "summary", "table", "tbody"),
        *("tfoot", "thead", "ul", *KINDS),
    )
)
CELLS = ("td", "th")
# What an old browser made conditions of is a comment to others, and an error to the parser.
MARKED_SECTION = re.compile(r"<!\[[^>]*+>?")


def all_text(markup: str) -> list[Block]:
    """Every visible text in order, with headings, rows of tables and preformatted text as what they are."""
    reader = _Reader()
    reader.feed(MARKED_SECTION.sub("", markup))
    reader.close()
    reader.finish_block()
    return reader.blocks


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._parts: list[str] = []
        self._inside = ""
        self._hidden = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in HIDDEN and not self._hidden:
            self._hidden = tag
        elif tag in CELLS:
            self._parts.append(" ")
        elif tag in BLOCKS and not (self._inside == "tr" and tag not in KINDS):
            self.finish_block()
            self._inside = tag if tag in KINDS else ""

    def handle_endtag(self, tag: str) -> None:
        if tag == self._hidden:
            self._hidden = ""
        elif tag == self._inside or (tag in BLOCKS and self._inside != "tr"):
            self.finish_block()

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._parts.append(data)

    def finish_block(self) -> None:
        """Make a block of what was read since the last one."""
        text = "".join(self._parts)
        kind = KINDS.get(self._inside, "paragraph")
        text = text.strip("\n") if kind == "code" else " ".join(text.split())
        if text.strip():
            self.blocks.append(Block(text, kind, HEADINGS.get(self._inside, 0)))
        self._parts.clear()
        self._inside = ""
