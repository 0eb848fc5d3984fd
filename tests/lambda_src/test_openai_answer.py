"""Answers from an OpenAI-compatible service, against a loopback server: whole, streamed, refused and broken off."""

import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from rag.answers import Answer, Prompt, Turn
from rag.errors import (
    ConfigurationError,
    PipelineError,
    ThrottledError,
    UnavailableError,
    UpstreamTimeoutError,
)
from rag.openai_answer import MAX_REPLY_BYTES, OpenAIAnswerer, OpenAISettings
from tests.lambda_src.openai_server import USAGE, Server, completion, delta, openai_server

PROMPT = Prompt(
    system_text="Rules.",
    user_text="Why?",
    history=(Turn(role="user", text="Hi."), Turn(role="assistant", text="Hello.")),
)


@pytest.fixture
def server() -> Iterator[Server]:
    with openai_server() as running:
        yield running


STREAM: list[Any] = [
    b": keep-alive\n\n",
    delta(role="assistant", content=""),
    delta(reasoning_content="Hm."),
    delta(content="They "),
    delta(content="sleep."),
    delta(finish_reason="stop"),
    {"choices": [], "usage": USAGE},
    b"data: [DONE]\n\n",
]


def answerer(server: Server, api_key: str = "sk-1", temperature: float | None = None) -> OpenAIAnswerer:
    settings = OpenAISettings(base_url=server.base_url, model="gpt", api_key=api_key)
    return OpenAIAnswerer(settings, 1024, temperature)


def test_an_answer_comes_from_chat_completions(server: Server) -> None:
    answer = answerer(server).answer(PROMPT, 5)
    assert answer == Answer(text="They sleep.", stop_reason="stop", input_tokens=3, output_tokens=2)
    path, headers, body = server.received[0]
    assert (path, headers["authorization"]) == ("/v1/chat/completions", "Bearer sk-1")
    assert body == {
        "model": "gpt",
        "messages": [
            {"role": "system", "content": "Rules."},
            {"role": "user", "content": "Hi."},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "Why?"},
        ],
        "max_completion_tokens": 1024,
    }


def test_a_stream_brings_the_text_in_pieces_and_then_the_same_answer(server: Server) -> None:
    server.reply = (200, STREAM)
    *pieces, last = answerer(server).stream(PROMPT, 5)
    assert last == Answer(text="They sleep.", stop_reason="stop", input_tokens=3, output_tokens=2)
    assert [piece for piece in pieces if piece] == ["They ", "sleep."]
    assert "" in pieces, "while the model thinks nobody could look whether the caller is still there"
    body = server.received[0][2]
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


def test_a_sampling_parameter_is_sent_only_when_it_is_set(server: Server) -> None:
    answerer(server, temperature=0.0).answer(PROMPT, 5)
    assert server.received[0][2]["temperature"] == 0.0


def test_without_a_key_none_is_sent(server: Server) -> None:
    answerer(server, api_key="").answer(PROMPT, 5)
    assert "authorization" not in server.received[0][1]


def test_a_connection_is_kept_between_answers(server: Server) -> None:
    one = answerer(server)
    for _ in range(3):
        one.answer(PROMPT, 5)
    server.reply = (200, STREAM)
    for _ in range(3):
        list(one.stream(PROMPT, 5))
    assert len(server.connections) == 1, "every answer pays for a new connection"


def test_a_service_that_is_done_but_does_not_end_its_reply_is_not_waited_for(server: Server) -> None:
    server.reply = (200, [*STREAM, threading.Event()])
    *_, last = answerer(server).stream(PROMPT, 60)
    assert isinstance(last, Answer) and last.text == "They sleep."
    assert server.gone.wait(5), "the answer was there, and its caller had to wait for the service to hang up"


def test_a_stream_tells_of_each_part_that_arrives_even_without_an_event(server: Server) -> None:
    server.reply = (200, [b": keep-alive\n\n"] * 9 + STREAM)
    stream = answerer(server).stream(PROMPT, 5)
    assert next(stream) == "", "nobody could look whether the caller is still there, or at the time"
    assert list(stream)[-1] == Answer(text="They sleep.", stop_reason="stop", input_tokens=3, output_tokens=2)


@pytest.mark.parametrize("seconds_per_part", [1, 100])
def test_a_plain_reply_that_trickles_in_is_given_up_when_its_time_is_over(
    server: Server, monkeypatch: pytest.MonkeyPatch, seconds_per_part: int
) -> None:
    looks = count(step=seconds_per_part)
    monkeypatch.setattr("rag.openai_answer.monotonic", lambda: next(looks))
    server.reply = (200, (b" " for _ in range(300)))
    with pytest.raises(UpstreamTimeoutError, match="in full"):
        answerer(server).answer(PROMPT, 20)


def test_a_plain_reply_without_an_end_does_not_fill_the_memory(server: Server) -> None:
    whole = b'{"choices": [{"message": {"content": "They sleep."}}]}'
    server.reply = (200, whole + b" " * MAX_REPLY_BYTES)
    with pytest.raises(UnavailableError, match="more than"):
        answerer(server).answer(PROMPT, 20)


