"""What `/v1/chat/completions` takes: the part of OpenAI's request that makes sense for answers from documents.

https://platform.openai.com/docs/api-reference/chat/create
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rag.answers import Turn
from rag.errors import QuestionError
from rag.prompt import is_blank
from rag.question import Question, checked_text, json_value, question_from_object
from rag.results import Result
from rag_api.completions import CompletionEvents, completion

# The one model that `/v1/models` lists. Any other name is taken too and echoed: front ends send names of their own.
MODEL = "rag"
MAX_MODEL_CHARACTERS = 256
# The caller's instructions are data like the rest of the conversation: they cannot lift the rule that answers come
# from the documents.
TURN_ROLES = {"system": "user", "developer": "user", "user": "user", "assistant": "assistant"}


class ChatError(QuestionError):
    """A request that cannot be answered; `param` names the field, as OpenAI's errors do."""

    def __init__(self, sentence: str, param: str) -> None:
        super().__init__(sentence)
        self.param = param


@dataclass(frozen=True, kw_only=True)
class Chat:
    """What a chat client asked, and how the answer is written."""

    question: Question
    model: str
    wants_stream: bool
    includes_usage: bool

    def body(self, result: Result, request_id: str) -> dict[str, Any]:
        """The whole answer."""
        return completion(result, request_id, self.model)

    def encoder(self, request_id: str) -> CompletionEvents:
        """The answer as events."""
        return CompletionEvents(request_id, self.model, self.includes_usage)


def read_chat(body: bytes) -> Chat:
    """The last message is the question, the ones before it are the conversation so far. Raises `QuestionError`.

    Sampling parameters, `max_tokens`, `stop` and `seed` are ignored: the stack's settings decide. What would change
    the form of the answer is refused. `filter` is ours, as in `/v1/query`.
    """
    document = json_value(body)
    if not isinstance(document, dict):
        raise QuestionError('The request must be a JSON object like {"messages": [...]}.')
    _refuse_other_forms(document)
    options = document.get("stream_options")
    return Chat(
        question=_question(document),
        model=_model(document.get("model")),
        wants_stream=_flag(document, "stream", "stream"),
        includes_usage=isinstance(options, dict)
        and _flag(options, "include_usage", "stream_options.include_usage"),
    )


def _refuse_other_forms(document: Mapping[str, Any]) -> None:
    if document.get("n") not in (None, 1):
        raise ChatError("There is one answer to a question: n must be 1.", "n")
    for name in ("tools", "functions", "audio", "logprobs"):
        if document.get(name):
            raise ChatError(f"{name} cannot be used: answers are text from the documents.", name)
    response_format = document.get("response_format")
    kind = response_format.get("type") if isinstance(response_format, dict) else response_format
    if kind not in (None, "text"):
        raise ChatError("Answers are text: response_format must be left out.", "response_format")


def _question(document: Mapping[str, Any]) -> Question:
    messages = document.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ChatError("messages must be a list with at least one message.", "messages")
    turns = [_turn(message, f"messages[{number}]") for number, message in enumerate(messages)]
    if messages[-1]["role"] != "user":
        raise ChatError("The last message must be the user's: it is the question.", "messages")
    text = checked_text(turns[-1].text, "The last message")
    question = question_from_object({"query": text, "filter": document.get("filter")})
    return replace(question, history=tuple(turn for turn in turns[:-1] if not is_blank(turn.text)))


def _turn(message: Any, param: str) -> Turn:
    role = message.get("role") if isinstance(message, dict) else None
    if not isinstance(role, str) or role not in TURN_ROLES:
        raise ChatError(f"The role of {param} must be one of {', '.join(TURN_ROLES)}.", f"{param}.role")
    return Turn(role=TURN_ROLES[role], text=_text(message.get("content"), f"{param}.content"))


def _text(content: Any, param: str) -> str:
    """A text, or a list of text parts, put together. A missing one is empty, as an assistant's can be."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise ChatError(f"{param} must be a text or a list of text parts.", param)
    texts = [
        part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
        for part in content
    ]
    if not all(isinstance(text, str) for text in texts):
        raise ChatError(f"{param} may hold parts of type text only.", param)
    return "".join(text for text in texts if isinstance(text, str))


def _model(value: Any) -> str:
    if value is None:
        return MODEL
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_MODEL_CHARACTERS:
        raise ChatError(f"model must be a text of 1 to {MAX_MODEL_CHARACTERS} characters.", "model")
    return value


def _flag(document: Mapping[str, Any], name: str, param: str) -> bool:
    value = document.get(name)
    if value is not None and not isinstance(value, bool):
        raise ChatError(f"{param} must be true or false.", param)
    return value is True
