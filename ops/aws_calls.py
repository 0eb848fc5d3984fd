"""Clients of AWS for the operator's verbs, and their failures as sentences."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

CONNECT_TIMEOUT_SECONDS = 10
LOG_IN = "Fix: log in, as with `aws sso login`, or name a profile with --profile or AWS_PROFILE."
CHECK_WAY = (
    "Fix: check what stands between: a proxy (HTTPS_PROXY), or an endpoint of your own (AWS_ENDPOINT_URL)."
)
# What AWS answers to credentials that are over or none of its own.
# https://docs.aws.amazon.com/STS/latest/APIReference/CommonErrors.html
BAD_CREDENTIALS = (
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
)
# How services say that a caller may not call them. EC2 has a code of its own.
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
DENIED = ("AccessDenied", "UnauthorizedOperation", "AuthorizationError")


class AwsCallError(Exception):
    """AWS refused something or could not be reached; the message says what was tried and why it failed."""


def aws_client(service: str, region: str, profile: str | None = None, **config: Any) -> Any:
    """A client. Without a `region` the one of the environment or profile is used. Raises AwsCallError."""
    # boto3 takes a quarter of a second to import, which `--help` need not wait for.
    import boto3
    from botocore.config import Config

    settings = {
        "connect_timeout": CONNECT_TIMEOUT_SECONDS,
        "retries": {"mode": "standard", "total_max_attempts": 5},
    }
    with told("connecting to AWS"):
        session = boto3.Session(profile_name=profile, region_name=region or None)
        return session.client(service, config=Config(**{**settings, **config}))


@contextmanager
def told(what: str) -> Generator[None]:
    """Turns a failure of AWS inside the block into one sentence about `what`, such as `reading the queue`.

    Where credentials are the reason, a second one says how to get some.
    """
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    try:
        yield
    except ClientError as error:
        fix = f" {LOG_IN}" if error_code(error) in BAD_CREDENTIALS else ""
        raise AwsCallError(f"AWS refused {what}: {refusal(error)}{fix}") from error
    except BotoCoreError as error:
        fix = f" {LOG_IN}" if _lacks_credentials(error) else ""
        raise AwsCallError(f"AWS failed at {what}: {str(error).rstrip('.')}.{fix}") from error
    # It is no BotoCoreError: what answered did not speak as AWS does, as a proxy's page of HTML.
    except ResponseParserError as error:
        raise AwsCallError(f"AWS failed at {what}: the answer is not one of AWS. {CHECK_WAY}") from error


def _lacks_credentials(error: Exception) -> bool:
    from botocore import exceptions

    return isinstance(
        error,
        exceptions.NoCredentialsError
        | exceptions.PartialCredentialsError
        | exceptions.CredentialRetrievalError
        | exceptions.SSOError
        | exceptions.TokenRetrievalError
        | exceptions.LoginError,
    )


def error_code(error: Any) -> str:
    """The code of a ClientError."""
    return str(error.response.get("Error", {}).get("Code", ""))


def is_denied(error: Any) -> bool:
    """Whether a ClientError says that the caller lacks a permission."""
    return error_code(error).startswith(DENIED)


def refusal(error: Any) -> str:
    """Code and message of a ClientError, on one line."""
    message = " ".join(str(error.response.get("Error", {}).get("Message", "")).split())
    return f"{error_code(error)}{f', {message}' if message else ''}".rstrip(".") + "."