@pytest.mark.parametrize("content", [None, "", " ", []])
def test_an_empty_completion_is_no_answer(server: Server, content: Any) -> None:
    server.reply = (200, completion(content))
    assert answerer(server).answer(PROMPT, 5).text is None


def test_parts_of_a_message_are_picked_by_type(server: Server) -> None:
    parts = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "They sleep."}]
    server.reply = (200, completion(parts))
    assert answerer(server).answer(PROMPT, 5).text == "They sleep."
    server.reply = (200, [delta(content=parts), delta(finish_reason="stop")])
    assert list(answerer(server).stream(PROMPT, 5))[0] == "They sleep."


@pytest.mark.parametrize(
    ("finish_reason", "truncated"), [("stop", False), ("length", True), ("content_filter", True)]
)
def test_an_answer_that_was_cut_off_is_flagged(server: Server, finish_reason: str, truncated: bool) -> None:
    server.reply = (200, completion("They", finish_reason))
    assert answerer(server).answer(PROMPT, 5).truncated == truncated
    server.reply = (200, [delta(content="They"), delta(finish_reason=finish_reason)])
    *_, last = answerer(server).stream(PROMPT, 5)
    assert isinstance(last, Answer) and last.truncated == truncated


def test_a_stream_without_usage_counts_no_tokens(server: Server) -> None:
    server.reply = (200, [delta(content="Yes."), delta(finish_reason="stop"), b"data: [DONE]\n\n"])
    *_, last = answerer(server).stream(PROMPT, 5)
    assert last == Answer(text="Yes.", stop_reason="stop")


REFUSALS: list[tuple[tuple[int, Any], type[PipelineError]]] = [
    ((429, {}), ThrottledError),
    ((503, {}), UnavailableError),
    ((504, {}), UpstreamTimeoutError),
    ((401, {"error": "sk-1"}), ConfigurationError),
    ((307, {}), ConfigurationError),
]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        *REFUSALS,
        ((200, b"<html>"), UnavailableError),
        ((200, b"\xff"), UnavailableError),
        ((200, b"[" * 100_000), UnavailableError),
        ((200, {"choices": []}), UnavailableError),
        ((200, {"choices": 7}), UnavailableError),
        ((200, completion(7)), UnavailableError),
        ((200, [1]), UnavailableError),
        ((200, {"error": {"code": 429}}), ThrottledError),
    ],
)
def test_whatever_goes_wrong_is_an_error_of_ours(
    server: Server, reply: tuple[int, Any], expected: type[PipelineError]
) -> None:
    server.reply = reply if reply[1] != [1] else (200, b"[1]")
    with pytest.raises(expected) as error:
        answerer(server).answer(PROMPT, 5)
    assert "sk-1" not in str(error.value)
    assert len(server.received) == 1, "a redirect was followed with the key"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        *REFUSALS,
        ((200, [b"data: {\n\n"]), UnavailableError),
        ((200, [b"data: 7\n\n"]), UnavailableError),
        ((200, [delta(content="They"), b'data: {"choices": [{\n\n']), UnavailableError),
        (
            (200, [delta(content="They"), {"error": {"type": "server_error", "message": "sk-1"}}]),
            UnavailableError,
        ),
        ((200, [delta(content="They"), {"error": {"type": "rate_limit_error"}}]), ThrottledError),
        ((200, [delta(content="They"), ConnectionResetError()]), UnavailableError),
        ((200, [delta(content="They")]), UnavailableError),
        ((200, [b"x" * 5_000_000]), UnavailableError),
    ],
)
def test_a_stream_that_breaks_off_is_an_error_of_ours(
    server: Server, reply: tuple[int, Any], expected: type[PipelineError]
) -> None:
    server.reply = reply
    with pytest.raises(expected) as error:
        list(answerer(server).stream(PROMPT, 5))
    assert "sk-1" not in str(error.value)
    assert len(server.received) == 1


def test_a_service_that_stops_in_the_middle_of_a_stream_is_given_up(server: Server) -> None:
    server.reply = (200, [delta(content="They"), threading.Event()])
    stream = answerer(server).stream(PROMPT, 1)
    assert next(stream) == "They"
    with pytest.raises(UpstreamTimeoutError):
        list(stream)


def test_closing_a_stream_closes_its_connection(server: Server) -> None:
    server.reply = (200, [delta(content="They"), threading.Event()])
    stream: Any = answerer(server).stream(PROMPT, 5)
    assert next(stream) == "They", "a piece is shown only when the next one comes"
    stream.close()
    assert server.gone.wait(5), "the model goes on working for nobody"


def test_a_server_that_cannot_be_reached_is_unavailable() -> None:
    unreachable = OpenAISettings(base_url="http://127.0.0.1:1/v1", model="gpt", api_key="")
    with pytest.raises(UnavailableError):
        OpenAIAnswerer(unreachable, 1024).answer(PROMPT, 5)


def test_the_key_is_not_shown_with_the_settings() -> None:
    assert "sk-1" not in repr(OpenAISettings(base_url="http://a", model="gpt", api_key="sk-1"))
