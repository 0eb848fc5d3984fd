"""The logs of a run's attempts, and what the checkpoint helper has said in them."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from ops.aws_calls import error_code, told
from ops.train.runs import MILLISECONDS, Attempt
from ops.train.stack import Clients

# The lines that gpu_node/checkpoint writes once a checkpoint lies where the next node finds it. What is saved on a
# node's own disk goes with the node.
SAVED = re.compile(r"checkpoint: (?:copied|uploaded|saved) step (\d+)(?! in /scratch)\b")
SAVED_FILTER = '"checkpoint:" "step"'


def lines(clients: Clients, attempt: Attempt, token: str | None = None) -> tuple[list[str], str | None]:
    """The attempt's log from its start, or what has come since `token`; and the token to go on with."""
    from botocore.exceptions import ClientError

    found: list[str] = []
    with told(f"reading the log {attempt.log_stream}"):
        while attempt.log_stream:
            place = {"nextToken": token} if token else {"startFromHead": True}
            try:
                page = clients.logs.get_log_events(
                    logGroupName=attempt.log_group, logStreamName=attempt.log_stream, **place
                )
            except ClientError as error:
                # A container that has written nothing yet has no stream.
                if error_code(error) == "ResourceNotFoundException":
                    break
                raise
            found += [event["message"] for event in page["events"]]
            # At the end the same token comes back.
            if page["nextForwardToken"] == token:
                break
            token = page["nextForwardToken"]
    return found, token


def saves(clients: Clients, attempt: Attempt) -> list[tuple[float, int]]:
    """When the attempt saved which step, oldest first; empty where it does not use the checkpoint helper."""
    return sorted(_saves(clients, attempt))


def _saves(clients: Clients, attempt: Attempt) -> Iterator[tuple[float, int]]:
    for event in events(clients, attempt, SAVED_FILTER):
        said = SAVED.search(event["message"])
        if said:
            yield event["timestamp"] / MILLISECONDS, int(said[1])


def events(clients: Clients, attempt: Attempt, pattern: str) -> list[dict[str, Any]]:
    """What the attempt has written that matches a filter pattern of CloudWatch Logs, as FilterLogEvents tells it."""

    def pages() -> list[dict[str, Any]]:
        found = clients.logs.get_paginator("filter_log_events").paginate(
            logGroupName=attempt.log_group,
            logStreamNames=[attempt.log_stream],
            startTime=int(attempt.started * MILLISECONDS),
            filterPattern=pattern,
        )
        return [event for page in found for event in page["events"]]

    return unless_missing(pages, attempt)


def unless_missing(read: Callable[[], list[dict[str, Any]]], attempt: Attempt) -> list[dict[str, Any]]:
    """What `read` finds in the attempt's log. A container that has written nothing yet has no stream."""
    from botocore.exceptions import ClientError

    if not attempt.log_stream:
        return []
    with told(f"reading the log {attempt.log_stream}"):
        try:
            return read()
        except ClientError as error:
            if error_code(error) == "ResourceNotFoundException":
                return []
            raise
