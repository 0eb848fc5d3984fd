"""The stand-in for Bedrock as botocore sees it."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError, ReadTimeoutError
from urllib3.exceptions import ProtocolError

from tests.standins.bedrock import Bedrock, serving_bedrock
from tests.standins.embeddings import has_meaning
from tests.standins.faults import Fault
from tests.standins.loopback import KEPT_CALLS, Request
from tests.standins.signature import ACCESS_KEY_ID, SECRET_ACCESS_KEY

TITAN = "amazon.titan-embed-text-v2:0"
COHERE = "eu.cohere.embed-v4:0"
CLAUDE = "eu.anthropic.claude-sonnet-4-6"
NOTHING = "NOTHING FOUND"
PROMPT = (
    '<documents><document number="1">The warranty of the kettle lasts three years. It comes in blue.</document>'
    "<document>The office closes at six.</document></documents><question>{}</question>"
)


@pytest.fixture(scope="module")
def running() -> Iterator[Bedrock]:
    with serving_bedrock(NOTHING) as bedrock:
        yield bedrock


@pytest.fixture
def bedrock(running: Bedrock) -> Bedrock:
    running.faults.clear()
    running.calls.clear()
    return running


def client(bedrock: Bedrock, secret: str = SECRET_ACCESS_KEY, read_timeout_seconds: float = 10) -> Any:
    config = Config(retries={"total_max_attempts": 1}, read_timeout=read_timeout_seconds)
    return boto3.client(
        "bedrock-runtime", "eu-central-1", endpoint_url=bedrock.url, config=config,
        aws_access_key_id=ACCESS_KEY_ID, aws_secret_access_key=secret,
    )  # fmt: skip


def ask(question: str, **changes: Any) -> dict[str, Any]:
    message = {"role": "user", "content": [{"text": PROMPT.format(question)}]}
    return {"modelId": CLAUDE, "system": [{"text": "Quote."}], "messages": [message], **changes}


def titan(bedrock: Bedrock, text: str, dimensions: int = 256) -> list[float]:
    body = json.dumps({"inputText": text, "dimensions": dimensions, "normalize": True})
    return json.loads(client(bedrock).invoke_model(modelId=TITAN, body=body)["body"].read())["embedding"]


def cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.mark.skipif(
    not has_meaning(), reason="wordllama, which holds the model, has no wheel for this system"
)
def test_texts_of_like_meaning_are_nearer_than_others(bedrock: Bedrock) -> None:
    asked = titan(bedrock, "How many holidays do employees get?")
    near = titan(bedrock, "Staff may take thirty days of vacation a year.")
    far = titan(bedrock, "The backup runs every night.")
    assert cosine(asked, near) > cosine(asked, far) + 0.1
    assert cosine(asked, asked) == pytest.approx(1, abs=1e-5)


def test_a_longer_vector_ranks_as_the_shorter_one_does(bedrock: Bedrock) -> None:
    short = cosine(titan(bedrock, "a red apple"), titan(bedrock, "fruit"))
    long = cosine(titan(bedrock, "a red apple", 1024), titan(bedrock, "fruit", 1024))
    assert long == pytest.approx(short)


def test_cohere_embeds_many_texts_in_one_call(bedrock: Bedrock) -> None:
    body = {"texts": ["one", "two"], "input_type": "search_document", "embedding_types": ["float"]}
    reply = client(bedrock).invoke_model(modelId=COHERE, body=json.dumps({**body, "output_dimension": 512}))
    vectors = json.loads(reply["body"].read())["embeddings"]["float"]
    assert [len(vector) for vector in vectors] == [512, 512]
    assert int(reply["ResponseMetadata"]["HTTPHeaders"]["x-amzn-bedrock-input-token-count"]) > 1


@pytest.mark.parametrize(
    "body",
    [
        {"inputText": ""},
        {"inputText": "a", "dimensions": 300},
        {"inputText": "a", "temperature": 1},
        {"inputText": "word " * 9000},
    ],
)
def test_titan_refuses_what_it_does_not_know(bedrock: Bedrock, body: dict[str, Any]) -> None:
    with pytest.raises(ClientError, match="ValidationException"):
        client(bedrock).invoke_model(modelId=TITAN, body=json.dumps(body))


def test_the_nearest_sentence_is_the_answer(bedrock: Bedrock) -> None:
    reply = client(bedrock).converse(**ask("How long is the warranty?"))
    content = reply["output"]["message"]["content"]
    assert "reasoningContent" in content[0], "newer models think before they speak"
    assert content[-1]["text"] == "The warranty of the kettle lasts three years."
    assert reply["stopReason"] == "end_turn"
    assert reply["usage"]["inputTokens"] > reply["usage"]["outputTokens"] > 0


def test_a_question_about_something_else_finds_nothing(bedrock: Bedrock) -> None:
    reply = client(bedrock).converse(**ask("Who composed the Moonlight Sonata?"))
    assert reply["output"]["message"]["content"][-1]["text"] == NOTHING


def test_an_answer_ends_at_its_limit_of_tokens(bedrock: Bedrock) -> None:
    reply = client(bedrock).converse(**ask("How long is the warranty?", inferenceConfig={"maxTokens": 3}))
    assert reply["stopReason"] == "max_tokens"
    assert reply["usage"]["outputTokens"] <= 3


def test_a_stream_has_the_same_words_as_the_whole_answer(bedrock: Bedrock) -> None:
    events = list(client(bedrock).converse_stream(**ask("How long is the warranty?"))["stream"])
    pieces = [
        event["contentBlockDelta"]["delta"].get("text", "")
        for event in events
        if "contentBlockDelta" in event
    ]
    assert "".join(pieces) == "The warranty of the kettle lasts three years."
    assert len(pieces) > 3
    assert events[-2]["messageStop"]["stopReason"] == "end_turn"
    assert events[-1]["metadata"]["usage"]["totalTokens"] > 0


def test_a_stream_can_end_with_an_error_of_the_model(bedrock: Bedrock) -> None:
    bedrock.faults.add(Fault(code="modelStreamErrorException", cut_after_events=3))
    stream = client(bedrock).converse_stream(**ask("How long is the warranty?"))["stream"]
    with closing(stream), pytest.raises(EventStreamError, match="modelStreamErrorException"):
        list(stream)


def test_a_stream_can_be_cut_off(bedrock: Bedrock) -> None:
    bedrock.faults.add(Fault(operation="ConverseStream", cut_after_events=3))
    stream = client(bedrock).converse_stream(**ask("How long is the warranty?"))["stream"]
    with closing(stream), pytest.raises(ProtocolError):  # botocore makes no error of its own of it
        list(stream)


def test_a_fault_is_used_as_often_as_it_was_added(bedrock: Bedrock) -> None:
    bedrock.faults.add(Fault(operation="Converse", status=429, code="ThrottlingException"), times=2)
    for _ in range(2):
        with pytest.raises(ClientError) as refused:
            client(bedrock).converse(**ask("How long is the warranty?"))
        assert refused.value.response["Error"]["Code"] == "ThrottlingException"
    assert client(bedrock).converse(**ask("How long is the warranty?"))["stopReason"] == "end_turn"
    assert list(bedrock.calls) == [("Converse", CLAUDE)] * 3


def test_the_newest_calls_are_kept_and_the_others_forgotten(
    bedrock: Bedrock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.standins.bedrock.signature_fault", lambda request, service: "")
    for number in range(KEPT_CALLS + 1):
        body = json.dumps({"inputText": str(number)}).encode()
        bedrock.handle(Request("POST", f"/model/{TITAN}/invoke", {}, body))
    assert len(bedrock.calls) == len(bedrock.bodies) == KEPT_CALLS, "a long run fills the memory"
    assert bedrock.bodies[-1] == {"inputText": str(KEPT_CALLS)}


def test_a_late_reply_runs_into_the_read_timeout(bedrock: Bedrock) -> None:
    bedrock.faults.add(Fault(delay_seconds=0.3))
    with pytest.raises(ReadTimeoutError):
        client(bedrock, read_timeout_seconds=0.1).converse(**ask("How long is the warranty?"))


@pytest.mark.parametrize(
    "changes",
    [
        {"messages": []},
        {"messages": [{"role": "assistant", "content": [{"text": "hi"}]}]},
        {"messages": [{"role": "user", "content": [{"text": " "}]}]},
        {"modelId": "anthropic.claude-sonnet-4-6"},
        {"modelId": "eu.anthropic.claude-sonnet-5", "inferenceConfig": {"temperature": 0.5}},
    ],
)
def test_what_bedrock_refuses_is_refused(bedrock: Bedrock, changes: dict[str, Any]) -> None:
    with pytest.raises(ClientError, match="ValidationException"):
        client(bedrock).converse(**ask("How long is the warranty?", **changes))


def test_a_field_that_the_service_does_not_have_is_refused(bedrock: Bedrock) -> None:
    unchecked = Config(parameter_validation=False, retries={"total_max_attempts": 1})
    runtime = boto3.client(
        "bedrock-runtime", "eu-central-1", endpoint_url=bedrock.url, config=unchecked,
        aws_access_key_id=ACCESS_KEY_ID, aws_secret_access_key=SECRET_ACCESS_KEY,
    )  # fmt: skip
    with pytest.raises(ClientError, match="ValidationException"):
        runtime.converse(
            modelId=CLAUDE, inferenceConfig={"maxTokens": 0}, **{"messages": ask("hi")["messages"]}
        )


def test_another_key_is_refused(bedrock: Bedrock) -> None:
    with pytest.raises(ClientError, match="AccessDeniedException"):
        client(bedrock, secret="another").converse(**ask("How long is the warranty?"))
