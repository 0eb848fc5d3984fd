"""Reads JSON Lines. Each line becomes one of text: `name: value; name: value`."""

import json
from collections.abc import Iterator

from ingestion.errors import DocumentError
from ingestion.text import decode_as_it_is
from ingestion.values import row_block
from rag.chunking import Block


def json_lines_blocks(content: bytes) -> Iterator[Block]:
    """One block for each line that is not blank; raises `DocumentError` that names a line that is no JSON."""
    for number, line in enumerate(decode_as_it_is(content).split("\n"), 1):
        if line.strip():
            try:
                value = json.loads(line, strict=False)
            except (ValueError, RecursionError):
                raise DocumentError(f"line {number} is no JSON; every line must hold one value") from None
            yield from row_block([""], [value])
