"""Turns the bytes of a document into blocks of text. What a document is, its suffix says."""

from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from ingestion.errors import DocumentError
from rag.chunking import INVISIBLE, Block

RAW_PREFIX = "raw/"
# Part of a document's fingerprint: with another one a document is indexed anew when it is handled again.
EXTRACTOR_VERSION = 1
MIB = 1024 * 1024
# All text of one document together; a table whose columns have long names has far more text than bytes.
MAX_TEXT_CHARACTERS = 40_000_000
# What files of other kinds begin with, which somebody gave a wrong suffix.
SIGNATURES = {
    b"%PDF-": "a PDF file",
    b"PK\x03\x04": "a ZIP archive or an office document",
    b"\x1f\x8b": "compressed with gzip",
    b"\xd0\xcf\x11\xe0": "an old office document",
    b"PAR1": "a Parquet file",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
}
# How long a document may be read where the caller does not say.
READ_SECONDS = 120.0


class Format(NamedTuple):
    """How files of a kind are read: by `module.reader`, imported when the first one comes, up to `max_bytes`.

    `apart` means in a process of its own, since its libraries take as much time and memory as a file wants. The limits
    are what fits into 1 GiB of memory, where text with one emoji takes four bytes a character, several times.
    """

    module: str
    reader: str
    max_bytes: int
    apart: bool = False


FORMATS = {
    ".txt": Format("ingestion.markdown", "read_text", 20 * MIB),
    ".md": Format("ingestion.markdown", "read_markdown", 20 * MIB),
    ".markdown": Format("ingestion.markdown", "read_markdown", 20 * MIB),
    ".pdf": Format("ingestion.pdf", "pdf_blocks", 100 * MIB, apart=True),
    ".html": Format("ingestion.html", "html_blocks", 10 * MIB, apart=True),
    ".htm": Format("ingestion.html", "html_blocks", 10 * MIB, apart=True),
    ".csv": Format("ingestion.tables", "csv_blocks", 20 * MIB),
    ".tsv": Format("ingestion.tables", "csv_blocks", 20 * MIB),
    ".jsonl": Format("ingestion.json_lines", "json_lines_blocks", 20 * MIB),
    ".ndjson": Format("ingestion.json_lines", "json_lines_blocks", 20 * MIB),
    ".parquet": Format("ingestion.tables", "parquet_blocks", 20 * MIB, apart=True),
}
SUFFIXES = tuple(FORMATS)
BINARY_SUFFIXES = (".pdf", ".parquet")
MAX_DOCUMENT_BYTES = max(kind.max_bytes for kind in FORMATS.values())


def is_document(key: str) -> bool:
    """Whether the object is a document that can be read: below `raw/`, with a suffix of `SUFFIXES`."""
    return key.startswith(RAW_PREFIX) and key.lower().endswith(SUFFIXES)


def max_bytes(key: str) -> int:
    """How large the document may be; 0 for one of no known kind."""
    kind = FORMATS.get(_suffix(key))
    return kind.max_bytes if kind else 0


def extract(key: str, content: bytes, seconds: float = READ_SECONDS) -> list[Block]:
    """The document's text, clean and in order; no block for a document of 0 bytes or without visible text.

    Raises `DocumentError` for content that cannot be read, or not within `seconds`; for nothing else in it.
    """
    suffix = _suffix(key)
    kind = FORMATS.get(suffix)
    if kind is None:
        raise DocumentError(f"{key} is of no kind that is read, which are {', '.join(SUFFIXES)}.")
    if len(content) > kind.max_bytes:
        raise DocumentError(
            f"{key} has {len(content)} bytes, a document with the suffix {suffix} may have at most "
            f"{kind.max_bytes}: split it."
        )
    try:
        return _reader().read(suffix, content, seconds) if kind.apart and content else read(suffix, content)
    except DocumentError as error:
        raise DocumentError(f"{key} cannot be indexed: {error}.") from None


def read(suffix: str, content: bytes) -> list[Block]:
    """The blocks that show something, read in this process. The key is not yet part of an error's text."""
    if not content:
        return []
    kind = FORMATS[suffix]
    other = next((name for signature, name in SIGNATURES.items() if content.startswith(signature)), None)
    if other and suffix not in BINARY_SUFFIXES:
        raise DocumentError(f"it is {other} by its content; give it the suffix of what it is")
    reader: Callable[[bytes], Iterable[Block]] = getattr(import_module(kind.module), kind.reader)
    return _bounded(reader(content))


@cache
def _reader() -> Any:
    # The function's start need not wait for what only some documents need.
    from ingestion.apart import Reader

    return Reader()


def _suffix(key: str) -> str:
    dot = key.rfind(".")
    return key[dot:].lower() if dot >= 0 else ""


def _bounded(blocks: Iterable[Block]) -> list[Block]:
    """All blocks that show something."""
    kept: list[Block] = []
    size = 0
    for block in blocks:
        size += len(block.text)
        if size > MAX_TEXT_CHARACTERS:
            raise DocumentError(f"it holds more than {MAX_TEXT_CHARACTERS} characters of text; split it")
        if block.text.strip(INVISIBLE):
            kept.append(block)
    return kept
