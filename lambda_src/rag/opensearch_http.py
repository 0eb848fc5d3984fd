"""Signed HTTP to an OpenSearch Serverless collection, with what the Lambda runtime brings along."""

import hashlib
import json
import socket
import threading
from dataclasses import dataclass
from typing import Any, Protocol

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.httpsession import URLLib3Session

from rag.aws_errors import typed_errors
from rag.deadline import CONNECT_TIMEOUT_SECONDS
from rag.errors import ConfigurationError, PipelineError, ThrottledError, UnavailableError

SERVICE = "aoss"
# The most connections that are kept for one read time-out. The API answers 64 questions at once by default; with fewer
# each further one would pay for a new TLS connection.
KEPT_CONNECTIONS = 64
# Head and body of a request are two writes. Held back until the first is acknowledged, the second waits some 40 ms;
# botocore's own clients set the same.
SOCKET_OPTIONS = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]


class Credentials(Protocol):
    """Credentials as boto3's session gives them; they renew themselves."""

    def get_frozen_credentials(self) -> Any:
        """Access key, secret key and token that belong together."""


@dataclass(frozen=True)
class Reply:
    """`document` is the JSON object of the reply, empty when it held none."""

    status: int
    document: dict[str, Any]

    @property
    def error_type(self) -> str:
        """OpenSearch's name of the error, such as index_not_found_exception; empty when it gave none."""
        error = self.document.get("error")
        return str(error.get("type", "")) if isinstance(error, dict) else ""

    @property
    def reason(self) -> str:
        """OpenSearch's sentence. It can quote the request: only calls without document text may show it."""
        error = self.document.get("error", self.document.get("message", ""))
        return str(error.get("reason", "") if isinstance(error, dict) else error)[:300]


class OpenSearchHttp:
    """Sends signed requests, from many threads at once; connections are kept between calls.

    A connection belongs to one read time-out, of which `rag.deadline` gives few.
    """

    def __init__(self, endpoint: str, region: str, credentials: Credentials | None) -> None:
        self._endpoint = endpoint
        self._region = region
        self._credentials = credentials
        self._sessions: dict[int, URLLib3Session] = {}
        self._lock = threading.Lock()

    def send(self, method: str, path: str, payload: Any, read_timeout_seconds: int) -> Reply:
        """One attempt. `payload` is a JSON value, bytes of JSON lines, or None.

        Raises `ThrottledError` for 429, `UnavailableError` for 5xx, a lost connection and a success that is no JSON
        object, `UnreachableError` without a connection in time, `UpstreamTimeoutError` when nothing came back in
        time. Every other status is returned.
        """
        with typed_errors(f"{method} {path}"):
            request = self._signed(method, path, payload)
            # botocore reads the whole body itself, as its clients do: each part of it has the read time-out.
            response = self._session(read_timeout_seconds).send(request.prepare())
            content = response.content
        passing = passing_failure(response.status_code, f"{method} {path}")
        if passing:
            raise passing
        document = _json_object(content)
        if document is None and response.status_code < 300:
            raise UnavailableError(f"{method} {path} was answered with something else than a JSON object.")
        return Reply(response.status_code, document or {})

    def _signed(self, method: str, path: str, payload: Any) -> AWSRequest:
        if self._credentials is None:
            raise ConfigurationError("No AWS credentials were found to sign the request with.")
        is_lines = isinstance(payload, bytes)
        data = payload if is_lines else b"" if payload is None else json.dumps(payload).encode()
        request = AWSRequest(method, self._endpoint + path, data=data)
        if data:
            request.headers["content-type"] = "application/x-ndjson" if is_lines else "application/json"
        # OpenSearch Serverless refuses a request without the hash of its body in this header.
        request.headers["x-amz-content-sha256"] = hashlib.sha256(data).hexdigest()
        SigV4Auth(self._credentials.get_frozen_credentials(), SERVICE, self._region).add_auth(request)
        return request

    def _session(self, read_timeout_seconds: int) -> URLLib3Session:
        with self._lock:
            if read_timeout_seconds not in self._sessions:
                self._sessions[read_timeout_seconds] = URLLib3Session(
                    timeout=(CONNECT_TIMEOUT_SECONDS, read_timeout_seconds),
                    max_pool_connections=KEPT_CONNECTIONS,
                    socket_options=SOCKET_OPTIONS,
                )
            return self._sessions[read_timeout_seconds]


def passing_failure(status: int, what: str) -> PipelineError | None:
    """The error for a status that a later attempt may not meet; None for every other one."""
    if status == 429:
        return ThrottledError(f"{what} was answered with 429.")
    return UnavailableError(f"{what} was answered with {status}.") if status >= 500 else None


def _json_object(content: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(content)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
