"""What the pieces of a text must be, whatever the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.chunking import chunk


@given(st.text(alphabet=st.sampled_from("ab .\n\r\tß€"), max_size=400), st.integers(4, 60))
def test_pieces_are_small_not_blank_and_together_hold_every_word_character(text: str, size: int) -> None:
    pieces = chunk(text, size, size // 4)
    assert all(0 < len(piece) <= size and piece.strip() for piece in pieces)
    rest = "".join(pieces)
    for character in "abß€":
        assert rest.count(character) >= text.count(character), (
            "a part of the document cannot be found any more"
        )
    assert pieces == chunk(text, size, size // 4)


def test_a_short_text_is_one_piece() -> None:
    assert chunk("  One.\n\nTwo. ") == ["One.\n\nTwo."]
    assert chunk(" \n") == []


def test_a_text_is_cut_between_paragraphs_where_it_can() -> None:
    first, second = "a" * 60, "b" * 60
    assert chunk(f"{first}\n\n{second}", 100, 0) == [first, second]


def test_pieces_overlap_by_whole_words() -> None:
    pieces = chunk("one two three four five six seven eight", 20, 8)
    assert pieces[1].split()[0] in pieces[0].split(), "a sentence that is cut cannot be found"


def test_an_overlap_that_never_advances_is_refused() -> None:
    with pytest.raises(ValueError, match="under half"):
        chunk("text", 10, 5)
