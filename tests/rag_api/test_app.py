"""The HTTP service: who may ask, what comes back, and that nobody waits for ever."""

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastapi.testclient import TestClient

from rag.bedrock import Answer
from rag.errors import ConfigurationError, ThrottledError
from rag.pipeline import Services
from rag.prompt import Passage
from rag_api.app import create_app
from rag_api.settings import OPENAI_BASE_URL, ApiSettings
from tests.lambda_src.fakes import ENVIRONMENT, FakeBedrock, FakeSearch, FakeTime, services

API_ENVIRONMENT = {**ENVIRONMENT, "ANSWER_PROVIDER": "bedrock", "REQUEST_TIMEOUT_SECONDS": "60"}
SETTINGS = ApiSettings.from_environment(API_ENVIRONMENT)


class Scene:
    def __init__(self, settings: ApiSettings = SETTINGS, **services_changes: Any) -> None:
        self.bedrock = FakeBedrock()
        self.services: Services = replace(
            services(self.bedrock, FakeSearch(), FakeTime().sleep), **services_changes
        )
        self.client = TestClient(create_app(settings, self.services))

    def ask(self, content: Any, **headers: str) -> tuple[int, dict[str, Any]]:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        response = self.client.post("/answer", content=data, headers=headers)
        return response.status_code, response.json()


def test_the_health_check_touches_nothing() -> None:
    scene = Scene(replace(SETTINGS, bearer_token="secret"))
    response = scene.client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    assert scene.bedrock.calls == 0


@pytest.mark.parametrize("key", ["question", "query"])
def test_a_question_is_answered_with_its_sources(key: str) -> None:
    status, body = Scene().ask({key: "hi"})
    assert status == 200
    assert (body["answer"], body["answered"]) == ("They sleep.", True)
    assert body["sources"] == [{"document_key": "raw/pdfs/cats.txt", "score": 0.9}]
    assert len(body["request_id"]) == 32


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"\xff", 400),
        ([1], 400),
        ({"question": 7}, 400),
        ({"question": " "}, 400),
        ({"question": "a" * 50_001}, 413),
        (b"a" * 400_000, 413),
    ],
)
def test_a_request_without_a_usable_question_is_refused_before_any_call(content: Any, status: int) -> None:
    scene = Scene()
    got, body = scene.ask(content)
    assert got == status
    assert set(body["error"]) == {"code", "message"}
    assert scene.bedrock.calls == 0


@pytest.mark.parametrize("header", [None, "", "Bearer wrong", "secret", "bearer secret", "Bearer é"])
def test_without_the_token_nobody_gets_in(header: str | None) -> None:
    scene = Scene(replace(SETTINGS, bearer_token="secret"))
    headers = {} if header is None else {b"authorization": header.encode("latin-1")}
    response = scene.client.post("/answer", json={"question": "hi"}, headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert scene.bedrock.calls == 0, "a stranger costs a call of AWS"


def test_with_the_token_the_question_is_answered() -> None:
    scene = Scene(replace(SETTINGS, bearer_token="secret"))
    assert scene.ask({"question": "hi"}, authorization="Bearer secret")[0] == 200


def test_nobody_waits_longer_than_the_request_may_last() -> None:
    release = threading.Event()

    def never(question: str, passages: Sequence[Passage], read_timeout_seconds: int) -> Answer:
        release.wait(10)
        return Answer(text="too late", stop_reason="end_turn")

    # The pipeline believes to have 20 s; the caller's own limit is shortened so that nobody waits in this test.
    scene = Scene(replace(SETTINGS, request_timeout_seconds=20), answerer=never)
    fail_after = anyio.fail_after
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rag_api.app.anyio.fail_after", lambda seconds: fail_after(seconds / 1000))
        status, body = scene.ask({"question": "hi"})
    release.set()
    assert (status, body["error"]["code"]) == (504, "upstream_timeout")


def test_too_little_time_for_a_single_call_is_a_time_out() -> None:
    scene = Scene(replace(SETTINGS, request_timeout_seconds=7))
    assert scene.ask({"question": "hi"})[0] == 504
    assert scene.bedrock.calls == 0


def test_failures_carry_their_status_and_no_inner_text(capsys: pytest.CaptureFixture[str]) -> None:
    def throttled(question: str, passages: Sequence[Passage], read_timeout_seconds: int) -> Answer:
        raise ThrottledError("inner sentence")

    def broken(question: str, passages: Sequence[Passage], read_timeout_seconds: int) -> Answer:
        raise RuntimeError("secret text")

    assert Scene(answerer=throttled).ask({"question": "hi"})[0] == 429
    status, body = Scene(answerer=broken).ask({"question": "hi"})
    assert status == 500
    assert "secret" not in json.dumps(body)
    assert "secret" not in capsys.readouterr().out


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json"])
def test_the_service_shows_nothing_about_itself(path: str) -> None:
    assert Scene().client.get(path).status_code == 404


def test_openai_itself_needs_a_key_and_a_server_of_ours_does_not() -> None:
    openai = {**API_ENVIRONMENT, "ANSWER_PROVIDER": "openai", "OPENAI_MODEL": "gpt"}
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY is not set"):
        ApiSettings.from_environment(openai)
    keyed = ApiSettings.from_environment({**openai, "OPENAI_API_KEY": "sk-secret"})
    assert keyed.openai and keyed.openai.base_url == OPENAI_BASE_URL
    assert "sk-secret" not in repr(keyed), "a secret would reach a log"
    own = ApiSettings.from_environment({**openai, "OPENAI_BASE_URL": "http://vllm.internal:8000/v1/"})
    assert own.openai and own.openai.base_url == "http://vllm.internal:8000/v1"


def test_the_image_installs_what_the_tests_ran_with() -> None:
    lines = (Path(__file__).parents[2] / "rag_api" / "requirements.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    assert "uvicorn" in pins
    for name in ("boto3", "fastapi", "urllib3"):
        assert pins[name] == version(name), f"the container runs another {name} than the tests"


@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_a_blank_token_stops_the_api_instead_of_opening_it(blank: str) -> None:
    with pytest.raises(ConfigurationError, match="BEARER_TOKEN"):
        ApiSettings.from_environment({**API_ENVIRONMENT, "BEARER_TOKEN": blank})
