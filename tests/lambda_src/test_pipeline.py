"""From question to answer, whole and in parts: retries, the deadline, callers that leave, and what is shown."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.answers import Answer, Prompt, Turn
from rag.deadline import Deadline
from rag.embedding import Vectors
from rag.errors import (
    CallerGoneError,
    ConfigurationError,
    DeadlineError,
    PipelineError,
    ThrottledError,
    UnavailableError,
    UnreachableError,
    UpstreamTimeoutError,
)
from rag.openai_answer import OpenAIAnswerer, OpenAISettings
from rag.pipeline import Question, answer_question, never, stream_answer
from rag.prompt import NO_ANSWER_MARKER
from rag.results import NO_ANSWER, NO_DOCUMENTS, Delta, Result, Source, Sources, Usage
from tests.lambda_src.fakes import (
    SETTINGS,
    FakeBedrock,
    FakeSearch,
    FakeTime,
    client_error,
    converse_reply,
    passage,
    services,
    stream_events,
)
from tests.lambda_src.openai_server import openai_server

SOURCE = Source(document_key="raw/pdfs/cats.txt", page=None, score=0.9)
THROTTLED = client_error("ThrottlingException", 429)
DELTA: dict[str, Any] = {"contentBlockDelta": {"delta": {"text": "They"}}}


class Scene:
    """The pipeline over fakes, with a clock that moves only when somebody sleeps."""

    def __init__(self, *outcomes: Any, seconds: float = 120, **changes: Any) -> None:
        self.bedrock = FakeBedrock(outcomes=list(outcomes)) if outcomes else FakeBedrock()
        self.search = FakeSearch()
        self.time = FakeTime()
        made = services(self.bedrock, self.search, self.time.sleep)
        self.services = replace(made, clock=self.time.clock, **changes)
        self.deadline = Deadline.after(seconds, self.time.clock)

    def answer(self, question: Question = Question("hi"), cancelled: Callable[[], bool] = never) -> Result:  # noqa: B008
        return answer_question(question, self.services, self.deadline, cancelled)

    def stream(self, question: Question = Question("hi"), cancelled: Callable[[], bool] = never) -> Any:  # noqa: B008
        return stream_answer(question, self.services, self.deadline, cancelled)


def texts(parts: list[Any]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Delta))


def test_a_stream_brings_sources_then_text_then_the_whole_result() -> None:
    scene = Scene()
    first, *deltas, last = scene.stream()
    assert first == Sources((SOURCE,))
    assert len(deltas) > 1, "the answer came in one piece"
    assert last == scene.answer()
    assert texts(deltas) == last.answer == "They sleep."
    assert last.usage == Usage(input_tokens=3, output_tokens=2, embedding_tokens=7)
    assert scene.bedrock.streams[0].is_closed


@pytest.mark.parametrize(
    ("text", "truncated"),
    [(NO_ANSWER_MARKER, False), (f"**{NO_ANSWER_MARKER}** Sorry.", False), (" \n", False), ("[[NO_AN", True)],
)
def test_a_model_that_finds_no_answer_is_never_quoted(text: str, truncated: bool) -> None:
    scene = Scene(converse_reply({"text": text}, stop_reason="max_tokens" if truncated else "end_turn"))
    parts = list(scene.stream())
    assert parts[:2] == [Sources(()), Delta(NO_ANSWER)]
    assert parts[2] == scene.answer()
    assert (parts[2].outcome, parts[2].answer, parts[2].sources) == ("no_answer", NO_ANSWER, ())
    assert parts[2].usage.output_tokens == 2, "what was paid for is not counted"


def test_without_documents_no_model_is_asked_and_the_result_says_so() -> None:
    scene = Scene()
    scene.search.passages = [passage("\u200b")]
    parts = list(scene.stream())
    assert parts == [Sources(()), Delta(NO_DOCUMENTS), scene.answer()]
    assert (parts[2].outcome, parts[2].usage.embedding_tokens) == ("no_documents", 7)
    assert scene.bedrock.conversations == [], "an answer without documents would be invented"


def test_only_passages_that_the_model_was_shown_are_sources() -> None:
    scene = Scene()
    scene.search.passages = [
        passage(),
        passage("long " * 10_000, key="raw/long.txt"),
        passage(key="raw/copy.txt"),
    ]
    result = scene.answer()
    assert (result.sources, result.passages) == ((SOURCE,), 1)


def test_each_stage_is_timed() -> None:
    scene = Scene()

    def slow(client: Callable[[int], Any], seconds: float) -> Callable[[int], Any]:
        def wait(read_timeout_seconds: int) -> Any:
            scene.time.sleep(seconds)
            return client(read_timeout_seconds)

        return wait

    scene.services = replace(scene.services, bedrock_client=slow(scene.bedrock.with_timeout, 0.25))
    assert scene.answer().timings_ms == {"embed": 250, "search": 0, "answer": 0}
    *_, last = scene.stream()
    assert last.timings_ms["embed"] == 250


def test_a_conversation_goes_along_within_its_share_of_the_budget() -> None:
    scene = Scene()
    history = (Turn(role="user", text="long " * 10_000), Turn(role="user", text="Are there cats?"))
    scene.answer(Question("Do they sleep?", history=history))
    (message,) = scene.bedrock.conversations[0]["messages"]
    assert message["content"][0]["text"].startswith("Are there cats?\n\n<documents>")
    assert scene.search.asked[0][1] == "Do they sleep?"


@pytest.mark.parametrize("code", ["ThrottlingException", "ServiceUnavailableException"])
def test_what_may_pass_is_tried_again_inside_the_deadline(code: str) -> None:
    failure = client_error(code, 503)
    assert list(Scene(failure, failure, converse_reply({"text": "Yes."})).stream())[-1].answer == "Yes."
    scene = Scene(failure, failure, converse_reply({"text": "Yes."}))
    assert scene.answer().answer == "Yes."
    assert len(scene.bedrock.conversations) == 3


def test_an_answer_that_took_too_long_is_not_paid_for_twice_and_an_embedding_is_tried_again() -> None:
    slow = client_error("ModelTimeoutException", 408)
    for ask in (lambda scene: scene.answer(), lambda scene: list(scene.stream())):
        scene = Scene(slow, converse_reply({"text": "Yes."}))
        scene.bedrock.embed_outcomes = [slow, None]
        with pytest.raises(UpstreamTimeoutError):
            ask(scene)
        assert (len(scene.bedrock.embedded), len(scene.bedrock.conversations)) == (2, 1)


def test_a_service_that_takes_no_connection_is_not_tried_again() -> None:
    scene = Scene()
    scene.bedrock.embed_outcomes = [ConnectTimeoutError(endpoint_url="https://bedrock")]
    with pytest.raises(UnreachableError):
        scene.answer()
    scene.bedrock.embed_outcomes = []
    scene.search.outcomes = [UnreachableError("no address answered")]
    with pytest.raises(UnreachableError):
        scene.answer()
    scene.search.outcomes = []
    scene.bedrock.outcomes = [ConnectTimeoutError(endpoint_url="https://bedrock")]
    with pytest.raises(UnreachableError):
        scene.answer()
    assert (len(scene.bedrock.embedded), scene.search.searches, len(scene.bedrock.conversations)) == (3, 2, 1)


def test_what_will_not_pass_is_not_tried_again() -> None:
    scene = Scene(client_error("ValidationException", 400))
    with pytest.raises(ConfigurationError):
        scene.answer()
    with pytest.raises(ConfigurationError):
        list(scene.stream())
    assert len(scene.bedrock.conversations) == 2


@pytest.mark.parametrize("seconds", [8, 9, 11, 15, 30])
def test_one_deadline_holds_for_all_calls_together(seconds: float) -> None:
    scene = Scene(THROTTLED, seconds=seconds)
    scene.search.outcomes = [UnavailableError("once"), None]
    with pytest.raises(PipelineError):
        scene.answer()
    assert scene.deadline.remaining_seconds() >= 1


def test_a_stream_that_breaks_before_it_showed_anything_is_tried_again() -> None:
    reasoning = {"contentBlockDelta": {"delta": {"reasoningContent": {"text": "Hm."}}}}
    held = {"contentBlockDelta": {"delta": {"text": "[[NO_"}}}
    scene = Scene([reasoning, held, UnavailableError("broke")], converse_reply({"text": "They sleep."}))
    parts = list(scene.stream())
    assert texts(parts) == "They sleep."
    assert [stream.is_closed for stream in scene.bedrock.streams] == [True, True]


def test_a_stream_that_breaks_after_it_showed_something_is_not_begun_anew() -> None:
    scene = Scene([DELTA, UnavailableError("broke")])
    stream = scene.stream()
    assert [next(stream), next(stream)] == [Sources((SOURCE,)), Delta("They")]
    with pytest.raises(UnavailableError):
        next(stream)
    assert len(scene.bedrock.streams) == 1, "the caller would read the beginning twice"
    assert scene.bedrock.streams[0].is_closed


def test_closing_a_stream_ends_the_models_work() -> None:
    scene = Scene()
    stream = scene.stream()
    next(stream)
    assert not scene.bedrock.streams[0].is_closed
    stream.close()
    assert scene.bedrock.streams[0].is_closed, "the model goes on working for nobody"


def leaving_after(looks: int) -> Callable[[], bool]:
    """A caller who is there for so many looks."""
    seen = iter([False] * looks)
    return lambda: next(seen, True)


@pytest.mark.parametrize("looks", range(6))
def test_a_caller_who_left_costs_no_further_call(looks: int) -> None:
    scene = Scene([DELTA] * 9)
    with pytest.raises(CallerGoneError) as left:
        list(scene.stream(cancelled=leaving_after(looks)))
    assert scene.bedrock.calls + scene.search.searches <= looks
    assert left.value, "while the error is alive, nothing but our own code can have closed the stream"
    assert all(stream.is_closed for stream in scene.bedrock.streams)
    plain = Scene()
    if looks < 3:
        with pytest.raises(CallerGoneError):
            plain.answer(cancelled=leaving_after(looks))
        assert plain.bedrock.calls + plain.search.searches == looks


def test_a_stream_does_not_outlive_the_deadline() -> None:
    scene = Scene(seconds=30)

    class Slow:
        def answer(self, prompt: Prompt, read_timeout_seconds: int) -> Answer:
            raise AssertionError("this test streams")

        def stream(self, prompt: Prompt, read_timeout_seconds: int) -> Iterator[str | Answer]:
            for _ in range(100):
                scene.time.sleep(5)
                yield "word "

    scene.services = replace(scene.services, answerer=Slow())
    with pytest.raises(DeadlineError):
        list(scene.stream())
    assert scene.deadline.remaining_seconds() >= 0, "the request went on after its time"


def test_a_stream_of_comments_does_not_outlive_the_deadline() -> None:
    scene = Scene(seconds=60)

    class Paced(OpenAIAnswerer):
        def stream(self, prompt: Prompt, read_timeout_seconds: int) -> Iterator[str | Answer]:
            for piece in super().stream(prompt, read_timeout_seconds):
                scene.time.sleep(1)
                yield piece

    with openai_server() as upstream:
        upstream.reply = (200, (b": keep-alive\n\n" for _ in range(100_000)))
        settings = OpenAISettings(base_url=upstream.base_url, model="gpt", api_key="")
        scene.services = replace(scene.services, answerer=Paced(settings, 500))
        with pytest.raises(DeadlineError):
            list(scene.stream())
        assert upstream.gone.wait(20), "the connection stays open"
    assert scene.deadline.remaining_seconds() >= 0, "the request went on after its time"


def test_a_stream_without_an_end_is_a_failure() -> None:
    class Endless:
        def answer(self, prompt: Prompt, read_timeout_seconds: int) -> Answer:
            raise AssertionError("this test streams")

        def stream(self, prompt: Prompt, read_timeout_seconds: int) -> Iterator[str | Answer]:
            return iter(["They"])

    with pytest.raises(UnavailableError):
        list(Scene(answerer=Endless()).stream())


def test_texts_are_embedded_in_as_few_calls_as_the_model_takes() -> None:
    scene = Scene()
    made = scene.services.embed_texts(["a", "b", "c"], "document", scene.deadline)
    assert made == Vectors(vectors=[[0.5] * 256] * 3, tokens=21)
    assert scene.bedrock.embedded == ["a", "b", "c"]
    assert scene.services.embed_texts([], "document", scene.deadline) == Vectors(vectors=[], tokens=0)


@pytest.mark.parametrize(
    ("raised", "expected"),
    [(ThrottledError("x"), ThrottledError), (UpstreamTimeoutError("x"), UpstreamTimeoutError)],
)
def test_a_search_that_fails_is_reported(raised: Exception, expected: type[PipelineError]) -> None:
    scene = Scene()
    scene.search.outcomes = [raised]
    with pytest.raises(expected):
        scene.answer()
    assert scene.search.searches == (2 if expected is ThrottledError else 1), (
        "a waking collection was asked twice"
    )


def test_the_models_are_asked_with_the_settings_timeout() -> None:
    scene = Scene()
    scene.answer()
    list(scene.stream())
    assert set(scene.bedrock.read_timeouts) == {SETTINGS.bedrock_read_timeout_seconds}


@settings(deadline=None)
@given(st.lists(st.text(max_size=6) | st.sampled_from(["[[", "NO_ANSWER", "]]", " ", "\n"]), max_size=6))
def test_the_pieces_of_every_stream_together_are_the_answer(pieces: list[str]) -> None:
    reply = converse_reply(*({"text": piece} for piece in pieces))
    parts = list(Scene(stream_events(reply)).stream())
    assert isinstance(parts[0], Sources)
    assert all(isinstance(part, Delta) and part.text for part in parts[1:-1])
    whole = Scene(reply).answer()
    assert parts[-1] == whole
    assert texts(parts) == whole.answer
    assert parts[0].sources == whole.sources
