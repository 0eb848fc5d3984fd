"""The stand-in for an OpenAI-compatible service, as the pipeline's own client and OpenAI's see it."""

from collections.abc import Generator

import openai
import pytest

from rag.answers import Answer
from rag.errors import PipelineError, ThrottledError, UnavailableError
from rag.openai_answer import OpenAIAnswerer, OpenAISettings
from rag.passages import Passage
from rag.prompt import NO_ANSWER_MARKER, build_prompt
from tests.standins.faults import Fault
from tests.standins.openai_service import MODEL, OpenAIService, serving_openai

PASSAGE = Passage(text="The kettle boils in two minutes.", document_key="raw/a.txt", chunk_number=0, score=1)
PROMPT = build_prompt("How fast does the kettle boil?", [PASSAGE])


@pytest.fixture
def service() -> Generator[OpenAIService]:
    with serving_openai(NO_ANSWER_MARKER, api_key="key") as one:
        yield one


def answerer(service: OpenAIService, api_key: str = "key") -> OpenAIAnswerer:
    return OpenAIAnswerer(OpenAISettings(base_url=service.url, model=MODEL, api_key=api_key), max_tokens=100)


def test_the_pipeline_gets_an_answer_and_a_stream_of_the_same(service: OpenAIService) -> None:
    whole = answerer(service).answer(PROMPT, 10)
    *pieces, last = answerer(service).stream(PROMPT, 10)
    assert whole.text == "The kettle boils in two minutes."
    assert "".join(str(piece) for piece in pieces) == whole.text
    assert isinstance(last, Answer)
    assert (last.output_tokens, last.stop_reason) == (whole.output_tokens, "stop")


def test_a_question_about_something_else_gets_the_marker(service: OpenAIService) -> None:
    prompt = build_prompt("Who painted the Night Watch?", [PASSAGE])
    assert answerer(service).answer(prompt, 10).text == NO_ANSWER_MARKER


def test_openais_own_client_is_answered(service: OpenAIService) -> None:
    with openai.OpenAI(base_url=service.url, api_key="key", max_retries=0) as client:
        turns = [{"role": "user", "content": PROMPT.user_text}]
        chunks = client.chat.completions.create(model=MODEL, messages=turns, stream=True)  # ty: ignore
        said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert said == "The kettle boils in two minutes."


def test_faults_reach_the_pipeline_as_its_own_errors(service: OpenAIService) -> None:
    service.faults.add(Fault(status=429, code="rate_limit_exceeded"))
    with pytest.raises(ThrottledError):
        answerer(service).answer(PROMPT, 10)
    service.faults.add(Fault(cut_after_events=2))
    with pytest.raises(UnavailableError):
        list(answerer(service).stream(PROMPT, 10))
    with pytest.raises(PipelineError):
        answerer(service, api_key="another").answer(PROMPT, 10)
