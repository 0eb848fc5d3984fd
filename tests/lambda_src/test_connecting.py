"""A host with several addresses none of which takes a connection, as urllib3 tries them: one after the other."""

import socket
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import botocore.session
import pytest
from botocore.credentials import Credentials

from rag.answers import Prompt
from rag.bedrock import BedrockAnswerer, BedrockClients
from rag.deadline import CONNECT_ADDRESSES, CONNECT_RESERVE_SECONDS, Deadline
from rag.embedding import embed
from rag.errors import DeadlineError, UnreachableError
from rag.openai_answer import OpenAIAnswerer, OpenAISettings
from rag.opensearch_http import OpenSearchHttp
from rag.pipeline import Question, answer_question, stream_answer
from rag.services import Services
from tests.lambda_src.fakes import SETTINGS, FakeTime

PROMPT = Prompt(system_text="Rules.", user_text="Why?")
HOST = "https://silent.example"


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """A clock that a connection attempt moves by its time-out; every host has three silent addresses."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    clock = FakeTime()

    class Silent:
        def __init__(self, *arguments: Any) -> None:
            self.timeout = 0.0

        def settimeout(self, seconds: float) -> None:
            self.timeout = seconds

        def setsockopt(self, *option: Any) -> None:
            """Any option is taken."""

        def connect(self, address: Any) -> None:
            clock.sleep(self.timeout)
            raise TimeoutError

        def close(self) -> None:
            """There is nothing to close."""

    def addresses(host: str, port: int, family: int, kind: int) -> list[Any]:
        return [(socket.AF_INET, kind, 6, "", (f"192.0.2.{n}", port)) for n in range(CONNECT_ADDRESSES)]

    silent = SimpleNamespace(**{**vars(socket), "socket": Silent, "getaddrinfo": addresses})
    monkeypatch.setattr("urllib3.util.connection.socket", silent)
    return clock


def bedrock() -> BedrockClients:
    return BedrockClients(botocore.session.get_session(), "eu-central-1")


def openai() -> OpenAIAnswerer:
    return OpenAIAnswerer(OpenAISettings(base_url=f"{HOST}/v1", model="gpt", api_key=""), 1024)


def opensearch() -> OpenSearchHttp:
    return OpenSearchHttp(HOST, "eu-central-1", Credentials("key", "secret"))


CALLS: dict[str, Callable[[], Any]] = {
    "an embedding": lambda: embed(bedrock()(20), SETTINGS, ["hi"], "query"),
    "an answer of Bedrock": lambda: BedrockAnswerer(bedrock(), SETTINGS).answer(PROMPT, 20),
    "a stream of Bedrock": lambda: list(BedrockAnswerer(bedrock(), SETTINGS).stream(PROMPT, 20)),
    "an answer of OpenAI": lambda: openai().answer(PROMPT, 20),
    "a stream of OpenAI": lambda: list(openai().stream(PROMPT, 20)),
    "a search": lambda: opensearch().send("GET", "/_alias", None, 20),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_every_address_is_tried_within_the_time_that_a_deadline_keeps_for_it(
    time: FakeTime, call: Callable[[], Any]
) -> None:
    with pytest.raises(UnreachableError) as error:
        call()
    assert len(time.pauses) == CONNECT_ADDRESSES
    assert time.now == CONNECT_RESERVE_SECONDS, "the request would go on after its time"
    assert error.value.status_code == 503


@pytest.mark.parametrize("seconds", [8.9, 9, 10, 15, 20, 60, 120])
@pytest.mark.parametrize("ask", [answer_question, lambda *given: list(stream_answer(*given))])
def test_a_question_ends_before_its_deadline_after_one_attempt(
    time: FakeTime, ask: Callable[..., Any], seconds: float
) -> None:
    services = replace(Services.from_settings(SETTINGS), sleep=time.sleep, clock=time.clock)
    deadline = Deadline.after(seconds, time.clock)
    with pytest.raises((UnreachableError, DeadlineError)):
        ask(Question("hi"), services, deadline)
    assert deadline.remaining_seconds() >= 1, "nobody would be told what went wrong"
    assert len(time.pauses) == (CONNECT_ADDRESSES if seconds >= 9 else 0), "the same wait for nothing again"
