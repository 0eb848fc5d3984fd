"""What counts as a question, and how it is read from a JSON text."""

import json
from typing import Any

from rag.errors import QuestionError, QuestionTooLongError

# Titan Text Embeddings V2 takes up to 50,000 characters.
# https://docs.aws.amazon.com/bedrock/latest/userguide/titan-embedding-models.html
MAX_QUESTION_CHARACTERS = 50_000
# Six bytes are the longest way to write one character of the question in JSON.
MAX_REQUEST_BYTES = 6 * MAX_QUESTION_CHARACTERS + 10_000
KEYS = ("query", "question")


def question_from_json(data: bytes) -> str:
    """The question in a JSON object encoded as UTF-8; `QuestionError` says what is wrong with it."""
    if len(data) > MAX_REQUEST_BYTES:
        raise QuestionTooLongError(f"The request may have at most {MAX_REQUEST_BYTES} bytes.")
    try:
        document = json.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise QuestionError("The request body is not UTF-8 text.") from None
    except (ValueError, RecursionError):
        raise QuestionError("The request body is not valid JSON.") from None
    return question_from_object(document)


def question_from_object(document: Any) -> str:
    """The text under `query`, or under `question` where there is no `query`, without blanks around it."""
    key = next((key for key in KEYS if isinstance(document, dict) and key in document), None)
    if key is None:
        raise QuestionError('The request must be a JSON object like {"query": "your question"}.')
    question = document[key]
    if not isinstance(question, str):
        raise QuestionError(f"The value of {key} must be a text.")
    if len(question) > MAX_QUESTION_CHARACTERS:
        raise QuestionTooLongError(f"The question may have at most {MAX_QUESTION_CHARACTERS} characters.")
    if not question.strip():
        raise QuestionError(f"The value of {key} is empty.")
    if any("\ud800" <= character <= "\udfff" for character in question):
        raise QuestionError(f"The value of {key} holds half of a surrogate pair, which is no character.")
    return question.strip()
