"""Asks the EC2 instance metadata service, version 2, what EC2 announces about this node."""

from __future__ import annotations

import http.client
import json
import logging
from typing import Any, NamedTuple

log = logging.getLogger("watcher")

# The service answers in milliseconds; five requests that time out still fit between two polls.
TIMEOUT_SECONDS = 1.0
LONGEST_ANSWER_BYTES = 4096
TOKEN_SECONDS = 21600

TOKEN = "/latest/api/token"
INSTANCE_ID = "/latest/meta-data/instance-id"
NOTICE = "/latest/meta-data/spot/instance-action"
REBALANCE = "/latest/meta-data/events/recommendations/rebalance"


class MetadataError(OSError):
    """The service gave no answer that can be used; the message is one line."""


class Notice(NamedTuple):
    """EC2 takes the node back: `action` is terminate, stop or hibernate, `time` says when; both as EC2 wrote them."""

    action: str
    time: str


class Metadata:
    """Holds one session token and asks for another when the service no longer takes it."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._token = ""

    def notice(self) -> Notice | None:
        """The interruption notice, None while there is none. An action that nobody knows yet is a notice too."""
        answer = self._announcement(NOTICE)
        if answer is None:
            return None
        action = answer.get("action")
        if not isinstance(action, str) or not action:
            raise MetadataError(f"{NOTICE} names no action: {shown(answer)}")
        return Notice(shown(action), shown(answer.get("time", "unknown")))

    def rebalance(self) -> str | None:
        """When EC2 recommended to move elsewhere, None while it does not."""
        answer = self._announcement(REBALANCE)
        return None if answer is None else shown(answer.get("noticeTime", "unknown"))

    def instance_id(self) -> str:
        """The id of this node."""
        found = self.get(INSTANCE_ID) or ""
        if not found.startswith("i-") or not found[2:].isalnum():
            raise MetadataError(f"{INSTANCE_ID} is no instance id: {shown(found)}")
        return found

    def get(self, path: str) -> str | None:
        """What stands at `path`, None where nothing does; raises MetadataError for anything else."""
        for _ in range(2):
            self._token = self._token or self._new_token()
            status, text = self._request("GET", path, {"X-aws-ec2-metadata-token": self._token})
            if status != 401:
                break
            self._token = ""
        log.debug("GET %s answered %d", path, status)
        if status not in (200, 404):
            raise MetadataError(f"GET {path} answered {status}")
        return text if status == 200 else None

    def _announcement(self, path: str) -> dict[str, Any] | None:
        text = self.get(path)
        if text is None:
            return None
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise MetadataError(f"{path} is no JSON object: {shown(text)}")
        return answer

    def _new_token(self) -> str:
        lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": str(TOKEN_SECONDS)}
        status, token = self._request("PUT", TOKEN, lifetime)
        if status != 200 or not token.isascii() or not token.isprintable() or not token.strip():
            raise MetadataError(f"PUT {TOKEN} answered {status} and no token")
        return token

    def _request(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
        """Neither proxies nor redirects: a token is for this address alone."""
        connection = http.client.HTTPConnection(self._address, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, path, headers=headers)
            response = connection.getresponse()
            return response.status, response.read(LONGEST_ANSWER_BYTES).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise MetadataError(f"{method} {path}: {type(error).__name__} {shown(error)}") from error
        finally:
            connection.close()


def shown(value: object) -> str:
    """Anything as a short text of one line."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(value)[:100])
