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


@pytest.mark.parametrize(
    "value", ["to secret", "to\nsecret", "to\tsecret", "to\x00secret", "to\u2028secret", "to\udcffsecret"]
)
@pytest.mark.parametrize("name", ["BEARER_TOKEN", "OPENAI_API_KEY"])
@pytest.mark.parametrize("base_url", ["", "http://vllm.internal:8000/v1"])
def test_a_secret_that_no_header_can_carry_is_refused_at_start_without_being_shown(
    base_url: str, name: str, value: str
) -> None:
    environment = {**OPENAI, "OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "sk-1", "BEARER_TOKEN": "to-ken"}
    assert ApiSettings.from_environment({**environment, name: " s\u00e9cret\n"})
    with pytest.raises(ConfigurationError, match=name) as error:
        ApiSettings.from_environment({**environment, name: value})
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    "value",
    [
        "https://host/v1?api-key=secret",
        "https://host/v1#secret",
        "ftp://user:secret@host/secret",
        "secret@host",
        "secret:host",
        "https://secret@[",
        "https://?secret",
    ],
)
def test_an_address_that_is_refused_shows_its_scheme_and_host_only(value: str) -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_BASE_URL") as error:
        ApiSettings.from_environment({**OPENAI, "OPENAI_BASE_URL": value})
    assert "secret" not in str(error.value), "a password or a key would reach the log"
    assert ("://host..." in str(error.value)) == ("://" in value and "host" in value)
