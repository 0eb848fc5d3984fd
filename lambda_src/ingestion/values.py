"""Turns a row's values into one line of text."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ingestion.text import clean
from rag.chunking import Block

MAX_NAME_CHARACTERS = 200
# Objects inside of objects, their names joined by dots. What lies deeper is written as JSON.
MAX_DEPTH = 8


def row_block(names: Iterable[str], values: Iterable[Any]) -> Iterator[Block]:
    """The row as one block; none when it has no value."""
    pairs = (pair for name, value in zip(names, values, strict=True) for pair in flat(name, value))
    line = "; ".join(f"{name[:MAX_NAME_CHARACTERS]}: {value}" if name else value for name, value in pairs)
    if line:
        yield Block(line, "row")


def flat(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Pairs of a name and a text on one line: objects by their members, lists of simple values as one text."""
    if isinstance(value, dict) and depth < MAX_DEPTH:
        for key, member in value.items():
            yield from flat(f"{name}.{key}" if name else str(key), member, depth + 1)
    elif (
        isinstance(value, list) and depth < MAX_DEPTH and any(isinstance(item, dict | list) for item in value)
    ):
        for number, member in enumerate(value, 1):
            yield from flat(f"{name}.{number}" if name else str(number), member, depth + 1)
    else:
        text = " ".join(clean(_text(value)).split())
        if text:
            yield clean(name), text


def _text(value: Any) -> str:
    """Empty for what is absent and for bytes that are no text."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        # Parquet files of some programs do not say that their bytes are text.
        return value.decode() if _is_text(value) else ""
    if isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
        return ", ".join(filter(None, map(_text, value)))
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _is_text(value: bytes) -> bool:
    try:
        return "\0" not in value.decode()
    except UnicodeDecodeError:
        return False
