"""The function that answers: every shape of event, every failure behind it, and the time it has."""

import base64
import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator import handler
from orchestrator.cold_start import without_collection
from orchestrator.handler import respond
from rag.passages import Filter
from rag.question import MAX_QUESTION_CHARACTERS
from rag.results import NO_ANSWER, NO_DOCUMENTS
from tests.lambda_src.fakes import (
    ENVIRONMENT,
    SETTINGS,
    FakeBedrock,
    FakeSearch,
    FakeTime,
    client_error,
    converse_reply,
    passage,
    services,
)


class Scene:
    """One function with fakes around it."""

    def __init__(self, lambda_seconds: float = 120, **bedrock: Any) -> None:
        self.bedrock = FakeBedrock(**bedrock)
        self.search = FakeSearch()
        self.time = FakeTime(lambda_seconds)
        self.services = services(self.bedrock, self.search, self.time.sleep)

    def ask(self, event: Any) -> tuple[int, dict[str, Any]]:
        reply = respond(event, self.time, lambda: self.services)
        assert reply["headers"]["content-type"] == "application/json"
        assert ("retry-after" in reply["headers"]) == (reply["statusCode"] in (429, 503))
        assert isinstance(reply["statusCode"], int), (
            "a function URL answers 502 to a status that is no number"
        )
        assert isinstance(reply["body"], str), "a function URL needs the body as text"
        assert "Traceback" not in reply["body"], "a caller must not see our code"
        return reply["statusCode"], json.loads(reply["body"], parse_constant=pytest.fail)


