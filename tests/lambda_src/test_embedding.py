"""Vectors of both embedding models: what is sent, what is read, and what a wrong reply becomes."""

import io
import json
from math import hypot
from typing import Any

import pytest
from botocore.exceptions import ClientError, IncompleteReadError, ReadTimeoutError
from hypothesis import given
from hypothesis import strategies as st

from rag.embedding import TOKENS_HEADER, Purpose, Vectors, embed, texts_per_call
from rag.errors import (
    ConfigurationError,
    PipelineError,
    QuestionTooLongError,
    ThrottledError,
    UnavailableError,
    UpstreamTimeoutError,
)
from rag.settings import COHERE_EMBED_V4, TITAN_TEXT_EMBEDDINGS_V2, PipelineSettings
from rag.tokens import estimate_tokens
from rag.well_formed import well_formed

TITAN = TITAN_TEXT_EMBEDDINGS_V2
COHERE = f"eu.{COHERE_EMBED_V4}"


def settings(model_id: str, dimensions: int = 256) -> PipelineSettings:
    return PipelineSettings.from_environment(
        {
            "AWS_REGION": "eu-central-1",
            "OPENSEARCH_ENDPOINT": "https://abc.eu-central-1.aoss.amazonaws.com",
            "INDEX_ALIAS": "documents",
            "EMBEDDING_MODEL_ID": model_id,
            "EMBEDDING_DIMENSIONS": str(dimensions),
            "ANSWER_MODEL_ID": "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "BEDROCK_READ_TIMEOUT_SECONDS": "20",
            "BEDROCK_MAX_ATTEMPTS": "3",
            "RETRIEVAL_COUNT": "4",
            "SEARCH_MODE": "vector",
            "CONTEXT_TOKENS": "4000",
            "ANSWER_MAX_TOKENS": "500",
        }
    )


class BrokenBody:
    """The body of a reply whose connection breaks while it is read."""

    def __init__(self, failure: Exception) -> None:
        self._failure = failure

    def read(self) -> bytes:
        raise self._failure


class Client:
    """A client of bedrock-runtime that replies with one document and keeps what it was asked."""

    def __init__(self, reply: Any, headers: dict[str, str] | None = None) -> None:
        self.reply = reply
        self.headers = headers or {}
        self.asked: list[dict[str, Any]] = []

    def invoke_model(self, **arguments: Any) -> dict[str, Any]:
        self.asked.append(arguments)
        if isinstance(self.reply, ClientError):
            raise self.reply
        if isinstance(self.reply, Exception):
            body: Any = BrokenBody(self.reply)
        else:
            body = io.BytesIO(
                self.reply if isinstance(self.reply, bytes) else json.dumps(self.reply).encode()
            )
        return {"body": body, "ResponseMetadata": {"HTTPHeaders": self.headers}}

    @property
    def sent(self) -> dict[str, Any]:
        return json.loads(self.asked[-1]["body"])


def refusal(code: str, message: str, status: int = 400) -> ClientError:
    reply: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(reply, "InvokeModel")


def titan_reply(vector: Any) -> dict[str, Any]:
    return {"embedding": vector, "inputTextTokenCount": 5, "embeddingsByType": {"float": vector}}


@pytest.mark.parametrize("dimensions", [256, 512, 1024])
def test_titan_is_asked_for_one_normalised_vector(dimensions: int) -> None:
    client = Client(titan_reply([0.5] * dimensions))
    found = embed(client, settings(TITAN, dimensions), ["hi"], "query")
    assert found == Vectors(vectors=[[0.5] * dimensions], tokens=5), "Titan's own count of tokens is exact"
    assert client.sent == {"inputText": "hi", "dimensions": dimensions, "normalize": True}
    asked = client.asked[0]
    assert (asked["modelId"], asked["contentType"], asked["accept"]) == (
        TITAN,
        "application/json",
        "application/json",
    )


@pytest.mark.parametrize(
    ("purpose", "input_type"), [("document", "search_document"), ("query", "search_query")]
)
def test_cohere_is_told_what_the_texts_are_for(purpose: Purpose, input_type: str) -> None:
    client = Client({"embeddings": {"float": [[1.0] + [0.0] * 1535]}})
    embed(client, settings(COHERE, 1536), ["hi"], purpose)
    assert client.sent == {
        "texts": ["hi"],
        "input_type": input_type,
        "embedding_types": ["float"],
        "output_dimension": 1536,
        "truncate": "NONE",
    }
    assert client.asked[0]["modelId"] == COHERE, "the model is offered through its profile only"


@pytest.mark.parametrize("is_by_type", [True, False])
def test_cohere_vectors_come_in_order_and_at_length_one(is_by_type: bool) -> None:
    raw = [[3.0, 4.0] * 128, [0.5] * 256]
    client = Client({"embeddings": {"float": raw} if is_by_type else raw})
    found = embed(client, settings(COHERE), ["one", "two"], "document").vectors
    assert [hypot(*vector) for vector in found] == pytest.approx([1, 1], abs=1e-6), (
        "the index compares by inner product: a longer vector would be found for every question"
    )
    assert found[0][1] / found[0][0] == pytest.approx(4 / 3, rel=1e-6)


def test_a_vector_of_zeros_stays_one() -> None:
    client = Client({"embeddings": {"float": [[0.0] * 256]}})
    assert embed(client, settings(COHERE), ["hi"], "document").vectors == [[0.0] * 256]


