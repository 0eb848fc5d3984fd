"""Reads JSON Lines. Each line becomes one of text: `name: value; name: value`."""

import json
from collections.abc import Iterator

from ingestion.errors import DocumentError
from ingestion.text import decode_as_it_is
from ingestion.values import row_block
from rag.chunking import Block


def json_lines_blocks(content: bytes) -> Iterator[Block]:
    """One block for each line that is not blank; raises `DocumentError` that names a line that cannot be read."""
    for number, line in enumerate(decode_as_it_is(content).split("\n"), 1):
        if line.strip():
            yield from _line_blocks(number, line)


def _line_blocks(number: int, line: str) -> list[Block]:
    try:
        # Writing what lies deep takes as much depth as reading it.
        return list(row_block([""], [json.loads(line, strict=False)]))
    except RecursionError:
        reason = "holds values nested too deeply to be read; write them less deep"
    except ValueError:
        reason = "is no JSON; every line must hold one value"
    raise DocumentError(f"line {number} {reason}")
