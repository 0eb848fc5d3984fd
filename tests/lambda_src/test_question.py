"""Which requests hold a question."""

import json
from typing import Any

import pytest

from rag.errors import QuestionError, QuestionTooLongError
from rag.passages import Filter
from rag.question import MAX_FILTER_VALUES, MAX_REQUEST_BYTES, Question, checked_text, question_from_json


def read(document: Any) -> Question:
    return question_from_json(json.dumps(document).encode())


def test_a_question_without_a_filter_searches_every_document() -> None:
    assert read({"question": " hi\n"}) == read({"query": "hi", "filter": None}) == Question("hi")
    assert read({"query": "hi", "filter": {}}).filter == Filter()


def test_a_question_has_a_filter() -> None:
    wanted = {"document_keys": ["raw/a.txt", "raw/b.txt"], "prefixes": ["raw/web-scrapes/"]}
    expected = Filter(document_keys=("raw/a.txt", "raw/b.txt"), prefixes=("raw/web-scrapes/",))
    assert read({"query": "hi", "filter": wanted}).filter == expected


@pytest.mark.parametrize(
    "document",
    [
        {"query": "hi", "filtre": {"prefixes": ["raw/secret/"]}},
        {"query": "hi", "filter": {"prefix": ["raw/"]}},
        {"query": "hi", "filter": {"prefixes": []}},
        {"query": "hi", "filter": {"prefixes": "raw/"}},
        {"query": "hi", "filter": {"prefixes": [""]}},
        {"query": "hi", "filter": {"prefixes": [7]}},
        {"query": "hi", "filter": {"document_keys": ["x" * 1025]}},
        {"query": "hi", "filter": {"document_keys": ["x"] * (MAX_FILTER_VALUES + 1)}},
        {"query": "hi", "filter": "raw/"},
        {"query": "hi", "filter": {"prefixes": ["raw/\ud800"]}},
        {"query": "hi", "filter": {"document_keys": ["raw/a.txt", "\udfff"]}},
    ],
)
def test_a_filter_that_is_not_understood_is_refused_and_not_ignored(document: Any) -> None:
    with pytest.raises(QuestionError):
        read(document)


def test_what_is_refused_is_never_quoted() -> None:
    with pytest.raises(QuestionError) as error:
        read({"query": "hi", "<script>": 1})
    assert "script" not in str(error.value)


def test_a_request_that_is_too_long_is_not_even_parsed() -> None:
    with pytest.raises(QuestionTooLongError, match=str(MAX_REQUEST_BYTES)):
        question_from_json(b"{" * (MAX_REQUEST_BYTES + 1))


def test_the_longest_question_fits_into_the_longest_request() -> None:
    text = "漢" * 50_000
    assert read({"query": text}).text == text
    assert checked_text("😀" * 50_000)
    with pytest.raises(QuestionTooLongError, match="50000"):
        checked_text("a" * 50_001)


@pytest.mark.parametrize(
    "text", ["\u3164", "\u2800\u2800", "\u115f\u1160\uffa0", "\u034f\u17b4\u17b5", " \u200b\u200d"]
)
def test_a_question_that_shows_nothing_is_none(text: str) -> None:
    with pytest.raises(QuestionError, match="is empty"):
        read({"query": text})
