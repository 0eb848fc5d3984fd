"""What counts as a question, and how it is read from a JSON text."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag.answers import Turn
from rag.errors import QuestionError, QuestionTooLongError
from rag.passages import Filter
from rag.prompt import is_blank

# Titan Text Embeddings V2 takes up to 50,000 characters.
# https://docs.aws.amazon.com/bedrock/latest/userguide/titan-embedding-models.html
MAX_QUESTION_CHARACTERS = 50_000
# Six bytes are the longest way to write one character of the question in JSON.
MAX_REQUEST_BYTES = 6 * MAX_QUESTION_CHARACTERS + 10_000
TEXT_KEYS = ("query", "question")
FILTER_KEYS = ("document_keys", "prefixes")
MAX_FILTER_VALUES = 100
# S3 allows no longer key.
MAX_KEY_BYTES = 1024


@dataclass(frozen=True)
class Question:
    """A question whose text was checked, which documents may answer it, and what was said before it."""

    text: str
    filter: Filter = Filter()
    history: tuple[Turn, ...] = ()


def question_from_json(data: bytes) -> Question:
    """The question in a JSON object encoded as UTF-8; `QuestionError` says what is wrong with it."""
    if len(data) > MAX_REQUEST_BYTES:
        raise QuestionTooLongError(f"The request may have at most {MAX_REQUEST_BYTES} bytes.")
    return question_from_object(json_value(data))


def json_value(data: bytes) -> Any:
    """The JSON value of a request body encoded as UTF-8; `QuestionError` says what is wrong with it."""
    try:
        return json.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise QuestionError("The request body is not UTF-8 text.") from None
    except (ValueError, RecursionError):
        raise QuestionError("The request body is not valid JSON.") from None


def question_from_object(document: Any) -> Question:
    """The question in `{"query": text, "filter": {...}}`; `question` is another name of `query`.

    A key that is not known is refused: a filter under a wrong name would search every document.
    """
    key = next((key for key in TEXT_KEYS if isinstance(document, dict) and key in document), None)
    if key is None:
        raise QuestionError('The request must be a JSON object like {"query": "your question"}.')
    _refuse_unknown(document, (*TEXT_KEYS, "filter"), "The request")
    return Question(checked_text(document[key], f"The value of {key}"), _filter(document.get("filter")))


def checked_text(text: Any, what: str = "The question") -> str:
    """`text` without blanks around it, or a `QuestionError` that begins with `what`."""
    if not isinstance(text, str):
        raise QuestionError(f"{what} must be a text.")
    if len(text) > MAX_QUESTION_CHARACTERS:
        raise QuestionTooLongError(f"{what} may have at most {MAX_QUESTION_CHARACTERS} characters.")
    _refuse_half_characters(text, what)
    if is_blank(text):
        raise QuestionError(f"{what} is empty.")
    return text.strip()


def _filter(value: Any) -> Filter:
    if value is None:
        return Filter()
    if not isinstance(value, dict):
        raise QuestionError('The value of filter must be an object like {"prefixes": ["raw/pdfs/"]}.')
    _refuse_unknown(value, FILTER_KEYS, "The filter")
    return Filter(
        document_keys=_keys(value.get("document_keys"), "filter.document_keys"),
        prefixes=_keys(value.get("prefixes"), "filter.prefixes"),
    )


def _keys(value: Any, name: str) -> tuple[str, ...]:
    """None stands for a list that was left out. An empty list is refused: it would read as no filter at all."""
    if value is None:
        return ()
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_FILTER_VALUES:
        raise QuestionError(f"The value of {name} must be a list of 1 to {MAX_FILTER_VALUES} texts.")
    for key in value:
        if not isinstance(key, str) or not 1 <= len(key.encode("utf-8", "surrogatepass")) <= MAX_KEY_BYTES:
            raise QuestionError(f"{name} must hold texts of 1 to {MAX_KEY_BYTES} bytes.")
        _refuse_half_characters(key, name)
    return tuple(value)


def _refuse_half_characters(text: str, what: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise QuestionError(f"{what} holds half of a surrogate pair, which is no character.")


def _refuse_unknown(document: Mapping[Any, Any], known: tuple[str, ...], what: str) -> None:
    if any(key not in known for key in document):
        raise QuestionError(f"{what} has a key that is not known; it may have {', '.join(known)}.")
