"""Documents for the tests, made by the libraries that read them."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

from arro3.core import Array, DataType, Table
from arro3.io import write_parquet
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

FONT = DictionaryObject(
    {
        NameObject("/Type"): NameObject("/Font"),
        NameObject("/Subtype"): NameObject("/Type1"),
        NameObject("/BaseFont"): NameObject("/Helvetica"),
        NameObject("/Encoding"): NameObject("/WinAnsiEncoding"),
    }
)


def pdf(*pages: str, **encryption: Any) -> bytes:
    """A PDF with the lines of each page; without lines a page is empty. `encryption` goes to pypdf."""
    writer = PdfWriter()
    for text in pages:
        page = writer.add_blank_page(600, 800)
        shown = "".join(f"({line}) Tj T* " for line in text.split("\n") if line)
        contents = DecodedStreamObject()
        contents.set_data(f"BT /F1 12 Tf 14 TL 50 700 Td {shown}ET".encode("cp1252"))
        fonts = DictionaryObject({NameObject("/F1"): FONT})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        page[NameObject("/Contents")] = writer._add_object(contents)
    if encryption:
        writer.encrypt(**encryption)
    return _written(writer.write)


def parquet(columns: Mapping[str, tuple[Sequence[Any], DataType]], **options: Any) -> bytes:
    """A Parquet file of columns with their values and type."""
    table = Table.from_pydict({name: Array(values, kind) for name, (values, kind) in columns.items()})
    return _written(lambda file: write_parquet(table, file, **options))


def _written(write: Any) -> bytes:
    file = BytesIO()
    write(file)
    return file.getvalue()