def lines(capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the function printed: the line of its log, and the line of its metrics."""
    log, metrics = capsys.readouterr().out.splitlines()
    return json.loads(log), json.loads(metrics)


def http(body: Any, is_base64: bool = False) -> dict[str, Any]:
    """An event of a function URL."""
    return {
        "version": "2.0",
        "rawPath": "/",
        "requestContext": {"http": {"method": "POST"}},
        "body": body,
        "isBase64Encoded": is_base64,
    }


@pytest.mark.parametrize(
    "event",
    [
        {"query": "hi"},
        {"question": "hi"},
        {"query": " hi\n"},
        {"body": "eyJxdWVzdGlvbiI6ImhpIn0=", "isBase64Encoded": True},
        {"body": '{"query": "hi"}'},
        http('{"question": "hi"}'),
        http(base64.b64encode(b'{"query": "hi"}').decode(), is_base64=True),
    ],
)
def test_a_question_is_answered_in_every_shape_of_event(event: Any) -> None:
    scene = Scene()
    status, body = scene.ask(event)
    assert status == 200
    assert scene.bedrock.embedded == ["hi"], "another text than the question was searched for"
    assert body == {
        "answer": "They sleep.",
        "outcome": "answered",
        "truncated": False,
        "sources": [{"document_key": "raw/pdfs/cats.txt", "page": None, "score": 0.9}],
        "usage": {"input_tokens": 3, "output_tokens": 2, "embedding_tokens": 7},
        "request_id": "request-1",
    }


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ({"body": None}, "no body"),
        (http(""), "no body"),
        ({}, "JSON object"),
        (None, "JSON object"),
        ([], "JSON object"),
        ({"body": "[1]"}, "JSON object"),
        ({"body": "null"}, "JSON object"),
        ({"body": '{"question": 7}'}, "must be a text"),
        ({"query": None}, "must be a text"),
        ({"body": "//4=", "isBase64Encoded": True}, "UTF-8"),
        ({"body": "not base64!", "isBase64Encoded": True}, "cannot be decoded"),
        ({"body": "eyJxdWVz!dGlvbiI6ImhpIn0=", "isBase64Encoded": True}, "cannot be decoded"),
        ({"body": "{"}, "valid JSON"),
        ({"body": "[" * 100_000}, "valid JSON"),
        ({"body": "\ud800"}, "cannot be decoded"),
        ({"body": '{"question": " \\n "}'}, "empty"),
        ({"query": " \n"}, "empty"),
        ({"query": "a\ud800b"}, "surrogate"),
        ({"query": "\u200b\u2060\ufeff \u200d"}, "empty"),
        (http('{"other": "hi"}'), "JSON object"),
        (http('{"query": "hi", "filters": {}}'), "not known"),
        ({"query": "hi", "filter": {"prefix": ["raw/"]}}, "not known"),
        ({"query": "hi", "filter": {"prefixes": []}}, "1 to 100"),
        ({"query": "hi", "filter": [1]}, "an object"),
        (http('{"query": "hi", "n": ' + "9" * 5000 + "}"), "valid JSON"),
    ],
)
def test_an_event_without_a_question_is_refused_before_any_call(event: Any, told: str) -> None:
    scene = Scene()
    status, body = scene.ask(event)
    assert (status, body["error"]["code"]) == (400, "invalid_request")
    assert told in body["error"]["message"], "the caller cannot tell what to mend"
    assert scene.bedrock.calls == scene.search.searches == 0, "a bad request costs a call of AWS"


def test_a_direct_invocation_may_name_the_documents_to_search() -> None:
    scene = Scene()
    wanted = {"document_keys": ["raw/a b+ü.pdf"], "prefixes": ["raw/pdfs/"]}
    assert scene.ask({"query": "hi", "filter": wanted})[0] == 200
    assert scene.search.asked[0][4] == Filter(document_keys=("raw/a b+ü.pdf",), prefixes=("raw/pdfs/",))


def test_the_search_is_as_the_settings_say() -> None:
    scene = Scene()
    scene.ask({"query": "hi"})
    assert scene.search.asked == [("documents", "hi", 4, "hybrid", Filter())]


def test_a_question_that_is_too_long_is_refused_with_the_limit_named() -> None:
    scene = Scene()
    for event in ({"query": "a" * 50_001}, http(json.dumps({"question": "a" * 50_001})), http("a" * 700_000)):
        status, body = scene.ask(event)
        assert status == 413
        assert any(limit in body["error"]["message"] for limit in ("50000", "310000"))
    assert scene.bedrock.calls == 0, "a question that is too long costs a call of AWS"
    assert scene.ask({"query": "a" * MAX_QUESTION_CHARACTERS})[0] == 200


def test_a_question_with_more_tokens_than_can_be_embedded_is_too_long() -> None:
    refusal = client_error("ValidationException", 400, "400 Bad Request: Too many input tokens. Max: 8192")
    status, body = Scene(embed_outcomes=[refusal]).ask({"query": "hi"})
    assert status == 413
    assert "8192" in body["error"]["message"]


def test_nothing_is_made_for_a_bad_request() -> None:
    def get_services() -> Any:
        raise AssertionError("clients were made for a request that is refused")

    assert respond({}, None, get_services)["statusCode"] == 400


def test_a_call_that_is_throttled_twice_is_made_three_times() -> None:
    throttled = client_error("ThrottlingException", 429)
    scene = Scene(outcomes=[throttled, throttled, converse_reply({"text": "They sleep."})])
    assert scene.ask({"query": "hi"})[0] == 200
    assert len(scene.bedrock.conversations) == 3
    assert 0.5 <= scene.time.pauses[0] <= 1 <= scene.time.pauses[1] <= 2, "the pauses must grow"


@pytest.mark.parametrize("lambda_seconds", [7, 8.5, 9, 10, 12, 30])
def test_a_call_that_is_throttled_for_ever_is_given_up_with_a_second_left(lambda_seconds: float) -> None:
    scene = Scene(lambda_seconds, embed_outcomes=[client_error("ThrottlingException", 429)])
    status, body = scene.ask({"query": "hi"})
    assert status == (429 if scene.bedrock.calls else 504)
    assert scene.time.get_remaining_time_in_millis() >= 1000, "Lambda would cut the function off"


def test_an_attempt_near_the_deadline_reads_no_longer_than_the_deadline_allows() -> None:
    scene = Scene(lambda_seconds=15)
    assert scene.ask({"query": "hi"})[0] == 200
    assert scene.bedrock.read_timeouts == [5, 5], "15 s less 6 s to connect and 2 s in reserve"
    odd = Scene(lambda_seconds=18.4)
    assert odd.ask({"query": "hi"})[0] == 200
    assert odd.bedrock.read_timeouts == [8, 8], "each length of time would make a client of its own"


def test_a_validation_error_is_not_tried_again() -> None:
    scene = Scene(outcomes=[client_error("ValidationException", 400)])
    status, body = scene.ask({"query": "hi"})
    assert len(scene.bedrock.conversations) == 1, "a refused request is refused again"
    assert (status, body["error"]["code"]) == (500, "not_set_up")


@pytest.mark.parametrize(
    ("code", "http_status", "status"),
    [
        ("ServiceUnavailableException", 503, 503),
        ("InternalServerException", 500, 503),
        ("ModelErrorException", 424, 503),
        ("ModelNotReadyException", 429, 429),
    ],
)
def test_a_failing_model_is_tried_again_and_then_reported(code: str, http_status: int, status: int) -> None:
    scene = Scene(outcomes=[client_error(code, http_status)])
    assert scene.ask({"query": "hi"})[0] == status
    assert len(scene.bedrock.conversations) == 3


def test_a_model_that_takes_too_long_is_reported_and_not_paid_for_again() -> None:
    scene = Scene(outcomes=[client_error("ModelTimeoutException", 408)])
    assert scene.ask({"query": "hi"})[0] == 504
    assert len(scene.bedrock.conversations) == 1


@pytest.mark.parametrize(
    "blocks", [(), ({"text": " \n"},), ({"reasoningContent": {"reasoningText": {"text": "Hm."}}},)]
)
def test_an_empty_reply_is_a_defined_no_answer(blocks: tuple[dict[str, Any], ...]) -> None:
    status, body = Scene(outcomes=[converse_reply(*blocks)]).ask({"query": "hi"})
    assert status == 200
    assert (body["answer"], body["outcome"], body["sources"]) == (NO_ANSWER, "no_answer", [])
    assert body["usage"]["input_tokens"] == 3, "an empty reply is paid for too"


def test_without_passages_no_model_is_asked_for_an_answer() -> None:
    scene = Scene()
    scene.search.passages = []
    status, body = scene.ask({"query": "hi"})
    assert (status, body["answer"], body["outcome"]) == (200, NO_DOCUMENTS, "no_documents")
    assert scene.bedrock.conversations == [], "an answer without documents would be invented"


def test_a_page_with_several_passages_is_one_source_with_its_best_score() -> None:
    scene = Scene()
    scene.search.passages = [
        passage("a", score=0.7),
        passage("b", key="raw/b.pdf", score=0.6, page=2),
        passage("c", score=0.9),
        passage("d", key="raw/b.pdf", score=0.5, page=3),
        passage("e", score=0.4),
    ]
    assert scene.ask({"query": "hi"})[1]["sources"] == [
        {"document_key": "raw/pdfs/cats.txt", "page": None, "score": 0.9},
        {"document_key": "raw/b.pdf", "page": 2, "score": 0.6},
        {"document_key": "raw/b.pdf", "page": 3, "score": 0.5},
    ]


def test_a_score_that_is_no_number_never_makes_a_body_that_is_no_json() -> None:
    scene = Scene()
    scene.search.passages = [passage(score=float("nan"))]
    assert scene.ask({"query": "hi"})[0] == 500


@pytest.mark.parametrize(("stop_reason", "truncated"), [("max_tokens", True), ("end_turn", False)])
def test_an_answer_that_was_cut_off_says_so(stop_reason: str, truncated: bool) -> None:
    scene = Scene(outcomes=[converse_reply({"text": "They"}, stop_reason=stop_reason)])
    body = scene.ask({"query": "hi"})[1]
    assert (body["answer"], body["truncated"]) == ("They", truncated)


def test_an_unexpected_failure_tells_the_caller_nothing_and_the_log_no_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    scene = Scene(outcomes=[RuntimeError("secret question text")])
    status, body = scene.ask({"query": "secret question text"})
    assert (status, body["error"]["code"]) == (500, "internal_error")
    assert "secret" not in json.dumps(body)
    line, metrics = lines(capsys)
    assert "secret" not in json.dumps([line, metrics]), "the log holds what somebody asked"
    assert line["error_type"] == "RuntimeError"
    assert line["frames"], "the operator cannot find the place"
    assert (metrics["Errors"], metrics["ServerErrors"], metrics["ErrorCode"]) == (1, 1, "internal_error")


def test_the_log_of_an_answer_has_counts_and_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    Scene().ask({"query": "secret question", "filter": {"prefixes": ["raw/secret/"]}})
    line, metrics = lines(capsys)
    assert line["event"] == "answered"
    assert (line["question_characters"], line["passages"], line["input_tokens"]) == (15, 1, 3)
    printed = json.dumps([line, metrics])
    assert not any(text in printed for text in ("secret", "Cats sleep", "They sleep"))


def test_the_metrics_of_an_answer_have_times_tokens_and_cost(capsys: pytest.CaptureFixture[str]) -> None:
    Scene().ask({"query": "hi"})
    metrics = lines(capsys)[1]
    assert metrics["Service"] == "orchestrator"
    assert (metrics["InputTokens"], metrics["OutputTokens"], metrics["EmbeddingTokens"]) == (3, 2, 7)
    assert metrics["CostUsd"] == pytest.approx((3 * 3.3 + 2 * 16.5 + 7 * 0.02) / 1e6)
    assert (metrics["Errors"], metrics["NoAnswer"], metrics["NoDocuments"]) == (0, 0, 0)
    for stage in ("Total", "Embed", "Search", "Answer"):
        assert metrics[f"{stage}Milliseconds"] >= 0


def test_a_refused_request_is_no_error_of_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    Scene().ask({})
    metrics = lines(capsys)[1]
    assert (metrics["Errors"], metrics["ServerErrors"], metrics["ErrorCode"]) == (1, 0, "invalid_request")


def test_a_wrong_environment_is_reported_whole_in_the_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(handler.os, "environ", {"EMBEDDING_DIMENSIONS": "500"})
    handler.services.cache_clear()
    reply = handler.lambda_handler({"query": "hi"}, None)
    assert reply["statusCode"] == 500
    detail = lines(capsys)[0]["detail"]
    assert "OPENSEARCH_ENDPOINT is not set" in detail
    assert "EMBEDDING_DIMENSIONS is '500'" in detail


ROOT = Path(__file__).parents[2]
IMPORT = """
import gc, sys
import botocore.session
def refuse(*arguments, **options):
    raise SystemExit("a session of AWS was made at import")
botocore.session.Session.__init__ = refuse
sys.path.insert(0, "lambda_src")
import orchestrator.handler
sys.exit(0 if gc.isenabled() else "garbage is never collected any more")
"""


def test_importing_the_handler_makes_nothing_and_leaves_the_collector_on() -> None:
    run = subprocess.run(
        [sys.executable, "-c", IMPORT], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("was_enabled", [True, False])
def test_a_cold_start_runs_without_collection_and_leaves_things_as_they_were(was_enabled: bool) -> None:
    try:
        (gc.enable if was_enabled else gc.disable)()
        with pytest.raises(RuntimeError), without_collection():
            assert not gc.isenabled()
            raise RuntimeError
        assert gc.isenabled() == was_enabled
    finally:
        gc.unfreeze()
        gc.enable()


def test_the_services_are_made_once_with_a_client_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {**ENVIRONMENT, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    monkeypatch.setattr(handler.os, "environ", variables)
    handler.services.cache_clear()
    made = handler.services()
    assert handler.services() is made
    monkeypatch.setattr(botocore.session.Session, "create_client", None)
    assert made.bedrock_client(20), "the first question would wait for a client"
    assert made.settings == SETTINGS
    handler.services.cache_clear()
    gc.unfreeze()


TEXTS = st.text() | st.text(st.characters(categories=["Cs", "Cc", "Cf"]))
NUMBERS = st.integers() | st.floats() | st.integers(min_value=10**400, max_value=10**401)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS | st.binary(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(TEXTS, children, max_size=3),
    max_leaves=8,
)
BODIES = st.binary().map(lambda b: b.decode("latin-1")) | st.binary().map(
    lambda b: base64.b64encode(b).decode()
)
REQUESTS = st.fixed_dictionaries(
    {"query": TEXTS}, optional={"filter": st.dictionaries(st.sampled_from(["prefixes", "x"]), JSON_VALUES)}
)
KEYS = st.sampled_from(
    ["query", "question", "filter", "body", "isBase64Encoded", "requestContext", "rawPath"]
)
EVENTS = (
    JSON_VALUES
    | st.dictionaries(KEYS, JSON_VALUES | BODIES)
    | REQUESTS
    | st.builds(http, REQUESTS.map(lambda r: json.dumps(r, default=str)), st.booleans())
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(EVENTS)
def test_whatever_the_event_is_the_handler_answers_with_json(event: Any) -> None:
    status, body = Scene().ask(event)
    assert status in (200, 400, 413)
    assert ("answer" in body) == (status == 200)


@given(JSON_VALUES)
def test_whatever_the_context_is_the_handler_answers(context: Any) -> None:
    scene = Scene()
    assert respond({"query": "hi"}, context, lambda: scene.services)["statusCode"] == 200


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.fixed_dictionaries({"text": TEXTS}) | st.just({"reasoningContent": {}}), max_size=3), TEXTS
)
def test_whatever_the_model_and_the_documents_say_the_answer_is_json(
    blocks: list[Any], document: str
) -> None:
    scene = Scene(outcomes=[converse_reply(*blocks)])
    scene.search.passages = [passage(document, key=document)]
    status, body = scene.ask({"query": "hi"})
    assert status == 200
    body["answer"].encode()
