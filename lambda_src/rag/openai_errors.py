"""Turns what urllib3 raises, and what an OpenAI-compatible service replies, into the pipeline's own errors."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, TimeoutError

from rag.errors import (
    ConfigurationError,
    PipelineError,
    ThrottledError,
    UnavailableError,
    UnreachableError,
    UpstreamTimeoutError,
)

WHAT = "The answer service"
# What an unusual reply makes of our reading of it.
UNREADABLE = (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)


@contextmanager
def typed_errors() -> Generator[None]:
    """Raise a `PipelineError` for whatever urllib3 raises inside, and for a reply that cannot be read."""
    try:
        yield
    except NewConnectionError as error:
        # urllib3 counts a refused connection among the time-outs.
        raise UnavailableError(f"{WHAT} refused the connection.") from error
    except ConnectTimeoutError as error:
        raise UnreachableError(f"{WHAT} took no connection in time.") from error
    except TimeoutError as error:
        raise UpstreamTimeoutError(f"{WHAT} did not reply in time.") from error
    except (HTTPError, OSError) as error:
        raise UnavailableError(f"{WHAT} could not be reached: {type(error).__name__}.") from error
    except UNREADABLE as error:
        raise UnavailableError(f"{WHAT} sent a reply that is no chat completion.") from error


def refusal(status: int, model: str) -> PipelineError:
    """The error for a reply whose status is not 200."""
    if status == 429:
        return ThrottledError(f"{WHAT} replied with 429.")
    if status in (408, 504):
        return UpstreamTimeoutError(f"{WHAT} replied with {status}.")
    if status >= 500:
        return UnavailableError(f"{WHAT} replied with {status}.")
    return ConfigurationError(
        f"{WHAT} replied with {status}. Check OPENAI_BASE_URL, OPENAI_API_KEY and that it serves {model}."
    )


def inner_error(error: Any) -> PipelineError:
    """An error in a reply whose status said that all is well, as inference servers send it inside a stream."""
    words = f"{error.get('type')} {error.get('code')}".lower() if isinstance(error, dict) else ""
    if "429" in words or "rate_limit" in words:
        return ThrottledError(f"{WHAT} broke off: too many requests.")
    return UnavailableError(f"{WHAT} broke off with an error.")
