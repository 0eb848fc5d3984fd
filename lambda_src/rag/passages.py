"""What a search asks for and what it finds."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Which documents a search may use: any of `document_keys`, or any below one of `prefixes`; none means all."""

    document_keys: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A piece of a document that fits the question. A higher `score` is a better fit, within one search only.

    `page` counts from 1 and is None where a document has no pages; `heading` is the path of headings above it.
    """

    text: str
    document_key: str
    chunk_number: int
    score: float
    page: int | None = None
    heading: str = ""
