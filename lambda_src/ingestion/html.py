"""Reads web pages: the main text as trafilatura finds it, or all text of a page without one."""

import logging
import re
from codecs import lookup
from collections.abc import Iterator
from typing import Any

from ingestion.page_text import all_text
from ingestion.text import clean, decode
from rag.chunking import INVISIBLE, Block

DECLARED_ENCODING = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
DECLARED_WITHIN = 4096
# Judging a page takes time by its elements: about ten seconds for so many. Larger ones are data rather than articles.
MAX_ELEMENTS = 100_000
# A shorter main text may be a notice beside the real content, and a page of little text is soon read whole.
SHORT_CHARACTERS = 200
# An item's text without that of the lists in it.
OWN_TEXT = "./text() | ./*[not(self::list)]//text()"
LIBRARIES = ("trafilatura", "htmldate", "courlan", "justext", "charset_normalizer")


def html_blocks(content: bytes) -> Iterator[Block]:
    """Headings, paragraphs, rows of tables and code of a page; no block when the page shows no text."""
    markup = _markup(content)
    tree = _tree(markup)
    blocks = list(_main_text(tree)) if tree is not None else []
    if sum(len(block.text) for block in blocks) < SHORT_CHARACTERS:
        blocks = all_text(markup)
    title = " ".join(clean(tree.findtext(".//title") or "").split()) if tree is not None else ""
    if title.strip(INVISIBLE) and not any(block.kind == "heading" and block.level == 1 for block in blocks):
        yield Block(title, "heading", 1)
    for block in blocks:
        # A character may be written as a number, and then nobody has seen it yet.
        yield block._replace(text=clean(block.text))


def _markup(content: bytes) -> str:
    """The page as text. What it declares about its encoding counts unless it is UTF-8 anyway."""
    declared = DECLARED_ENCODING.search(content[:DECLARED_WITHIN])
    try:
        return clean(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        pass
    try:
        if declared and lookup(declared[1].decode()).name != "utf-8":
            return clean(content.decode(declared[1].decode()))
    except (LookupError, ValueError):
        pass
    return decode(content)


def _tree(markup: str) -> Any:
    """The page's elements; None where there are none, or too many or too deep to be judged."""
    from lxml.html import HTMLParser, document_fromstring

    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        tree = document_fromstring(markup.encode(), parser=parser)
    except Exception:
        # It raises errors of many kinds, and all text is there without a tree.
        return None
    # The parser leaves out what lies deeper than 255 elements, with everything behind.
    if any("depth" in entry.message for entry in parser.error_log):
        return None
    return tree if sum(1 for _ in tree.iter()) <= MAX_ELEMENTS else None


def _main_text(tree: Any) -> Iterator[Block]:
    from trafilatura import bare_extraction

    # They write about odd pages, with pieces of them.
    for library in LIBRARIES:
        logging.getLogger(library).setLevel(logging.CRITICAL)
    try:
        document: Any = bare_extraction(tree, include_comments=False, with_metadata=False)
    except Exception:
        # As above: what it cannot judge is read whole.
        return
    for element in () if document is None else document.body:
        yield from _blocks(element)


def _blocks(element: Any) -> Iterator[Block]:
    """One element of the main text, whose names are those of TEI."""
    if element.tag == "head":
        yield Block(_text(element), "heading", int(element.get("rend", "h2")[-1:]))
    elif element.tag == "table":
        for row in element.iter("row"):
            yield Block(" | ".join(filter(None, map(_text, row))), "row")
    elif element.tag == "list":
        items = (" ".join("".join(item.xpath(OWN_TEXT)).split()) for item in element.iter("item"))
        yield Block("\n".join(f"- {item}" for item in items if item))
    elif element.tag == "code":
        yield Block("".join(element.itertext()), "code")
    else:
        yield Block(_text(element))


def _text(element: Any) -> str:
    return " ".join(" ".join(element.itertext()).split())
