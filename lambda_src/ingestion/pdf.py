"""Reads PDF files page by page with pypdf."""

import logging
import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from ingestion.errors import DocumentError
from ingestion.text import clean
from rag.chunking import INVISIBLE, Block

SIGNATURE = b"%PDF-"
# Readers look for the signature this far from the start, since some files carry other bytes before it.
SIGNATURE_WITHIN = 1024
MAX_PAGES = 5000
# What a stream may unpack to, and how many operators a page may have: more than any page of text, and little enough
# that a file made to fill the memory fails instead.
MAX_STREAM_BYTES = 32_000_000
MAX_OPERATORS = 1_000_000
MAX_FORMS = 500
# A word that was parted at the end of a line: only before a small letter, since names keep their hyphen.
HYPHENATED = re.compile(r"(?<=[^\W\d_])[-\u2010]\n(?=[^\W\d_A-Z])")
BLANK_LINES = re.compile(r"\n\s*\n")
DAMAGED = "the PDF is damaged; open it and print it to a new PDF"


def pdf_blocks(content: bytes) -> Iterator[Block]:
    """The paragraphs of each page, with its number from 1.

    Raises `DocumentError` for a file that is encrypted, damaged, too long, or without any text.
    """
    if SIGNATURE not in content[:SIGNATURE_WITHIN]:
        raise DocumentError("it is no PDF by its content; give it the suffix of what it is")
    found = False
    for number, text in _pages(content):
        for paragraph in BLANK_LINES.split(HYPHENATED.sub("", clean(text))):
            if paragraph.strip(INVISIBLE):
                found = True
                yield Block(paragraph.strip("\n"), page=number)
    if not found:
        raise DocumentError(
            "the PDF has no text, only images; make it searchable with text recognition (OCR)"
        )


def _pages(content: bytes) -> Iterator[tuple[int, str]]:
    from pypdf import PdfReader, apply_configuration
    from pypdf.errors import DependencyError, FileNotDecryptedError

    # It writes about odd files, with pieces of them.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        with apply_configuration(_limits()):
            reader = PdfReader(BytesIO(content))
            _unlock(reader)
            count = len(reader.pages)
            if count > MAX_PAGES:
                raise DocumentError(f"the PDF has {count} pages; split it into files of at most {MAX_PAGES}")
            for number in range(count):
                yield number + 1, reader.pages[number].extract_text()
    except (DependencyError, FileNotDecryptedError):
        raise DocumentError("the PDF is encrypted; save it without a password") from None
    except DocumentError:
        raise
    except Exception as error:
        # Whatever a damaged file makes the library do: it raises errors of many kinds.
        raise DocumentError(f"{DAMAGED} ({type(error).__name__})") from None


def _limits() -> Any:
    from pypdf import Configuration

    return Configuration(
        maximum_declared_stream_length=MAX_STREAM_BYTES,
        array_based_stream_maximum_output_length=MAX_STREAM_BYTES,
        zlib_maximum_output_length=MAX_STREAM_BYTES,
        lzw_maximum_output_length=MAX_STREAM_BYTES,
        run_length_maximum_output_length=MAX_STREAM_BYTES,
        brotli_maximum_output_length=MAX_STREAM_BYTES,
        stream_decoding_work_maximum_length=2 * MAX_STREAM_BYTES,
        stream_parsing_work_maximum_count=MAX_OPERATORS,
        xform_maximum_invocations_per_extraction=MAX_FORMS,
        jbig2dec_binary=None,
    )


def _unlock(reader: Any) -> None:
    """Open a file that everybody may read but not change: its password for reading is empty."""
    if reader.is_encrypted and not reader.decrypt(""):
        raise DocumentError("the PDF is encrypted; save it without a password")
