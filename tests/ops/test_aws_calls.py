"""Clients for the operator's verbs, and what their failures read like."""

from pathlib import Path

import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError, TokenRetrievalError
from botocore.parsers import create_parser

from ops.aws_calls import AwsCallError, aws_client, told
from ops.reindex.lake import WORKERS
from tests.ops.answering_client import REGION, refusal


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the person's own set-up."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))


def test_a_client_keeps_its_own_settings_beside_the_common_ones() -> None:
    retries = {"mode": "standard", "total_max_attempts": 1}
    client = aws_client(
        "lambda", REGION, read_timeout=960, retries=retries, max_pool_connections=WORKERS, tcp_keepalive=True
    )
    config = client.meta.config
    assert (client.meta.region_name, config.connect_timeout, config.read_timeout) == (REGION, 10, 960)
    assert config.retries["total_max_attempts"] == 1
    assert aws_client("sqs", REGION).meta.config.retries["total_max_attempts"] == 5


def test_an_unknown_profile_and_a_missing_region_are_sentences() -> None:
    with pytest.raises(AwsCallError, match="nobody"):
        aws_client("sqs", REGION, "nobody")
    with pytest.raises(AwsCallError, match="AWS failed at connecting to AWS: You must specify a region."):
        aws_client("sqs", "")


def test_an_answer_that_is_not_one_of_aws_is_a_sentence() -> None:
    """EC2 answers XML: what a proxy says of its own accord cannot be read as that."""
    with pytest.raises(AwsCallError, match="AWS failed at asking: the answer is not one of AWS. Fix: check"), told("asking"):  # fmt: skip
        create_parser("ec2").parse(
            {"status_code": 500, "headers": {}, "body": b"<!DOCTYPE html><html><p>Bad</html>"}, None
        )


def test_a_refusal_is_one_line_with_code_and_message() -> None:
    with pytest.raises(AwsCallError) as raised, told("reading the queue"):
        raise refusal("AccessDenied", "User x is not\n  authorized.")
    assert str(raised.value) == "AWS refused reading the queue: AccessDenied, User x is not authorized."


@pytest.mark.parametrize(
    "error",
    [NoCredentialsError(), TokenRetrievalError(provider="sso", error_msg="x"), refusal("ExpiredToken")],
)
def test_credentials_that_are_missing_or_over_come_with_their_fix(error: Exception) -> None:
    with pytest.raises(AwsCallError, match=r"\. Fix: log in, as with `aws sso login`"), told("asking"):
        raise error
    with pytest.raises(AwsCallError) as raised, told("asking"):
        raise EndpointConnectionError(endpoint_url="https://sqs")
    assert "log in" not in str(raised.value), "new credentials do not mend a connection"
