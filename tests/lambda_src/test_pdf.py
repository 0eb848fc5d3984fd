"""PDF files: pages, and what cannot be read."""

import zlib

import pytest

from ingestion import pdf as pdf_format
from ingestion.errors import DocumentError
from ingestion.extraction import read
from rag.chunking import Block
from tests.lambda_src.document_files import pdf


def test_each_paragraph_has_its_page_and_a_page_without_text_is_left_out() -> None:
    assert read(".pdf", pdf("First page.", "", "Third page.")) == [
        Block("First page.", page=1),
        Block("Third page.", page=3),
    ]


def test_a_word_parted_at_the_end_of_a_line_is_whole_again_and_a_name_keeps_its_hyphen() -> None:
    (block,) = read(".pdf", pdf("An exam-\nple from Baden-\nBaden."))
    assert block.text == "An example from Baden-\nBaden."


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_a_file_that_needs_a_password_is_refused_and_one_that_only_forbids_changes_is_read(
    algorithm: str,
) -> None:
    with pytest.raises(DocumentError, match="the PDF is encrypted; save it without a password"):
        read(".pdf", pdf("secret", user_password="open", algorithm=algorithm))
    open_to_all = pdf("text", user_password="", owner_password="change", algorithm=algorithm)
    assert read(".pdf", open_to_all) == [Block("text", page=1)]


def test_a_file_of_images_is_refused_with_the_remedy() -> None:
    with pytest.raises(DocumentError, match=r"no text, only images; .* \(OCR\)"):
        read(".pdf", pdf("", ""))


def test_a_file_with_bytes_before_its_start_is_read() -> None:
    assert read(".pdf", b"\r\n" * 100 + pdf("text")) == [Block("text", page=1)]


def test_a_damaged_file_is_refused_with_the_remedy() -> None:
    with pytest.raises(DocumentError, match="the PDF is damaged; open it and print it to a new PDF"):
        read(".pdf", b"%PDF-1.7\n" + b"x" * 1000)


def test_a_stream_that_unpacks_to_more_than_any_page_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_format, "MAX_STREAM_BYTES", 1_000_000)
    content = pdf("text")
    packed = zlib.compress(b" " * 2_000_000 + b"BT (hidden) Tj ET")
    start, end = content.index(b"stream\n") + 7, content.index(b"\nendstream")
    length = f"/Length {end - start}".encode()
    assert length in content
    bomb = content[:start] + packed + content[end:]
    bomb = bomb.replace(length, f"/Length {len(packed)} /Filter /FlateDecode".encode())
    assert len(bomb) < 10_000
    with pytest.raises(DocumentError, match="damaged"):
        read(".pdf", bomb)


def test_a_file_of_too_many_pages_is_refused_with_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_format, "MAX_PAGES", 2)
    with pytest.raises(DocumentError, match="has 3 pages; split it into files of at most 2"):
        read(".pdf", pdf("a", "b", "c"))
