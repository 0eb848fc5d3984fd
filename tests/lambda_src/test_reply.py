"""What of a model's words reaches the caller."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.answers import Answer
from rag.prompt import NO_ANSWER_MARKER
from rag.reply import VisibleText, answer_text, outcome_of

PIECES = st.lists(
    st.text(max_size=5)
    | st.sampled_from(["[[", "NO_", "ANSWER", "]]", NO_ANSWER_MARKER, " ", "\n", "**", "\ud83d", "\ude00"]),
    max_size=8,
)


def answer(text: str | None, truncated: bool = False) -> Answer:
    return Answer(text=text, stop_reason="end_turn", truncated=truncated)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        " \n",
        NO_ANSWER_MARKER,
        f" {NO_ANSWER_MARKER}\n",
        f"**{NO_ANSWER_MARKER}**",
        f"`{NO_ANSWER_MARKER}`. The documents are about cats.",
    ],
)
def test_no_words_or_the_mark_are_no_answer(text: str | None) -> None:
    assert outcome_of(answer(text)) == "no_answer"


@pytest.mark.parametrize(
    "text", ["NO", "No answer.", "[[1]] They sleep.", f"The mark is {NO_ANSWER_MARKER}.", "**"]
)
def test_other_words_are_an_answer(text: str) -> None:
    assert outcome_of(answer(text)) == "answered"


def test_a_mark_that_was_cut_off_is_no_answer() -> None:
    assert outcome_of(answer("[[NO_AN", truncated=True)) == "no_answer"
    assert outcome_of(answer("[[NO_AN")) == "answered"


def test_nothing_is_shown_while_the_text_may_still_be_the_mark() -> None:
    visible = VisibleText()
    assert [visible.feed(piece) for piece in ("\n", "[", "[NO_", "ANS")] == ["", "", "", ""]
    assert visible.feed("IGNMENT]] is a word.") == "[[NO_ANSIGNMENT]] is a word."


def test_blanks_of_every_kind_at_the_beginning_are_not_shown() -> None:
    visible = VisibleText()
    assert [visible.feed(piece) for piece in ("\x0c", " ", "\u3000", "They")] == ["", "", "", "They"]


def test_a_character_that_was_cut_in_two_is_put_together() -> None:
    visible = VisibleText()
    assert [visible.feed(piece) for piece in ("Yes \ud83d", "\ude00!")] == ["Yes", " 😀!"]


def test_after_the_mark_nothing_is_shown_any_more() -> None:
    visible = VisibleText()
    assert [visible.feed(piece) for piece in ("[[NO_ANSWER]]", " because", " of cats")] == ["", "", ""]


@given(PIECES)
def test_what_is_shown_piece_by_piece_is_the_beginning_of_the_whole_answer(pieces: list[str]) -> None:
    visible = VisibleText()
    shown = "".join(visible.feed(piece) for piece in pieces)
    whole = answer("".join(pieces))
    if outcome_of(whole) == "no_answer":
        assert not shown, "a caller saw the mark, or blanks"
    else:
        text = answer_text(whole)
        assert text.startswith(shown)
        assert not shown or len(text[len(shown) :].strip()) <= 1, "the end is held back for no reason"
    shown.encode()
