"""Reads CSV and Parquet. Each row becomes a line `column: value; column: value`.

Parquet is read by arro3 (29 MB unpacked, 11 MB in an archive). Others were weighed for Lambda's arm64, which takes
250 MB unpacked and archives of 50 MB: duckdb has 62 and 22 MB, fastparquet 110 and 31, pyarrow 150 and 52.
"""

import csv
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import islice
from typing import Any

from ingestion.errors import DocumentError
from ingestion.text import clean, decode_as_it_is
from ingestion.values import row_block
from rag.chunking import Block

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_CHARACTERS = 65_536
SAMPLE_ROWS = 20
# What a value may hold: a long text, but not the rest of a file behind a quotation mark without its other.
MAX_FIELD_CHARACTERS = 1_000_000
# A spreadsheet's first line may name the delimiter instead of columns.
NAMED_DELIMITER = "sep="
LONG_FIELD = f"begins a row with a value of over {MAX_FIELD_CHARACTERS} characters; close its quotation mark or shorten it"
LINE_END = "begins a row with a line end inside of a value; put the value into quotation marks"
PARQUET_SIGNATURE = b"PAR1"
PARQUET_BATCH_ROWS = 1024
RUST_PANIC = "PanicException"


def csv_blocks(content: bytes) -> Iterator[Block]:
    """One block for each row; the first row names the columns. The delimiter is found out.

    Raises `DocumentError` that names the line where a row begins that cannot be read.
    """
    text = decode_as_it_is(content).lstrip()
    delimiter = _delimiter(text)
    if text[:4].lower() == NAMED_DELIMITER:
        text = text.partition("\n")[2]
    # It is a setting of the module, which nothing else uses here.
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    reader = csv.reader(_lines(text), delimiter=delimiter)
    line = 1
    try:
        names = next((row for row in reader if any(row)), [])
        rows = 0
        line += reader.line_num
        for row in reader:
            rows += any(row)
            line = reader.line_num + 1
            yield from row_block(_names(names, len(row)), row)
        if not rows:
            yield Block("; ".join(map(clean, names)), "row")
    except csv.Error as error:
        # The library knows this error and one more.
        is_long = "field limit" in str(error)
        raise DocumentError(f"line {line} of the CSV {LONG_FIELD if is_long else LINE_END}") from None


def parquet_blocks(content: bytes) -> Iterator[Block]:
    """One block for each row, with the names of the columns."""
    if content[:4] != PARQUET_SIGNATURE or content[-4:] != PARQUET_SIGNATURE:
        raise DocumentError("it is no complete Parquet file; write it anew")
    for names, rows in _parquet_batches(content):
        for row in rows:
            yield from row_block(names, row)


def _parquet_batches(content: bytes) -> Iterator[tuple[list[str], Iterator[Sequence[Any]]]]:
    from arro3.io import read_parquet

    try:
        for batch in read_parquet(BytesIO(content), batch_size=PARQUET_BATCH_ROWS):
            names = [clean(name) for name in batch.schema.names]
            columns = [column.to_pylist() for column in batch.columns]
            yield names, zip(*columns, strict=True)
    except BaseException as error:
        # The library is written in Rust, whose own errors are no `Exception`.
        if not isinstance(error, Exception) and type(error).__name__ != RUST_PANIC:
            raise
        raise DocumentError(f"the Parquet file is damaged ({type(error).__name__}); write it anew") from None


def _lines(text: str) -> Iterator[str]:
    """Each line with its end. A `StringIO` would take four bytes for each character."""
    if "\n" not in text:
        text = text.replace("\r", "\n")
    start = 0
    while end := text.find("\n", start) + 1:
        yield text[start:end]
        start = end
    yield text[start:]


def _delimiter(text: str) -> str:
    """The one by which the first rows have the most columns, each as many; a comma when none does."""
    if text[:4].lower() == NAMED_DELIMITER and text[4:5] in DELIMITERS:
        return text[4]
    return max(DELIMITERS, key=lambda delimiter: _columns(text[:SAMPLE_CHARACTERS], delimiter))


def _columns(sample: str, delimiter: str) -> tuple[float, int]:
    """How alike the rows are, from 0 to 1 where none is parted, and how many columns the first one has."""
    try:
        rows = csv.reader(_lines(sample), delimiter=delimiter)
        counts = [len(row) for row in islice(rows, SAMPLE_ROWS) if row]
    except csv.Error:
        return 0, 0
    if not counts or counts[0] < 2:
        return 0, 0
    return counts.count(counts[0]) / len(counts), counts[0]


def _names(names: list[str], count: int) -> list[str]:
    """Names for `count` values: a column without a name is known by its number."""
    given = names[:count] + [""] * (count - len(names))
    return [name.strip() or f"column {number}" for number, name in enumerate(given, 1)]
