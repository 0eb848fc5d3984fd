"""CSV, JSON Lines and Parquet: each row becomes a line that can be understood alone."""

import pytest
from arro3.core import DataType
from hypothesis import given
from hypothesis import strategies as st

from ingestion.errors import DocumentError
from ingestion.extraction import read
from tests.lambda_src.document_files import parquet


def lines(suffix: str, content: bytes) -> list[str]:
    blocks = read(suffix, content)
    assert all(block.kind == "row" for block in blocks)
    return [block.text for block in blocks]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_row_names_its_columns_whatever_parts_them(delimiter: str) -> None:
    content = 'name,city,note\nAna,Köln,"a ,b"\nBob,,"two\nlines"\n'.replace(",", delimiter)
    assert lines(".csv", content.encode()) == [
        f"name: Ana; city: Köln; note: a {delimiter.strip()}b".replace("a b", "a b"),
        "name: Bob; note: two lines",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_spreadsheet_is_read_in_the_encodings_that_programs_export(encoding: str) -> None:
    assert lines(".csv", "Größe;Straße\n1,5;Königsallee\n".encode(encoding)) == [
        "Größe: 1,5; Straße: Königsallee"
    ]


def test_the_delimiter_may_be_named_in_the_first_line() -> None:
    assert lines(".csv", b"sep=|\r\na,x|b\r\n1|2\r\n") == ["a,x: 1; b: 2"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_end_as_each_system_ends_them(line_end: str) -> None:
    assert lines(".csv", line_end.join(["a,b", '1,"x\ny"', "3,4\u2028"]).replace("\ny", "y").encode()) == [
        "a: 1; b: xy",
        "a: 3; b: 4",
    ]


def test_rows_of_other_lengths_and_columns_without_names_lose_nothing() -> None:
    assert lines(".csv", b"a,,c\n1,2,3,4\n5\n\n,,\n") == ["a: 1; column 2: 2; c: 3; column 4: 4", "a: 5"]


def test_a_table_without_rows_is_its_columns() -> None:
    assert lines(".csv", b"name,city\n") == ["name; city"]
    assert lines(".csv", b"\n\n") == []


def test_a_quotation_mark_without_its_other_does_not_swallow_the_file() -> None:
    with pytest.raises(DocumentError, match="line 3 of the CSV .* over 1000000 characters; close its quot"):
        read(".csv", b'a,b\n1,2\n"' + b"x\n" * 600_000)


def test_a_value_may_hold_a_long_text() -> None:
    (line,) = lines(".csv", b"a,b\n1," + b"x" * 900_000)
    assert len(line) > 900_000


def test_a_line_end_of_another_system_inside_of_a_value_is_refused_with_the_remedy() -> None:
    with pytest.raises(DocumentError, match="line 4 of the CSV .* put the value into quotation marks"):
        read(".csv", b'a,b\n1,"two\nlines"\nx\ry,2\n')


cells = st.text(st.sampled_from('ab ,;"\n\r\tß'), max_size=6)


@given(st.lists(st.lists(cells, min_size=1, max_size=4), min_size=1, max_size=6))
def test_every_letter_of_a_table_is_in_its_lines(rows: list[list[str]]) -> None:
    content = "\n".join(
        ",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [["x"], *rows]
    )
    text = "".join(lines(".csv", content.encode()))
    for letter in "bß":
        assert text.count(letter) == content.count(letter), "a part of the table cannot be found"


def test_a_line_of_json_names_its_members() -> None:
    content = (
        '{"name": "Ana", "tags": ["a", "b"], "address": {"city": "Köln", "geo": {"lat": 50.9}}, "none": null}\r\n'
        '\n["x", 1, true]\n"text\u2028in a line"\n{"orders": [{"id": 1}, {"id": 2}]}\n{"lone": "\\ud800"}'
    )
    assert lines(".jsonl", content.encode()) == [
        "name: Ana; tags: a, b; address.city: Köln; address.geo.lat: 50.9",
        "x, 1, True",
        "text in a line",
        "orders.1.id: 1; orders.2.id: 2",
        "lone: \ufffd",
    ]


@pytest.mark.parametrize("bad", [b"{bad", b"1" * 5000, b'{"a": 1} {"b": 2}'])
def test_a_line_that_is_no_json_is_named(bad: bytes) -> None:
    with pytest.raises(DocumentError, match="line 2 is no JSON"):
        read(".jsonl", b'{"a": 1}\n' + bad + b"\n")


def test_a_line_is_read_however_deep_it_is_nested_or_refused_for_that() -> None:
    refused = []
    for depth in [20, *range(700, 1000), 100_000]:
        content = b'{"a": 1}\n' + b'{"a": ' * depth + b"1" + b"}" * depth
        try:
            assert len(lines(".jsonl", content)) == 2
        except DocumentError as error:
            assert "line 2 holds values nested too deeply" in str(error), "the owner looks for another fault"
            refused.append(depth)
    assert 20 not in refused and 100_000 in refused


def test_what_lies_deep_in_a_line_is_not_lost() -> None:
    (line,) = lines(".jsonl", b'{"a": ' * 20 + b'"deep"' + b"}" * 20)
    assert "deep" in line


@pytest.mark.parametrize(
    "compression", ["uncompressed", "snappy", "gzip(6)", "zstd(3)", "brotli(3)", "lz4_raw"]
)
def test_parquet_is_read_in_each_compression(compression: str) -> None:
    columns = {
        "id": ([1, 2, None], DataType.int64()),
        "name": (["Ana", None, "Bob"], DataType.utf8()),
        "raw": ([b"text", b"\xff\x00", None], DataType.binary()),
        "ok": ([True, False, None], DataType.bool()),
    }
    assert lines(".parquet", parquet(columns, compression=compression)) == [
        "id: 1; name: Ana; raw: text; ok: True",
        "id: 2; ok: False",
        "name: Bob",
    ]


def test_a_parquet_file_cut_short_is_refused_with_the_remedy() -> None:
    content = parquet({"a": ([1], DataType.int64())})
    for damaged in (content[:-10], content[:4] + content[-4:]):
        with pytest.raises(DocumentError, match="write it anew"):
            read(".parquet", damaged)
