"""What the exceptions of botocore and urllib3 become."""

from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    EventStreamError,
    IncompleteReadError,
    MetadataRetrievalError,
    NoCredentialsError,
    ReadTimeoutError,
    ResponseStreamingError,
)
from urllib3 import exceptions as urllib3_exceptions

from rag.aws_errors import typed_errors
from rag.errors import (
    ConfigurationError,
    PipelineError,
    ThrottledError,
    UnavailableError,
    UnreachableError,
    UpstreamTimeoutError,
)

POOL: Any = None


def reply_error(code: str, status: int, kind: type[ClientError] = ClientError) -> ClientError:
    reply: Any = {
        "Error": {"Code": code, "Message": "secret"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return kind(reply, "Converse")


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (reply_error("ThrottlingException", 429), ThrottledError),
        (reply_error("RequestThrottled", 403), ThrottledError),
        (reply_error("SomethingNew", 429), ThrottledError),
        (reply_error("ModelTimeoutException", 408), UpstreamTimeoutError),
        (reply_error("ModelErrorException", 424), UnavailableError),
        (reply_error("SomethingNew", 502), UnavailableError),
        (reply_error("AccessDeniedException", 403), ConfigurationError),
        (reply_error("ValidationException", 400), ConfigurationError),
        # Inside an event stream there is no status, and the name starts with a small letter.
        (reply_error("throttlingException", 400, EventStreamError), ThrottledError),
        (reply_error("modelStreamErrorException", 400, EventStreamError), UnavailableError),
        (reply_error("internalServerException", 400, EventStreamError), UnavailableError),
        (reply_error("serviceUnavailableException", 400, EventStreamError), UnavailableError),
        (reply_error("validationException", 400, EventStreamError), ConfigurationError),
        (ReadTimeoutError(endpoint_url="https://bedrock"), UpstreamTimeoutError),
        (ConnectTimeoutError(endpoint_url="https://bedrock"), UnreachableError),
        (CredentialRetrievalError(provider="container-role", error_msg="secret"), UnavailableError),
        (MetadataRetrievalError(error_msg="secret"), UnavailableError),
        (EndpointConnectionError(endpoint_url="https://bedrock"), UnavailableError),
        (IncompleteReadError(actual_bytes=1, expected_bytes=2), UnavailableError),
        (ResponseStreamingError(error="x"), UnavailableError),
        (NoCredentialsError(), ConfigurationError),
        # botocore hands these on while it reads an event stream.
        (urllib3_exceptions.ReadTimeoutError(POOL, "url", "x"), UpstreamTimeoutError),
        (urllib3_exceptions.ProtocolError("x"), UnavailableError),
        (TimeoutError(), UpstreamTimeoutError),
        (ConnectionResetError(), UnavailableError),
    ],
)
def test_every_failure_of_a_call_has_a_kind_that_says_what_helps(
    raised: Exception, expected: type[PipelineError]
) -> None:
    with pytest.raises(PipelineError) as caught, typed_errors("Answering with a model"):
        raise raised
    assert type(caught.value) is expected
    assert "Answering with a model" in str(caught.value)
    assert "secret" not in str(caught.value), "a service quotes the request in its message"
    assert caught.value.__cause__ is raised


def test_an_error_of_our_own_passes_unchanged() -> None:
    own = UnavailableError("own")
    with pytest.raises(UnavailableError) as caught, typed_errors("A call"):
        raise own
    assert caught.value is own
