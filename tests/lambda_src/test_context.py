"""Which passages and which turns of a conversation fit into the budget."""

from hypothesis import given
from hypothesis import strategies as st

from rag.answers import Turn
from rag.context import fit_history, fit_passages
from rag.passages import Passage
from rag.prompt import data_text, is_blank
from rag.tokens import estimate_tokens
from tests.lambda_src.fakes import passage

TEXTS = (
    st.text(max_size=200)
    | st.sampled_from(["cats", " cats ", "<" * 100, "\u200b"])
    | st.text("漢 ", max_size=200)
)
PASSAGES = st.lists(TEXTS, max_size=8).map(lambda texts: [passage(text, key=text[:3]) for text in texts])


def sent_tokens(passages: tuple[Passage, ...]) -> int:
    return sum(estimate_tokens(data_text(one.text).strip()) for one in passages)


def test_passages_are_used_whole_and_the_best_first() -> None:
    best, long, short = passage("a " * 40), passage("b " * 400), passage("c " * 40)
    assert fit_passages([best, long, short], 60) == (best, short), "a long passage shut out a shorter one"
    assert fit_passages([best, long, short], 1000) == (best, long, short)


def test_the_same_text_is_shown_once() -> None:
    twice = [passage("same", key="a"), passage("same\r\n", key="b"), passage("other")]
    assert [one.document_key for one in fit_passages(twice, 100)] == ["a", "raw/pdfs/cats.txt"]


def test_a_passage_that_cannot_be_seen_is_not_used() -> None:
    assert fit_passages([passage("\u200b\ufeff"), passage(" ")], 100) == ()


def test_the_best_passage_is_cut_at_a_word_when_it_alone_is_too_long() -> None:
    best = passage("word " * 1000)
    (cut,) = fit_passages([best, passage("short")], 100)
    assert cut.text == best.text[: len(cut.text)]
    assert cut.text.endswith("word"), "a word was cut in two"
    assert 90 <= sent_tokens((cut,)) <= 100


@given(PASSAGES, st.integers(1, 300))
def test_the_budget_holds_and_nothing_is_invented(passages: list[Passage], budget: int) -> None:
    used = fit_passages(passages, budget)
    assert sent_tokens(used) <= budget, "the model would be paid for more than was set"
    texts = [data_text(one.text).strip() for one in used]
    assert len(set(texts)) == len(texts)
    if len(used) > 1:
        positions = [passages.index(one) for one in used]
        assert positions == sorted(positions), "the order of the search was lost"
    if any(not is_blank(one.text) for one in passages) and budget > 5:
        assert used, "a document was found and the model is shown none"


def test_of_a_conversation_the_newest_turns_are_kept() -> None:
    turns = [Turn(role="user", text=letter * 40) for letter in "abcd"]
    assert fit_history(turns, 20) == tuple(turns[2:])
    assert fit_history(turns, 9) == ()
    assert fit_history(turns, 1000) == tuple(turns)
