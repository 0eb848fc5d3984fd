"""The question file: one JSON object a line, with the question and what a good answer is made of."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REQUIRED, OPTIONAL = ("question", "expected_documents"), ("expected_answer",)
EXAMPLE = '{"question": "How long is the warranty?", "expected_documents": ["raw/pdfs/warranty.pdf"]}'


class QuestionFileError(Exception):
    """The file cannot be used; the message names every fault with its line."""


@dataclass(frozen=True, kw_only=True)
class ExpectedAnswer:
    """A question, the documents of which at least one should be found, and perhaps the answer."""

    question: str
    documents: tuple[str, ...]
    answer: str | None = None


def read_questions(path: Path) -> list[ExpectedAnswer]:
    """The questions in their order. Raises QuestionFileError with all faults at once."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise QuestionFileError(f"{path} cannot be read: {error.strerror}.") from error
    questions: list[ExpectedAnswer] = []
    faults: list[str] = []
    first_line: dict[str, int] = {}
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        fields, found = _fields(line)
        if not found:
            question = fields["question"].strip()
            earlier = first_line.setdefault(question, number)
            if earlier != number:
                found = [f"the question of line {earlier} is asked again"]
            questions.append(_expected(fields))
        faults += [f"line {number}: {fault}" for fault in found]
    if not questions and not faults:
        faults = [f"the file is empty; a line looks like {EXAMPLE}"]
    if faults:
        raise QuestionFileError("\n".join(f"{path.name}, {fault}" for fault in faults))
    return questions


def _fields(line: bytes) -> tuple[Mapping[str, Any], list[str]]:
    """The fields of a line and what is wrong with them."""
    try:
        fields = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        return {}, ["it is not UTF-8 text"]
    except (ValueError, RecursionError) as error:
        return {}, [f"it is not valid JSON ({getattr(error, 'msg', 'too deep')})"]
    if not isinstance(fields, dict):
        return {}, [f"it must be a JSON object like {EXAMPLE}"]
    unknown = sorted(set(fields) - {*REQUIRED, *OPTIONAL})
    faults = [f"{name} is not known; known are {', '.join((*REQUIRED, *OPTIONAL))}" for name in unknown]
    if not _is_text(fields.get("question")):
        faults.append("question must be a text that is not empty")
    documents = fields.get("expected_documents")
    if not (isinstance(documents, list) and documents and all(map(_is_text, documents))):
        faults.append("expected_documents must be a list of at least one document key, such as raw/a.pdf")
    if "expected_answer" in fields and not _is_text(fields["expected_answer"]):
        faults.append("expected_answer must be a text that is not empty, or be left out")
    return fields, faults


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _expected(fields: Mapping[str, Any]) -> ExpectedAnswer:
    return ExpectedAnswer(
        question=fields["question"].strip(),
        documents=tuple(fields["expected_documents"]),
        answer=fields.get("expected_answer"),
    )
