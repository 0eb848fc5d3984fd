"""Writes a table whole or not at all."""

from pathlib import Path


def replace_text(path: Path, text: str) -> None:
    """The old text or the new, never a part of either, also when the disk is full or the writing is interrupted."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
