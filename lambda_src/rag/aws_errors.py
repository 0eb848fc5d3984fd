"""Turns the exceptions of botocore, and of urllib3 below it, into the pipeline's own errors."""

from collections.abc import Generator
from contextlib import contextmanager

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    HTTPClientError,
    IncompleteReadError,
    MetadataRetrievalError,
    ReadTimeoutError,
)
from urllib3 import exceptions as urllib3_exceptions

from rag.errors import (
    ConfigurationError,
    PipelineError,
    ThrottledError,
    UnavailableError,
    UnreachableError,
    UpstreamTimeoutError,
)

# Codes of bedrock-runtime as in botocore 1.44.8; the second row is what S3, SQS and others use.
THROTTLED = {
    "ThrottlingException", "ModelNotReadyException", "ServiceQuotaExceededException",
    "TooManyRequestsException", "Throttling", "RequestThrottled", "SlowDown",
}  # fmt: skip
TIMED_OUT = {"ModelTimeoutException", "RequestTimeout"}
# ModelErrorException has status 424, ModelStreamErrorException too: the model failed, not the request.
UNAVAILABLE = {
    "ModelErrorException", "ModelStreamErrorException", "InternalServerException", "ServiceUnavailableException",
}  # fmt: skip


@contextmanager
def typed_errors(what: str) -> Generator[None]:
    """Raise a `PipelineError` for whatever botocore raises inside; `what` names the call in its sentence.

    This holds for the reading of a reply too: botocore hands urllib3's errors on while it reads an event stream.
    """
    try:
        yield
    except ClientError as error:
        raise _from_reply(what, error) from error
    except ConnectTimeoutError as error:
        raise UnreachableError(f"{what} got no connection in time.") from error
    except (ReadTimeoutError, urllib3_exceptions.TimeoutError, TimeoutError) as error:
        raise UpstreamTimeoutError(f"{what} did not reply in time.") from error
    except (
        HTTPClientError,
        ConnectionError,
        IncompleteReadError,
        urllib3_exceptions.HTTPError,
        OSError,
    ) as error:
        raise UnavailableError(f"{what} could not be reached: {type(error).__name__}.") from error
    except (CredentialRetrievalError, MetadataRetrievalError) as error:
        raise UnavailableError(f"{what} got no credentials to sign with: {type(error).__name__}.") from error
    except BotoCoreError as error:
        raise ConfigurationError(f"{what} could not be called: {type(error).__name__}.") from error


def _from_reply(what: str, error: ClientError) -> PipelineError:
    code = error.response.get("Error", {}).get("Code", "Unknown")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    sentence = f"{what} was answered with {code}."
    # An error inside an event stream has the same name with a small first letter.
    name = code[:1].upper() + code[1:]
    if name in THROTTLED or status == 429:
        return ThrottledError(sentence)
    if name in TIMED_OUT:
        return UpstreamTimeoutError(sentence)
    if name in UNAVAILABLE or status >= 500:
        return UnavailableError(sentence)
    return ConfigurationError(
        f"{sentence} Check that the role may make this call, and that the name is right for the region; "
        "a model that is only offered through inference profiles must be named by its profile."
    )
