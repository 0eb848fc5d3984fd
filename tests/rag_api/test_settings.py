"""The environment of the HTTP service."""

import pytest

from rag.errors import ConfigurationError
from rag_api.settings import OPENAI_BASE_URL, ApiSettings
from tests.rag_api.scene import ENVIRONMENT

OPENAI = {**ENVIRONMENT, "ANSWER_PROVIDER": "openai", "OPENAI_MODEL": "gpt"}


def test_openai_itself_needs_a_key_and_a_server_of_ours_does_not() -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY is not set"):
        ApiSettings.from_environment(OPENAI)
    keyed = ApiSettings.from_environment({**OPENAI, "OPENAI_API_KEY": "sk-secret"})
    assert keyed.openai and keyed.openai.base_url == OPENAI_BASE_URL
    own = ApiSettings.from_environment({**OPENAI, "OPENAI_BASE_URL": "http://vllm.internal:8000/v1/"})
    assert own.openai and own.openai.base_url == "http://vllm.internal:8000/v1"


def test_secrets_are_shown_nowhere() -> None:
    secret = {"OPENAI_API_KEY": "sk-secret", "BEARER_TOKEN": "to-secret"}
    assert "secret" not in repr(ApiSettings.from_environment({**OPENAI, **secret})), "it would reach a log"


@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_a_blank_token_stops_the_api_instead_of_opening_it(blank: str) -> None:
    with pytest.raises(ConfigurationError, match="BEARER_TOKEN"):
        ApiSettings.from_environment({**ENVIRONMENT, "BEARER_TOKEN": blank})


@pytest.mark.parametrize("value", ["", "0", "-1", "1001", "many"])
def test_the_number_of_questions_at_once_is_bounded(value: str) -> None:
    with pytest.raises(ConfigurationError, match="MAXIMUM_CONCURRENCY"):
        ApiSettings.from_environment({**ENVIRONMENT, "MAXIMUM_CONCURRENCY": value})


def test_every_fault_is_told_at_once() -> None:
    with pytest.raises(ConfigurationError) as error:
        ApiSettings.from_environment({})
    for name in ("AWS_REGION", "ANSWER_PROVIDER", "REQUEST_TIMEOUT_SECONDS", "MAXIMUM_CONCURRENCY"):
        assert name in str(error.value)
