"""The calls of Bedrock as botocore sends them, and what becomes of every reply and of every way to fail."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import botocore.session
import pytest
from botocore.eventstream import ChecksumMismatch
from botocore.exceptions import (
    EndpointConnectionError,
    EventStreamError,
    NoCredentialsError,
    ReadTimeoutError,
)
from botocore.stub import Stubber
from urllib3 import exceptions as urllib3_exceptions

from rag.answers import Answer, Prompt, Turn
from rag.bedrock import BedrockAnswerer, BedrockClients
from rag.errors import (
    ConfigurationError,
    PipelineError,
    ThrottledError,
    UnavailableError,
    UpstreamTimeoutError,
)
from rag.settings import PipelineSettings
from tests.lambda_src.fakes import (
    ENVIRONMENT,
    SETTINGS,
    FakeBedrock,
    client_error,
    converse_reply,
    stream_events,
)

PROMPT = Prompt(system_text="Rules.", user_text="Why?")
REASONING = {"reasoningContent": {"reasoningText": {"text": "Hm."}}}


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> BedrockClients:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    return BedrockClients(botocore.session.get_session(), "eu-central-1")


@pytest.fixture
def stubbed(clients: BedrockClients) -> Iterator[Any]:
    with Stubber(clients(20)) as stubber:
        yield clients, stubber
        stubber.assert_no_pending_responses()


def answerer(*outcomes: Any, settings: PipelineSettings = SETTINGS) -> tuple[BedrockAnswerer, FakeBedrock]:
    bedrock = FakeBedrock(outcomes=list(outcomes))
    return BedrockAnswerer(bedrock.with_timeout, settings), bedrock


def test_the_client_makes_one_attempt_within_the_read_timeout(clients: BedrockClients) -> None:
    client = clients(20)
    assert client.meta.config.retries["total_max_attempts"] == 1, "botocore's own retries know no deadline"
    assert (client.meta.config.connect_timeout, client.meta.config.read_timeout) == (2, 20)
    assert client.meta.region_name == "eu-central-1"
    assert client.meta.config.max_pool_connections >= 64, "an API with many threads would drop connections"


def test_a_client_is_made_once_for_a_timeout_however_many_threads_want_it() -> None:
    made: list[int] = []
    others: list[threading.Thread] = []

    def create_client(name: str, config: Any) -> Any:
        """While the first client is made, another thread comes and wants it too."""
        made.append(config.read_timeout)
        if len(made) == 1:
            others.append(threading.Thread(target=lambda: clients(20)))
            others[0].start()
            others[0].join(0.1)
        return object()

    session: Any = SimpleNamespace(create_client=create_client)
    clients = BedrockClients(session, "eu-central-1")
    first = clients(20)
    others[0].join(10)
    assert made == [20], "two threads made the same client at one time"
    assert clients(20) is first
    assert clients(12) is not first, "a shorter read time-out needs a client of its own"


def test_an_answer_is_asked_for_with_a_token_limit_and_no_sampling_parameter(stubbed: Any) -> None:
    clients, stubber = stubbed
    reply = converse_reply(REASONING, {"text": "They "}, {"text": "sleep."})
    reply = {**reply, "usage": {**reply["usage"], "totalTokens": 5}, "metrics": {"latencyMs": 1}}
    expected = {
        "modelId": SETTINGS.answer_model_id,
        "system": [{"text": "Rules."}],
        "messages": [
            {"role": "user", "content": [{"text": "Hi."}]},
            {"role": "assistant", "content": [{"text": "Hello."}]},
            {"role": "user", "content": [{"text": "Why?"}]},
        ],
        "inferenceConfig": {"maxTokens": 1024},
    }
    stubber.add_response("converse", reply, expected)
    history = (Turn(role="user", text="Hi."), Turn(role="assistant", text="Hello."))
    result = BedrockAnswerer(clients, SETTINGS).answer(replace(PROMPT, history=history), 20)
    assert result == Answer(text="They sleep.", stop_reason="end_turn", input_tokens=3, output_tokens=2), (
        "the model's reasoning is no part of its answer"
    )


@pytest.mark.parametrize(("temperature", "sent"), [("", {}), ("0", {"temperature": 0.0})])
def test_a_sampling_parameter_is_sent_only_when_it_is_set(temperature: str, sent: dict[str, float]) -> None:
    settings = PipelineSettings.from_environment({**ENVIRONMENT, "ANSWER_TEMPERATURE": temperature})
    model, bedrock = answerer(converse_reply({"text": "Yes."}), settings=settings)
    model.answer(PROMPT, 5)
    list(model.stream(PROMPT, 5))
    for call in bedrock.conversations:
        assert call["inferenceConfig"] == {"maxTokens": 1024, **sent}, (
            "newer models refuse what is not needed"
        )


def test_a_stream_brings_the_text_in_pieces_and_then_the_same_answer() -> None:
    reply = converse_reply(REASONING, {"text": "They sleep."})
    model, bedrock = answerer(reply)
    *pieces, last = model.stream(PROMPT, 20)
    assert last == model.answer(PROMPT, 20)
    assert "".join(map(str, pieces)) == "They sleep."
    assert "" in pieces, "while the model thinks nobody could look whether the caller is still there"
    assert bedrock.streams[0].is_closed, "the connection stays open"


def test_closing_a_stream_closes_its_connection() -> None:
    model, bedrock = answerer(converse_reply({"text": "They sleep."}))
    stream: Any = model.stream(PROMPT, 20)
    assert next(stream) == ""
    assert not bedrock.streams[0].is_closed
    stream.close()
    assert bedrock.streams[0].is_closed, "the model goes on working for nobody"


@pytest.mark.parametrize(
    ("stop_reason", "truncated"),
    [
        ("end_turn", False),
        ("stop_sequence", False),
        ("max_tokens", True),
        ("model_context_window_exceeded", True),
        ("content_filtered", True),
    ],
)
def test_an_answer_that_was_cut_off_is_flagged(stop_reason: str, truncated: bool) -> None:
    model, _ = answerer(converse_reply({"text": "They"}, stop_reason=stop_reason))
    *_, streamed = model.stream(PROMPT, 20)
    assert isinstance(streamed, Answer)
    assert streamed.truncated == model.answer(PROMPT, 20).truncated == truncated


def test_a_reply_without_usage_counts_no_tokens() -> None:
    events = [event for event in stream_events(converse_reply({"text": "Yes."})) if "metadata" not in event]
    model, _ = answerer(events)
    *_, last = model.stream(PROMPT, 20)
    assert last == Answer(text="Yes.", stop_reason="end_turn")


def test_a_reply_without_a_message_is_a_failure_of_the_service() -> None:
    with pytest.raises(UnavailableError):
        answerer({"output": {}, "stopReason": "end_turn", "usage": {}})[0].answer(PROMPT, 20)


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (ReadTimeoutError(endpoint_url="https://bedrock"), UpstreamTimeoutError),
        (EndpointConnectionError(endpoint_url="https://bedrock"), UnavailableError),
        (NoCredentialsError(), ConfigurationError),
        (client_error("ThrottlingException", 429), ThrottledError),
        (client_error("AccessDeniedException", 403), ConfigurationError),
    ],
)
def test_a_call_that_fails_is_an_error_of_ours(raised: Exception, expected: type[PipelineError]) -> None:
    model, _ = answerer(raised)
    with pytest.raises(expected):
        model.answer(PROMPT, 20)
    with pytest.raises(expected):
        next(model.stream(PROMPT, 20))


def stream_error(code: str) -> EventStreamError:
    return EventStreamError({"Error": {"Code": code, "Message": "secret"}}, "ConverseStream")


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (stream_error("modelStreamErrorException"), UnavailableError),
        (stream_error("internalServerException"), UnavailableError),
        (stream_error("serviceUnavailableException"), UnavailableError),
        (stream_error("throttlingException"), ThrottledError),
        (stream_error("validationException"), ConfigurationError),
        (urllib3_exceptions.ReadTimeoutError(Any, "url", "secret"), UpstreamTimeoutError),  # ty: ignore[invalid-argument-type]
        (urllib3_exceptions.ProtocolError("secret"), UnavailableError),
        (ConnectionResetError("secret"), UnavailableError),
        (ChecksumMismatch(1, 2), UnavailableError),
    ],
)
def test_a_stream_that_breaks_off_is_an_error_of_ours_and_is_closed(
    raised: Exception, expected: type[PipelineError]
) -> None:
    model, bedrock = answerer([{"contentBlockDelta": {"delta": {"text": "They"}}}, raised])
    stream = model.stream(PROMPT, 20)
    assert next(stream) == "They"
    with pytest.raises(expected) as error:
        next(stream)
    assert "secret" not in str(error.value), "a service's sentence can quote the request"
    assert bedrock.streams[0].is_closed


def test_a_stream_that_ends_before_its_message_does_is_no_answer() -> None:
    events = stream_events(converse_reply({"text": "They sleep."}))
    model, bedrock = answerer(events[:4])
    with pytest.raises(UnavailableError):
        list(model.stream(PROMPT, 20))
    assert bedrock.streams[0].is_closed


def test_every_fault_of_the_environment_is_reported_at_once() -> None:
    faulty = {
        **ENVIRONMENT,
        "OPENSEARCH_ENDPOINT": "http://[",
        "EMBEDDING_MODEL_ID": "cohere.embed-english-v3",
        "RETRIEVAL_COUNT": "0",
        "INDEX_ALIAS": " ",
        "SEARCH_MODE": "text",
        "ANSWER_TEMPERATURE": "2",
    }
    with pytest.raises(ConfigurationError) as error:
        PipelineSettings.from_environment(faulty)
    for name in (*faulty.keys() - ENVIRONMENT.keys(), "OPENSEARCH_ENDPOINT", "EMBEDDING_MODEL_ID"):
        assert name in str(error.value)
    for fault in ("RETRIEVAL_COUNT", "INDEX_ALIAS is not set", "SEARCH_MODE"):
        assert fault in str(error.value)
