"""Holds ingestion back while an index is filled: events wait in the queue, and nothing is lost."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ops.aws_calls import AwsCallError, error_code, told

POLL_SECONDS = 5
# A mapping changes its state within a minute or two; while it does, it takes no other change.
MOST_SECONDS = 600
BUSY = ("ResourceInUseException", "ResourceConflictException", "TooManyRequestsException")
# A run that had begun when the last poll was answered.
RUN_MARGIN_SECONDS = 30


class EventSource:
    """The mapping from the queue to the function."""

    def __init__(self, client: Any, function: str, sleep: Callable[[float], None] = time.sleep) -> None:
        self._client = client
        self._function = function
        self._sleep = sleep
        self._mappings = self._read()
        if not self._mappings:
            raise AwsCallError(
                f"The function {function} has no event source mapping. Fix: run `pulumi up`, then run this again."
            )

    @property
    def is_on(self) -> bool:
        """Whether it was on when this was made."""
        return any(mapping["State"] not in ("Disabled", "Disabling") for mapping in self._mappings)

    @property
    def maximum_concurrency(self) -> int | None:
        """Runs of the function at once, among which the embedding budget is shared."""
        limits = [
            mapping.get("ScalingConfig", {}).get("MaximumConcurrency") or 0 for mapping in self._mappings
        ]
        return max(limits) or None

    @property
    def ids(self) -> Sequence[str]:
        return [mapping["UUID"] for mapping in self._mappings]

    def switch_off(self) -> None:
        """Returns when the mapping takes nothing more out of the queue."""
        for mapping_id in self.ids:
            self._switch(mapping_id, enabled=False)
        self._poll(lambda: all(mapping["State"] == "Disabled" for mapping in self._read()), "switched off")

    def switch_on(self) -> None:
        """Returns when Lambda has taken the order; until it polls again, some seconds may pass."""
        for mapping_id in self.ids:
            self._switch(mapping_id, enabled=True)

    def wait_for_runs(self, sqs: Any, queue_url: str, timeout_seconds: int) -> None:
        """Waits until no message is being worked on, or for as long as a run can last.

        What a run failed at stays hidden for longer than any run lasts, so the count alone may never reach 0.
        """
        name = "ApproximateNumberOfMessagesNotVisible"
        for _ in range(-(-(timeout_seconds + RUN_MARGIN_SECONDS) // POLL_SECONDS)):
            with told("counting the messages in work"):
                reply = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=[name])
            if int(reply["Attributes"][name]) == 0:
                return
            self._sleep(POLL_SECONDS)

    def _switch(self, mapping_id: str, *, enabled: bool) -> None:
        from botocore.exceptions import ClientError

        def accepted() -> bool:
            try:
                self._client.update_event_source_mapping(UUID=mapping_id, Enabled=enabled)
            except ClientError as error:
                if error_code(error) in BUSY:
                    return False
                raise
            return True

        self._poll(accepted, "switched on" if enabled else "switched off")

    def _poll(self, is_done: Callable[[], bool], what: str) -> None:
        with told(f"the event source mapping of {self._function} being {what}"):
            for _ in range(MOST_SECONDS // POLL_SECONDS):
                if is_done():
                    return
                self._sleep(POLL_SECONDS)
        raise AwsCallError(
            f"The event source mapping of {self._function} was not {what} within {MOST_SECONDS} seconds."
        )

    def _read(self) -> list[dict[str, Any]]:
        with told(f"reading the event source mapping of {self._function}"):
            pages = self._client.get_paginator("list_event_source_mappings").paginate(
                FunctionName=self._function
            )
            return [mapping for page in pages for mapping in page["EventSourceMappings"]]


@contextmanager
def paused(source: EventSource, say: Callable[[str], None]) -> Generator[None]:
    """Switches the mapping off for the block, and on again whatever happens: an error, Ctrl-C, a request to end."""
    with _ended_politely():
        try:
            source.switch_off()
            yield
        finally:
            with _undisturbed():
                _switch_on(source, say)


def _switch_on(source: EventSource, say: Callable[[str], None]) -> None:
    try:
        source.switch_on()
    except AwsCallError as error:
        commands = "; ".join(
            f"aws lambda update-event-source-mapping --enabled --uuid {mapping_id}"
            for mapping_id in source.ids
        )
        say(f"INGESTION IS STILL OFF: {error} Fix: run {commands}")
        raise
    say("Ingestion is on again.")


@contextmanager
def _ended_politely() -> Generator[None]:
    """Treats SIGTERM as Ctrl-C for the block, so that what must be undone is undone."""
    with _handling({signal.SIGTERM: _interrupt}):
        yield


@contextmanager
def _undisturbed() -> Generator[None]:
    """Lets no second Ctrl-C into the block."""
    with _handling({signal.SIGINT: _wait, signal.SIGTERM: _wait}):
        yield


@contextmanager
def _handling(handlers: dict[signal.Signals, Callable[[int, FrameType | None], None]]) -> Generator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread alone
        return
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _wait(number: int, frame: FrameType | None) -> None:
    print("Switching ingestion on again first; one moment.", file=sys.stderr)
