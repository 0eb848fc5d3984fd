"""Signed HTTP to an OpenSearch Serverless collection, with what the Lambda runtime brings along."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Protocol

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.httpsession import URLLib3Session

from rag.aws_errors import typed_errors
from rag.deadline import CONNECT_TIMEOUT_SECONDS
from rag.errors import ConfigurationError, ThrottledError, UnavailableError

SERVICE = "aoss"


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
    """Sends one signed request at a time; connections are kept between calls."""

    def __init__(self, endpoint: str, region: str, credentials: Credentials | None) -> None:
        self._endpoint = endpoint
        self._region = region
        self._credentials = credentials
        self._sessions: dict[int, URLLib3Session] = {}

    def send(self, method: str, path: str, payload: Any, read_timeout_seconds: int) -> Reply:
        """One attempt. `payload` is a JSON value, bytes for a bulk request, or None.

        Raises `ThrottledError` for 429, `UnavailableError` for 5xx and a lost connection,
        `UpstreamTimeoutError` when nothing came back in time. Every other status is returned.
        """
        request = self._signed(method, path, payload)
        with typed_errors(f"{method} {path}"):
            response = self._session(read_timeout_seconds).send(request.prepare())
            content = response.content
        if response.status_code == 429:
            raise ThrottledError(f"{method} {path} was answered with 429.")
        if response.status_code >= 500:
            raise UnavailableError(f"{method} {path} was answered with {response.status_code}.")
        return Reply(response.status_code, _json_object(content))

    def _signed(self, method: str, path: str, payload: Any) -> AWSRequest:
        if self._credentials is None:
            raise ConfigurationError("No AWS credentials were found to sign the request with.")
        is_bulk = isinstance(payload, bytes)
        data = payload if is_bulk else b"" if payload is None else json.dumps(payload).encode()
        request = AWSRequest(method, self._endpoint + path, data=data)
        if data:
            request.headers["content-type"] = "application/x-ndjson" if is_bulk else "application/json"
        # OpenSearch Serverless refuses a request without the hash of its body in this header.
        request.headers["x-amz-content-sha256"] = hashlib.sha256(data).hexdigest()
        SigV4Auth(self._credentials.get_frozen_credentials(), SERVICE, self._region).add_auth(request)
        return request

    def _session(self, read_timeout_seconds: int) -> URLLib3Session:
        if read_timeout_seconds not in self._sessions:
            timeout = (CONNECT_TIMEOUT_SECONDS, read_timeout_seconds)
            self._sessions[read_timeout_seconds] = URLLib3Session(timeout=timeout)
        return self._sessions[read_timeout_seconds]


def _json_object(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
