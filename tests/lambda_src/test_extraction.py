"""What holds for documents of every kind: which are read, within which limits, and that nothing else goes wrong."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from arro3.core import DataType
from hypothesis import given, settings
from hypothesis import strategies as st

from ingestion import apart, extraction
from ingestion.apart import Reader
from ingestion.errors import DocumentError
from ingestion.extraction import SUFFIXES, extract, is_document, max_bytes, read
from rag.chunking import INVISIBLE, Block
from tests.lambda_src.document_files import parquet, pdf

ROOT = Path(__file__).parents[2]
SAMPLES = {
    ".txt": "Grüße.\n\nZweiter Absatz.".encode(),
    ".md": b"# Title\n\nText\n\n```\ncode\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    ".html": b"<html><head><title>T</title></head><body><h1>H</h1><p>Text<ul><li>one</ul><table><tr><td>1</table>",
    ".csv": b'name,city\n"Ana, B.",K\xc3\xb6ln\n',
    ".jsonl": b'{"a": [1, {"b": null}], "c": "d"}\n"text"\n',
    ".pdf": pdf("One page", "Two"),
    ".parquet": parquet({"a": ([1, None], DataType.int64()), "b": (["x", "y"], DataType.utf8())}),
}


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    one = Reader()
    yield one
    one.stop()


def is_clean(blocks: list[Block]) -> None:
    for block in blocks:
        assert block.text.strip(INVISIBLE), "an empty block is indexed"
        block.text.encode()
        assert not set(map(chr, range(0x09))) & set(block.text), "control characters are indexed"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("raw/a.txt", True),
        ("raw/web-scrapes/Über uns+1.HTML", True),
        ("raw/pdfs/a.PDF", True),
        ("raw/databases/a.b.parquet", True),
        ("raw/databases/a.jsonl", True),
        ("raw/a.docx", False),
        ("raw/a", False),
        ("raw/txt", False),
        ("raw.md", False),
        ("models/a.md", False),
    ],
)
def test_the_suffix_decides_what_is_a_document_anywhere_below_raw(key: str, expected: bool) -> None:
    assert is_document(key) is expected


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_object_of_no_bytes_is_an_empty_document_of_any_kind(suffix: str) -> None:
    assert extract(f"raw/a{suffix}", b"") == []


@pytest.mark.parametrize("suffix", SAMPLES)
@settings(deadline=None)
@given(
    content=st.binary(max_size=200)
    | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes_are_blocks_or_a_reason_why_not(suffix: str, content: bytes) -> None:
    try:
        is_clean(read(suffix, content))
    except DocumentError as error:
        assert str(error)


@st.composite
def damaged(draw: st.DrawFn, sample: bytes) -> bytes:
    content = bytearray(sample)
    for _ in range(draw(st.integers(1, 6))):
        content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    return bytes(
        content[: draw(st.integers(len(content) // 2, len(content)))] if draw(st.booleans()) else content
    )


@pytest.mark.parametrize("suffix", SAMPLES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_blocks_or_a_reason_why_not(
    reader: Reader, suffix: str, data: st.DataObject
) -> None:
    content = data.draw(damaged(SAMPLES[suffix]))
    try:
        is_clean(reader.read(suffix, content, 60))
    except DocumentError as error:
        assert str(error)


def test_a_kind_that_is_not_read_is_refused_with_the_kinds_that_are() -> None:
    with pytest.raises(DocumentError, match=r"raw/a\.docx is of no kind that is read, which are \.txt"):
        extract("raw/a.docx", b"text")


@pytest.mark.parametrize(
    ("key", "content", "reason"),
    [
        ("raw/a.txt", SAMPLES[".pdf"], "it is a PDF file by its content"),
        ("raw/a.md", b"PK\x03\x04....", "it is a ZIP archive or an office document"),
        ("raw/a.csv", b"\x1f\x8b\x08", "it is compressed with gzip"),
        ("raw/a.pdf", b"<html>", "it is no PDF by its content"),
        ("raw/a.parquet", b"a,b\n1,2\n", "it is no complete Parquet file"),
    ],
)
def test_a_wrong_suffix_is_named(key: str, content: bytes, reason: str) -> None:
    with pytest.raises(DocumentError, match=f"{key} cannot be indexed: {reason}"):
        extract(key, content)


def test_a_document_over_the_limit_of_its_kind_is_refused_with_the_limit() -> None:
    limit = max_bytes("raw/a.html")
    with pytest.raises(DocumentError, match=f"has {limit + 1} bytes, .* at most {limit}: split it"):
        extract("raw/a.html", bytes(limit + 1))
    assert max_bytes("raw/a.docx") == 0
    assert limit <= extraction.MAX_DOCUMENT_BYTES


def test_text_that_grows_out_of_few_bytes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "MAX_TEXT_CHARACTERS", 10_000)
    content = b",".join([b"n" * 190] * 30) + b"\n" + b",".join([b"1"] * 30) * 1 + b"\n" + b"1,2\n" * 40
    with pytest.raises(DocumentError, match="more than 10000 characters of text"):
        extract("raw/a.csv", content)


def test_reasons_hold_no_text_of_the_document() -> None:
    secret = b"s3cr3t"
    contents = {
        ".jsonl": b'{"a": ' + secret,
        ".csv": b'a\n"' + secret * 200_000,
        ".tsv": b"a\n1\n" + secret + b"\r" + secret,
        ".ndjson": b'{"s3cr3t": ' * 100_000,
        ".parquet": b"PAR1" + secret * 3 + b"PAR1",
        ".pdf": b"%PDF-1.4 " + secret,
        ".txt": secret + b"\x00\xff",
    }
    for suffix, content in contents.items():
        with pytest.raises(DocumentError) as raised:
            extract(f"raw/a{suffix}", content)
        assert secret.decode() not in str(raised.value), "a document's text reaches logs and queue attributes"


def test_a_function_that_reads_text_imports_no_library_of_other_kinds() -> None:
    program = (
        "import sys; sys.path.insert(0, 'lambda_src'); from ingestion.extraction import extract\n"
        "assert extract('raw/a.md', b'# text')\n"
        "late = {'pypdf', 'lxml', 'trafilatura', 'arro3', 'charset_normalizer', 'multiprocessing', 'csv'}\n"
        "sys.exit(', '.join(late & set(sys.modules)) or 0)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, f"every start of the function waits for {run.stderr}"


def test_a_document_that_takes_too_long_is_refused_and_the_next_one_is_read(reader: Reader) -> None:
    reader.stop()
    with pytest.raises(DocumentError, match="cannot be read within 0 seconds"):
        reader.read(".pdf", SAMPLES[".pdf"], 0)
    assert [block.page for block in reader.read(".pdf", SAMPLES[".pdf"], 60)] == [1, 2]


def test_a_document_that_takes_too_much_memory_is_refused_and_the_next_one_is_read(reader: Reader) -> None:
    bomb = parquet({"a": (["a" * 100_000_000], DataType.utf8())}, compression="zstd(1)")
    assert len(bomb) < 1_000_000
    reader.stop()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apart, "MEMORY_BYTES", 400_000_000)
        with pytest.raises(DocumentError, match="more memory to read than there is"):
            reader.read(".parquet", bomb, 60)
    assert reader.read(".pdf", SAMPLES[".pdf"], 60)


def test_a_process_that_ended_while_idle_is_no_documents_fault(reader: Reader) -> None:
    reader.read(".pdf", SAMPLES[".pdf"], 60)
    assert reader._process
    reader._process.kill()
    reader._process.wait()
    assert reader.read(".pdf", SAMPLES[".pdf"], 60)


def test_the_process_that_reads_files_of_strangers_has_no_credentials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[dict[str, Any]] = []
    popen = subprocess.Popen

    def start(command: list[str], **options: Any) -> Any:
        started.append(options)
        return popen(command, **options)

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    one = Reader()
    assert one.read(".html", b"<p>text", 60) == [Block("text")]
    one.stop()
    assert "secret" not in started[0]["env"].values()
