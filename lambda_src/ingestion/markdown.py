"""Plain text and Markdown to blocks: headings, paragraphs, tables, code."""

import re

from ingestion.text import decode
from rag.chunking import Block

# Between paragraphs: a line that is empty or blank, and all that follow it.
BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")
# Searches begin at a line end and give nothing back, so that they take the same time for each line of any text.
# A line with more backticks behind them holds code in itself.
FENCE = re.compile(r"\n {0,3}+(~{3,}|`{3,}(?=[^`\n]*+(?:\n|\Z)))[^\n]*")
HEADING = re.compile(r" {0,3}+(#{1,6}+)[ \t]")
UNDERLINE = re.compile(r" {0,3}+(?:(=++)|--++)[ \t]*+$")
# What makes a paragraph more than that, at its start and after a line end.
MARK = re.compile(r" {0,3}+(?:#{1,6}+[ \t]|\|)")
MARK_AFTER = re.compile(r"\n {0,3}+(?:#{1,6}+[ \t]|\||(?:=++|--++)[ \t]*+(?:\n|\Z))")
FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:[^\n]*\n){0,200}?(?:---|\.\.\.)[ \t]*(?=\n|\Z)")


def read_text(content: bytes) -> list[Block]:
    """The blocks of a text file."""
    return text_blocks(decode(content))


def read_markdown(content: bytes) -> list[Block]:
    """The blocks of a Markdown file."""
    return markdown_blocks(decode(content))


def text_blocks(text: str) -> list[Block]:
    """One block for each paragraph of a text without marks."""
    return [Block(paragraph) for paragraph in _paragraphs(text)]


def markdown_blocks(text: str) -> list[Block]:
    """Headings of both styles, fenced code, rows of tables, front matter as code, and paragraphs."""
    blocks: list[Block] = []
    position = 0
    if front_matter := FRONT_MATTER.match(text):
        position = front_matter.end() + 1
        blocks.append(Block(front_matter[0].rstrip(), "code"))
    # Now every line begins behind a line end.
    text = "\n" + text
    while opening := FENCE.search(text, position):
        end = _fence_end(text, opening)
        _add_prose(blocks, text[position : opening.start()])
        blocks.append(Block(text[opening.start() : end].strip("\n"), "code"))
        position = end
    _add_prose(blocks, text[position:])
    return blocks


def _paragraphs(text: str) -> list[str]:
    return [
        paragraph
        for paragraph in BLANK_LINES.split(text.strip("\n"))
        if not paragraph.isspace() and paragraph
    ]


def _fence_end(text: str, opening: re.Match[str]) -> int:
    """Behind the closing fence, which is at least as long; the end of the text when there is none."""
    fence = opening[1]
    closing = re.compile(rf"\n {{0,3}}+{fence[0]}{{{len(fence)},}}+[ \t]*+(?=\n|\Z)")
    found = closing.search(text, opening.end())
    return found.end() if found else len(text)


def _add_prose(blocks: list[Block], text: str) -> None:
    for paragraph in _paragraphs(text):
        if not MARK.match(paragraph) and not MARK_AFTER.search(paragraph):
            blocks.append(Block(paragraph))
        elif paragraph[0] == "|" and "\n#" not in paragraph:
            blocks += [Block(line, "row") for line in paragraph.split("\n")]
        else:
            _add_lines(blocks, paragraph.split("\n"))


def _add_lines(blocks: list[Block], lines: list[str]) -> None:
    """A heading ends a paragraph without a blank line."""
    paragraph: list[str] = []
    for line in lines:
        marks = HEADING.match(line)
        underline = UNDERLINE.match(line) if paragraph and "|" not in paragraph[0] else None
        if marks:
            _add_paragraph(blocks, paragraph)
            blocks.append(Block(line.strip(" \t#"), "heading", len(marks[1])))
        elif underline:
            blocks.append(Block("\n".join(paragraph), "heading", 1 if underline[1] else 2))
            paragraph.clear()
        else:
            paragraph.append(line)
    _add_paragraph(blocks, paragraph)


def _add_paragraph(blocks: list[Block], lines: list[str]) -> None:
    if lines and lines[0].lstrip().startswith("|"):
        blocks.extend(Block(line, "row") for line in lines)
    elif lines:
        blocks.append(Block("\n".join(lines)))
    lines.clear()
