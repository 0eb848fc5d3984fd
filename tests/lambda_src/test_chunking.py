"""What the chunks of a document must be, whatever the document."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag.chunking import INVISIBLE, Block, Chunk, Kind, chunk_blocks
from rag.tokens import estimate_tokens

ALPHABET = "abc .\n\t.,;ß€。，漢字\u200b\u200d\u0301\ud800👩🏽🇩🇪"
KINDS: tuple[Kind, ...] = ("heading", "paragraph", "row", "code")
texts = st.text(st.sampled_from(ALPHABET), max_size=300) | st.text(max_size=60)


@st.composite
def documents(draw: st.DrawFn) -> list[Block]:
    blocks = draw(
        st.lists(
            st.tuples(
                texts,
                st.sampled_from(KINDS),
                st.integers(1, 6),
                st.booleans(),
            ),
            max_size=12,
        )
    )
    pages = [sum(turn for *_, turn in blocks[: number + 1]) + 1 for number in range(len(blocks))]
    return [
        Block(text, kind, level, page) for (text, kind, level, _), page in zip(blocks, pages, strict=True)
    ]


def visible(text: str) -> str:
    return "".join(character for character in text if character not in INVISIBLE)


def repeats(chunk: str, covered: str, rest: str) -> int:
    """How many characters at its start a chunk repeats from `covered`, so that it goes on with `rest`; else -1."""
    fits = (n for n in range(len(chunk)) if covered.endswith(chunk[:n]) and rest.startswith(chunk[n:]))
    return next(fits, -1)


def is_split(document: Sequence[Block], chunks: Sequence[Chunk]) -> None:
    whole = visible("".join(block.text for block in document))
    done = 0
    for chunk in chunks:
        text = visible(chunk.text)
        repeated = repeats(text, whole[:done], whole[done:])
        assert repeated >= 0, "a part of the document is lost or out of order"
        done += len(text) - repeated
    assert done == len(whole), "the end of the document cannot be found"


@given(documents(), st.integers(2, 60), st.floats(0, 0.49))
@example([Block(";" * 11, page=1), Block("\u200b€", page=1)], 3, 0.4)
@example([Block("字" * 9 + " " * 99 + "字", page=1), Block("👩🏽" * 9, page=2)], 2, 0)
def test_chunks_are_small_not_blank_in_order_and_hold_all_the_text(
    document: list[Block], size: int, share: float
) -> None:
    chunks = chunk_blocks(document, size, int(size * share))
    assert all(estimate_tokens(chunk.text) <= size for chunk in chunks), (
        "the model would refuse or cut the chunk"
    )
    assert all(visible(chunk.text) for chunk in chunks), "an embedding of nothing is found by any question"
    pages = [chunk.page for chunk in chunks if chunk.page]
    assert pages == sorted(pages) and len(pages) == len(chunks)
    assert chunks == chunk_blocks(document, size, int(size * share))
    is_split(document, chunks)


def test_a_short_document_is_one_chunk_with_its_heading_and_an_empty_one_has_none() -> None:
    blocks = [Block("Title", "heading", 1), Block("One."), Block("Two.")]
    assert chunk_blocks(blocks, 100, 10) == [Chunk("Title\n\nOne.\n\nTwo.", "Title", None)]
    assert chunk_blocks([], 100, 10) == chunk_blocks([Block(" \n\u200b")], 100, 10) == []


def test_paragraphs_are_packed_whole_as_long_as_they_fit() -> None:
    first, second, third = "a" * 160, "b" * 160, "c" * 200
    chunks = chunk_blocks([Block(first), Block(second), Block(third)], 100, 0)
    assert [chunk.text for chunk in chunks] == [f"{first}\n\n{second}", third]


def test_the_path_of_headings_follows_their_levels() -> None:
    text = "Words of this section. " * 15
    headings = [("Guide", 1), ("Install", 2), ("Linux", 3), ("Use", 2), ("Appendix", 1)]
    blocks = [block for title, level in headings for block in (Block(title, "heading", level), Block(text))]
    assert [chunk.heading for chunk in chunk_blocks(blocks, 120, 20)] == [
        "Guide",
        "Guide > Install",
        "Guide > Install > Linux",
        "Guide > Use",
        "Appendix",
    ]


def test_a_section_begins_a_chunk_but_small_ones_stay_together() -> None:
    large, small = Block("Large enough words. " * 12), Block("Small.")
    blocks = [
        Block("A", "heading", 1),
        large,
        Block("B", "heading", 1),
        small,
        Block("C", "heading", 1),
        small,
    ]
    assert [chunk.text.split("\n\n")[0] for chunk in chunk_blocks(blocks, 100, 20)] == ["A", "B"]


def test_a_heading_is_never_parted_from_what_it_stands_above() -> None:
    filler = Block("x" * 300)
    blocks = [filler, Block("Title", "heading", 1), Block("Sub", "heading", 2), Block("y" * 300)]
    assert [chunk.text[:1] for chunk in chunk_blocks(blocks, 100, 20)] == ["x", "T"]
    assert chunk_blocks(blocks, 100, 20)[1].heading == "Title > Sub"


def test_a_heading_of_any_length_is_in_the_text_whole_and_in_the_path_in_part() -> None:
    title = "long title " * 100
    chunks = chunk_blocks([Block(title, "heading", 1), Block("text")], 100, 0)
    assert "".join(chunk.text for chunk in chunks).count("title") == 100
    assert all(len(chunk.heading) < 150 for chunk in chunks)


def test_a_long_paragraph_is_cut_at_a_sentence_and_repeats_the_last_ones() -> None:
    sentences = [f"This is the sentence with number {number} in it." for number in range(40)]
    chunks = chunk_blocks([Block(" ".join(sentences))], 100, 30)
    for before, after in zip(chunks, chunks[1:], strict=False):
        assert before.text.endswith(".") and after.text.startswith("This is"), "a sentence is cut in two"
        repeated = after.text[: after.text.index(".") + 1]
        assert repeated in before.text, "what the cut parted is together in no chunk"
    assert all(estimate_tokens(chunk.text) > 80 for chunk in chunks[:-1]), (
        "chunks have far less than their size"
    )


def test_chinese_and_japanese_are_cut_at_their_sentences() -> None:
    sentences = "これは文章の例です。「そうですか？」はい！" * 30
    chunks = chunk_blocks([Block(sentences)], 60, 0)
    assert len(chunks) > 5
    assert all(chunk.text[-1] in "。！」" for chunk in chunks)
    assert not any(chunk.text[0] in "」。" for chunk in chunks), (
        "a quotation mark is parted from its sentence"
    )


def test_a_list_is_cut_at_its_lines_and_code_at_its_lines_too() -> None:
    lines = "\n".join(f"- item number {number}, with words" for number in range(60))
    code = "\n".join(f"    value_{number} = call(e.g. {number})" for number in range(60))
    for block in (Block(lines), Block(code, "code")):
        chunks = chunk_blocks([block], 100, 20)
        own_lines = block.text.split("\n")
        assert all(set(chunk.text.split("\n")) <= set(own_lines) for chunk in chunks)


def test_text_without_any_blank_is_cut_all_the_same() -> None:
    text = "".join(map(str, range(3000)))
    chunks = chunk_blocks([Block(text)], 100, 0)
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(len(chunk.text) == 400 for chunk in chunks[:-1])


def test_words_are_whole_and_what_is_seen_as_one_character_too() -> None:
    words = [f"word{number}" for number in range(500)]
    assert {
        word for chunk in chunk_blocks([Block(" ".join(words))], 50, 10) for word in chunk.text.split()
    } == set(words)
    for character in ("👩🏽\u200d🔬", "e\u0301\u0327", "👍🏿"):
        for chunk in chunk_blocks([Block(character * 200)], 33, 9):
            assert chunk.text.replace(character, "") == "", "a character is cut in two"


def test_a_chunk_has_the_page_on_which_its_own_text_begins() -> None:
    pages = [Block(f"Page {number} says this. " * 12, page=number) for number in range(1, 5)]
    chunks = chunk_blocks(pages, 80, 20)
    assert [chunk.page for chunk in chunks] == [1, 2, 3, 4]
    assert chunks[1].text.startswith("Page 1"), "the end of the page before is repeated"


def test_rows_stay_whole_repeat_nothing_and_stand_apart_from_text() -> None:
    rows = [Block(f"name: row {number}; city: Köln", "row") for number in range(60)]
    chunks = chunk_blocks(
        [Block("Some words before it. " * 8), *rows, Block("Words after it. " * 8)], 100, 30
    )
    lines = [line for chunk in chunks for line in chunk.text.split("\n")]
    assert [line for line in lines if line.startswith("name")] == [row.text for row in rows]
    assert not any("name:" in chunk.text and "Words after" in chunk.text for chunk in chunks)


@pytest.mark.parametrize(("size", "overlap"), [(100, 50), (100, -1), (1, 0), (0, 0)])
def test_a_size_or_an_overlap_that_never_advances_is_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="the overlap under half of it"):
        chunk_blocks([Block("text")], size, overlap)


def test_a_long_document_takes_time_in_proportion_to_its_length() -> None:
    """Half a million characters of each kind that could make a search start over again and again."""
    for text in (
        "a" * 500_000,
        " " * 500_000 + "a",
        "\n" * 500_000 + "a",
        "。" * 200_000,
        "\u0301" * 200_000,
    ):
        chunks = chunk_blocks([Block(text)], 400, 60)
        assert chunks and all(estimate_tokens(chunk.text) <= 400 for chunk in chunks)
