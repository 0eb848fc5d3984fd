"""The account that is asked: clients made once, each question asked once, every page read."""

import shlex
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from ops.aws_calls import aws_client

Answer = TypeVar("Answer")


class UnansweredError(Exception):
    """AWS answered, but not with what was asked; the message says what is missing and what to do."""


class Account:
    """One account in one region. May be used from several threads."""

    def __init__(
        self, region: str, profile: str | None = None, make_client: Callable[..., Any] = aws_client
    ) -> None:
        self.region = region
        self._profile = profile
        self._make_client = make_client
        self._lock = threading.Lock()
        self._making = threading.Lock()
        self._answers: dict[str, Future[Any]] = {}

    def client(self, service: str, region: str = "") -> Any:
        """A client for the account's own region, or for another one."""
        place = region or self.region

        def make() -> Any:
            # A session of boto3 makes one client at a time.
            with self._making:
                return self._make_client(service, place, self._profile)

        return self.once(f"client {service} {place}", make)

    def command(self, words: str, region: str = "") -> str:
        """A command of the AWS CLI that goes to this account, and to its region or another one, wherever it is pasted."""
        profile = f" --profile {shlex.quote(self._profile)}" if self._profile else ""
        return f"aws {words} --region {region or self.region}{profile}"

    def once(self, question: str, ask: Callable[[], Answer]) -> Answer:
        """The answer to `question`, or its error: whoever asks first does so for all."""
        with self._lock:
            future = self._answers.get(question)
            first = future is None
            if future is None:
                future = self._answers[question] = Future()
        if first:
            try:
                future.set_result(ask())
            except BaseException as error:
                future.set_exception(error)
        return future.result()

    def listed(
        self, service: str, operation: str, key: str, parameters: Mapping[str, Any] | None = None
    ) -> Iterator[Any]:
        """The items of every page; a page may be empty and still not be the last."""
        client, parameters = self.client(service), dict(parameters or {})
        if client.can_paginate(operation):
            for page in client.get_paginator(operation).paginate(**parameters):
                yield from page.get(key, ())
            return
        while True:
            page = getattr(client, operation)(**parameters)
            yield from page.get(key, ())
            if not page.get("nextToken") or page["nextToken"] == parameters.get("nextToken"):
                return
            parameters["nextToken"] = page["nextToken"]
