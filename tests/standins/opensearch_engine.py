"""A real OpenSearch by its address, as the engine behind the stand-in for a collection."""

import json
from typing import Any

import urllib3


class OpenSearchEngine:
    """Passes every call on; `refresh` is a call that the collection itself does not have."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._http = urllib3.PoolManager()

    def call(self, method: str, target: str, body: bytes) -> tuple[int, Any]:
        kind = "application/x-ndjson" if "/_bulk" in target or "/_msearch" in target else "application/json"
        headers = {"content-type": kind} if body else {}
        reply = self._http.request(
            method, self.url + target, body=body or None, headers=headers, retries=False
        )
        return reply.status, json.loads(reply.data) if reply.data else {}

    def refresh(self) -> None:
        self._http.request("POST", f"{self.url}/_refresh", retries=False)

    def close(self) -> None:
        self._http.clear()
