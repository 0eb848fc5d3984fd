"""What a job's log tells: when it last wrote anything, and when it last saved a checkpoint."""

import re
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from rag.deadline import Deadline
from rag.errors import DeadlineError
from training_progress.job import MILLISECONDS

# The lines that gpu_node/checkpoint writes once a checkpoint lies where the next node finds it. What is saved on a
# node's own disk goes with the node.
SAVED = re.compile(r"checkpoint: (?:copied|uploaded|saved) step (\d+)(?! in /scratch)\b")
SAVED_FILTER = '"checkpoint:" "step"'
# One more page, and the end.
RESERVE_SECONDS = 10


class JobLog:
    """One log stream. Times are seconds since 1970; a stream that does not exist yet has no events."""

    def __init__(self, client: Any, log_group: str, log_stream: str, deadline: Deadline) -> None:
        self._client, self._deadline = client, deadline
        self._group, self._stream = log_group, log_stream

    def last_output(self, since: float) -> float | None:
        """When the newest event since then was written, None where there is none.

        Not by the stream's own lastEventTimestamp, which may be an hour old (API_LogStream).
        """
        times = [event["timestamp"] for event in self._newest(since)]
        return max(times) / MILLISECONDS if times else None

    def last_save(self, since: float) -> float | None:
        """When the last checkpoint since then was saved, None where there is none."""
        times = [event["timestamp"] for event in self._matches(since) if SAVED.search(event["message"])]
        return max(times) / MILLISECONDS if times else None

    def _newest(self, since: float) -> list[dict[str, Any]]:
        """A page may be empty with more to come; at the end the same token comes back (API_GetLogEvents)."""
        token: str | None = None
        while self._stream:
            place = {"nextToken": token} if token else {"startFromHead": False}
            try:
                page = self._client.get_log_events(
                    logGroupName=self._group,
                    logStreamName=self._stream,
                    startTime=int(since * MILLISECONDS),
                    limit=1,
                    **place,
                )
            except self._client.exceptions.ResourceNotFoundException:
                return []
            if page["events"] or page["nextBackwardToken"] == token:
                return page["events"]
            token = page["nextBackwardToken"]
            self._check_time()
        return []

    def _matches(self, since: float) -> Iterator[dict[str, Any]]:
        if not self._stream:
            return
        pages = self._client.get_paginator("filter_log_events").paginate(
            logGroupName=self._group,
            logStreamNames=[self._stream],
            startTime=int(since * MILLISECONDS),
            filterPattern=SAVED_FILTER,
        )
        try:
            for page in pages:
                yield from page["events"]
                self._check_time()
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceNotFoundException":
                raise

    def _check_time(self) -> None:
        """A search that was cut off knows nothing: what it has not seen may be the newest."""
        if self._deadline.remaining_seconds() < RESERVE_SECONDS:
            raise DeadlineError("The log is too long to be searched in the time of the function.")