def test_the_header_counts_the_tokens_of_cohere_and_an_estimate_where_it_is_missing() -> None:
    reply = {"embeddings": {"float": [[1.0] * 256] * 2}}
    texts = ["one text", "another"]
    told = embed(Client(reply, {TOKENS_HEADER: "42"}), settings(COHERE), texts, "document")
    assert told.tokens == 42
    for headers in ({}, {TOKENS_HEADER: "many"}):
        found = embed(Client(reply, headers), settings(COHERE), texts, "document")
        assert found.tokens == sum(map(estimate_tokens, texts)), "a budget that counts nothing paces nothing"


def test_a_client_without_headers_is_taken() -> None:
    class Bare(Client):
        def invoke_model(self, **arguments: Any) -> dict[str, Any]:
            return {"body": super().invoke_model(**arguments)["body"]}

    assert embed(Bare({"embedding": [0.5] * 256}), settings(TITAN), ["hi there"], "query").tokens > 0


def test_titan_takes_one_text_a_call_and_cohere_ninety_six() -> None:
    assert (texts_per_call(settings(TITAN)), texts_per_call(settings(COHERE))) == (1, 96)
    with pytest.raises(ValueError, match="2 texts, but a call takes 1"):
        embed(Client({}), settings(TITAN), ["a", "b"], "document")


def test_without_texts_nothing_is_asked() -> None:
    client = Client({})
    assert embed(client, settings(COHERE), [], "document") == Vectors(vectors=[], tokens=0)
    assert client.asked == []


@pytest.mark.parametrize(
    ("model", "reply", "sentence"),
    [
        (TITAN, titan_reply([0.5] * 512), "vector of 512 numbers, but EMBEDDING_DIMENSIONS is 256"),
        (TITAN, {"message": "?"}, "vector of 0 numbers, but EMBEDDING_DIMENSIONS is 256"),
        (COHERE, {"embeddings": {"float": [[1.0] * 1024]}}, "vector of 1024 numbers"),
        (COHERE, {"embeddings": {"float": [[1.0] * 256] * 2}}, "returned 2 vectors for 1 texts"),
        (COHERE, {"embeddings": {"int8": []}}, "returned 0 vectors for 1 texts"),
        (COHERE, {}, "returned 0 vectors for 1 texts"),
        (TITAN, titan_reply([None] * 256), "something else than numbers"),
        (TITAN, titan_reply([float("nan")] * 256), "something else than numbers"),
    ],
)
def test_a_reply_of_another_shape_names_what_came_and_what_was_wanted(
    model: str, reply: Any, sentence: str
) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        embed(Client(reply), settings(model), ["hi"], "query")


@pytest.mark.parametrize("content", [b"<html>", b"[]", b"\xff"])
def test_a_reply_that_is_no_json_object_is_worth_another_attempt(content: bytes) -> None:
    with pytest.raises(UnavailableError, match="something else than a JSON object"):
        embed(Client(content), settings(TITAN), ["hi"], "query")


@pytest.mark.parametrize(
    ("model", "message", "limit"),
    [
        (TITAN, "400 Bad Request: Too many input tokens. Max input tokens: 8192, request: 9000", "8192"),
        (TITAN, "Malformed input request: expected maxLength: 50000, actual: 60000", "8192"),
        (COHERE, "total tokens in the input exceed the limit of tokens", "128000"),
        (COHERE, "too many tokens: size limit exceeded by 5 tokens", "128000"),
    ],
)
def test_a_text_that_is_too_long_says_so_with_the_limit(model: str, message: str, limit: str) -> None:
    with pytest.raises(QuestionTooLongError, match=f"more than the {limit} tokens"):
        embed(Client(refusal("ValidationException", message)), settings(model), ["hi"], "query")


def test_bedrock_that_throttles_with_nearly_the_same_words_is_no_text_that_is_too_long() -> None:
    throttled = refusal("ThrottlingException", "Too many tokens, please wait before trying again.", 429)
    with pytest.raises(ThrottledError):
        embed(Client(throttled), settings(COHERE), ["hi"], "query")


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (ReadTimeoutError(endpoint_url="https://bedrock"), UpstreamTimeoutError),
        (IncompleteReadError(actual_bytes=1, expected_bytes=2), UnavailableError),
        (ConnectionResetError(), UnavailableError),
    ],
)
def test_a_connection_that_breaks_while_the_vector_is_read_is_an_error_of_ours(
    failure: Exception, expected: type[PipelineError]
) -> None:
    with pytest.raises(expected):
        embed(Client(failure), settings(TITAN), ["hi"], "query")


def test_a_lone_surrogate_is_embedded_as_a_replacement_character() -> None:
    client = Client(titan_reply([0.5] * 256))
    embed(client, settings(TITAN), ["a\ud800b"], "document")
    assert client.sent["inputText"] == "a\ufffdb", "Bedrock refuses what is no UTF-8"


@given(st.text(st.one_of(st.characters(), st.characters(categories=["Cs"]))))
def test_well_formed_text_can_be_encoded_and_is_left_alone_where_it_could_be(text: str) -> None:
    repaired = well_formed(text)
    assert repaired.encode().decode() == repaired
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert repaired == text


def test_two_halves_of_one_character_become_it() -> None:
    assert well_formed("\ud83d\ude00!") == "\U0001f600!"
