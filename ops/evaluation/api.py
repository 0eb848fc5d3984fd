"""Asks the API one question and measures the reply."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

CONNECT_TIMEOUT_SECONDS = 10
PATH = "/v1/query"
# The API says so when it is full, and when to come back.
COME_BACK = (429, 503)
ATTEMPTS = 4
LONGEST_PAUSE_SECONDS = 30


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the API said. With an `error`, which is a sentence, nothing else but the latency counts.

    `documents` are the keys of the sources, each once, in the API's order. `latency_ms` is that of the last attempt.
    """

    latency_ms: float
    attempts: int = 1
    documents: Sequence[str] = ()
    answer: str = ""
    outcome: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)
    request_id: str = ""
    error: str = ""


class Api:
    """The API at `url`. Safe to use from as many threads as it has connections."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        connections: int = 1,
        timeout_seconds: float = 120,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        import urllib3

        timeout = urllib3.Timeout(connect=CONNECT_TIMEOUT_SECONDS, read=timeout_seconds)
        self._pool = urllib3.PoolManager(maxsize=connections, block=True, retries=False, timeout=timeout)
        self._url = url.rstrip("/") + PATH
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._sleep = sleep

    def ask(self, question: str) -> Reply:
        """The reply, or what went wrong. Waits and asks again where the API says that it is full."""
        for attempt in range(1, ATTEMPTS + 1):
            reply, pause = self._one_attempt(question, attempt)
            if pause is None or attempt == ATTEMPTS:
                return reply
            self._sleep(pause)
        raise AssertionError("the last attempt returns")

    def _one_attempt(self, question: str, attempt: int) -> tuple[Reply, float | None]:
        """The reply, and after how many seconds to try again, or None."""
        import urllib3

        body = json.dumps({"query": question}).encode()
        started = time.perf_counter()
        try:
            response = self._pool.request("POST", self._url, body=body, headers=self._headers)
        except urllib3.exceptions.HTTPError as error:
            return _failed(started, attempt, f"the API cannot be reached: {_reason(error)}"), None
        latency_ms = (time.perf_counter() - started) * 1000
        if response.status in COME_BACK:
            pause = _pause(response.headers.get("Retry-After", ""), attempt)
            return _failed(started, attempt, _refusal(response.status, response.data)), pause
        if response.status != 200:
            return _failed(started, attempt, _refusal(response.status, response.data)), None
        return _read(response.data, latency_ms, attempt), None


def _read(data: bytes, latency_ms: float, attempt: int) -> Reply:
    try:
        fields = json.loads(data)
        keys = [source["document_key"] for source in fields["sources"]]
        return Reply(
            latency_ms=latency_ms,
            attempts=attempt,
            documents=tuple(dict.fromkeys(keys)),
            answer=fields["answer"],
            outcome=fields["outcome"],
            usage={name: int(count) for name, count in fields["usage"].items()},
            request_id=str(fields.get("request_id", "")),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        sentence = f"the answer has not the form of {PATH} ({type(error).__name__}: {error})"
        return Reply(latency_ms=latency_ms, attempts=attempt, error=sentence)


def _failed(started: float, attempt: int, sentence: str) -> Reply:
    return Reply(latency_ms=(time.perf_counter() - started) * 1000, attempts=attempt, error=sentence)


def _refusal(status: int, data: bytes) -> str:
    try:
        message = json.loads(data)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        message = "without a reason"
    return f"the API answered {status}: {message}"


def _pause(retry_after: str, attempt: int) -> float:
    """https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3; a date there is not used by this API."""
    seconds = int(retry_after) if retry_after.isascii() and retry_after.isdigit() else 2**attempt
    return float(min(seconds, LONGEST_PAUSE_SECONDS))


def _reason(error: Exception) -> str:
    """urllib3's text without the object that it begins with."""
    text = str(error)
    return text.partition("): ")[2] or text or type(error).__name__
