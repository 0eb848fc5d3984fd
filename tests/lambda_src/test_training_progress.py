"""The function that measures how long a training job has made no progress, against botocore's stubs."""

import json
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from ops.train import logs
from rag.deadline import Deadline
from rag.errors import ConfigurationError, DeadlineError
from training_progress import handler, job_log
from training_progress.handler import handle

NOW = 1_700_000_000.0
STREAM = "training/default/0123456789abcdef"
ENVIRON = {"LOG_GROUP": "training-jobs-1234567", "STALE_MINUTES": "60"}
OUTPUT, CHECKPOINT = "MinutesWithoutOutput", "MinutesWithoutCheckpoint"
SAVED = "checkpoint: saved step 120 in /mnt/shared-data/checkpoints/run-1/step-120 in 3.1 s"


def ago(minutes: float) -> int:
    """Milliseconds since 1970, so many minutes before now."""
    return int((NOW - minutes * 60) * 1000)


def event(started: int | None = ago(50), stream: str = STREAM, status: str = "RUNNING") -> dict[str, Any]:
    """As the state machine gives it, for a job that has run for 50 minutes."""
    job: dict[str, Any] = {"JobId": "job-1", "Status": status, "Container": {"LogStreamName": stream}}
    return {"run": "run-1", "jobs": [{**job, "StartedAt": started} if started else job]}


class Logs:
    """A stubbed CloudWatch Logs and what the function wrote."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.client = boto3.client(
            "logs",
            region_name="eu-central-1",
            aws_access_key_id="x",
            aws_secret_access_key="x",
            config=Config(retries={"total_max_attempts": 1}),
        )
        self.stub = Stubber(self.client)
        self.capsys = capsys

    def newest(
        self, minutes: float | None, since: int = ago(50), token: str = "", next_token: str = "b"
    ) -> None:
        """The next answer to the question for the newest event."""
        place: dict[str, Any] = {"nextToken": token} if token else {"startFromHead": False}
        events = [] if minutes is None else [{"timestamp": ago(minutes), "message": "loss 0.1"}]
        self.stub.add_response(
            "get_log_events",
            {"events": events, "nextBackwardToken": next_token, "nextForwardToken": "f"},
            {"logGroupName": ENVIRON["LOG_GROUP"], "logStreamName": STREAM, "startTime": since, "limit": 1, **place},
        )  # fmt: skip

    def matches(
        self, *found: tuple[float, str], since: int = ago(50), token: str = "", next_token: str = ""
    ) -> None:
        """The next answer to the search for checkpoints."""
        answer: dict[str, Any] = {
            "events": [{"timestamp": ago(minutes), "message": text} for minutes, text in found]
        }
        asked = {
            "logGroupName": ENVIRON["LOG_GROUP"],
            "logStreamNames": [STREAM],
            "startTime": since,
            "filterPattern": '"checkpoint:" "step"',
        }
        self.stub.add_response(
            "filter_log_events",
            {**answer, "nextToken": next_token} if next_token else answer,
            {**asked, "nextToken": token} if token else asked,
        )

    def lines(
        self,
        given: dict[str, Any],
        environ: dict[str, str] = ENVIRON,
        remaining: Callable[[], float] = lambda: 60.0,
    ) -> list[dict[str, Any]]:
        with self.stub:
            handle(given, Deadline(remaining), self.client, environ, lambda: NOW)
        self.stub.assert_no_pending_responses()
        return self.written()

    def written(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.capsys.readouterr().out.splitlines()]

    def minutes(self, given: dict[str, Any]) -> dict[str, float]:
        return {
            name: line[name] for line in self.lines(given) for name in (OUTPUT, CHECKPOINT) if name in line
        }


@pytest.fixture
def log(capsys: pytest.CaptureFixture[str]) -> Logs:
    return Logs(capsys)


def test_the_newest_line_and_the_last_checkpoint_are_counted_from(log: Logs) -> None:
    log.newest(2)
    log.matches((40, SAVED), (12, SAVED.replace("120", "240")), (3, "checkpoint: resuming from step 240"))

    assert log.minutes(event()) == {OUTPUT: 2.0, CHECKPOINT: 12.0}


def test_without_a_line_or_a_checkpoint_the_attempts_start_is_counted_from(log: Logs) -> None:
    log.newest(None, next_token="b")
    log.newest(None, token="b", next_token="b")
    log.matches()

    assert log.minutes(event()) == {OUTPUT: 50.0, CHECKPOINT: 50.0}


def test_pages_may_be_empty_with_more_to_come(log: Logs) -> None:
    log.newest(None, next_token="b1")
    log.newest(7, token="b1", next_token="b2")
    log.matches(next_token="n1")
    log.matches((20, SAVED), token="n1", next_token="n2")
    log.matches(token="n2")

    assert log.minutes(event()) == {OUTPUT: 7.0, CHECKPOINT: 20.0}, "a false alarm would be raised"


def test_a_stream_that_does_not_exist_yet_is_an_empty_one(log: Logs) -> None:
    log.stub.add_client_error("get_log_events", "ResourceNotFoundException")
    log.stub.add_client_error("filter_log_events", "ResourceNotFoundException")

    assert log.minutes(event()) == {OUTPUT: 50.0, CHECKPOINT: 50.0}


def test_a_job_that_runs_without_any_log_is_counted_too(log: Logs) -> None:
    assert log.minutes(event(stream="")) == {OUTPUT: 50.0, CHECKPOINT: 50.0}


def test_what_lies_far_beyond_the_bound_is_not_searched_for(log: Logs) -> None:
    since = ago(2 * 60)
    log.newest(None, since, next_token="b")
    log.newest(None, since, token="b", next_token="b")
    log.matches(since=since)

    assert log.minutes(event(started=ago(3000))) == {OUTPUT: 120.0, CHECKPOINT: 120.0}, (
        "it is beyond the bound all the same"
    )


@pytest.mark.parametrize(
    "line",
    [
        "checkpoint: saved step 120 in /scratch/checkpoints/step-120 in 3.1 s",
        "checkpoint: WARNING: saving step 120 may take 40 s, and 20 s are left",
        "checkpoint: ERROR: step 120 was not copied to /mnt/shared-data/checkpoints: disk full",
    ],
)
def test_a_checkpoint_that_would_go_with_its_node_is_none(log: Logs, line: str) -> None:
    log.newest(1)
    log.matches((1, line))

    assert log.minutes(event())[CHECKPOINT] == 50.0


@pytest.mark.parametrize("word", ["saved", "copied", "uploaded"])
def test_a_checkpoint_where_the_next_node_finds_it_counts(log: Logs, word: str) -> None:
    log.newest(1)
    log.matches((4, f"checkpoint: {word} step 7 to /mnt/shared-data/checkpoints/run-1 in 1.0 s"))

    assert log.minutes(event())[CHECKPOINT] == 4.0


def test_both_readers_of_the_log_know_the_same_lines() -> None:
    assert job_log.SAVED.pattern == logs.SAVED.pattern and job_log.SAVED_FILTER == logs.SAVED_FILTER, (
        "the status of a run would tell of checkpoints that the alarm does not know"
    )


def test_a_clock_that_lags_behind_makes_no_negative_minutes(log: Logs) -> None:
    log.newest(-3)
    log.matches((-2, SAVED))

    assert log.minutes(event()) == {OUTPUT: 0.0, CHECKPOINT: 0.0}


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "RUNNABLE", "STARTING"])
def test_a_job_that_does_not_run_is_not_measured(log: Logs, status: str) -> None:
    assert log.lines(event(status=status)) == []


@pytest.mark.parametrize(
    "given",
    [
        {"run": "run-1", "jobs": []},
        {"run": "run-1"},
        event(started=None),
        {"run": "run-1", "jobs": [{"Status": "RUNNING"}]},
    ],
)
def test_a_job_of_which_nothing_is_known_is_not_measured(log: Logs, given: dict[str, Any]) -> None:
    assert log.lines(given) == [], "a main node that has not started would raise an alarm"


def test_a_log_that_cannot_be_read_is_no_job_without_progress(log: Logs) -> None:
    log.newest(2)
    log.stub.add_client_error("filter_log_events", "ThrottlingException")
    with pytest.raises(ClientError, match="Throttling"):
        log.lines(event())

    (line,) = log.written()
    assert line[OUTPUT] == 2.0 and CHECKPOINT not in line, "a false alarm would be raised"


def test_a_log_that_is_too_long_to_be_searched_is_no_job_without_progress(log: Logs) -> None:
    times = iter([30.0, 5.0])
    log.newest(2)
    log.matches(next_token="n1")
    log.matches((49, SAVED), token="n1", next_token="n2")
    with pytest.raises(DeadlineError):
        log.lines(event(), remaining=lambda: next(times))

    assert all(CHECKPOINT not in line for line in log.written())


def test_each_metric_is_one_of_its_stack_and_the_line_names_the_run(log: Logs) -> None:
    log.newest(2)
    log.matches()
    for line, metric in zip(log.lines(event()), (OUTPUT, CHECKPOINT), strict=True):
        directive = {
            "Namespace": handler.NAMESPACE,
            "Dimensions": [["LogGroup"]],
            "Metrics": [{"Name": metric, "Unit": "None"}],
        }
        assert line["_aws"] == {"Timestamp": int(NOW * 1000), "CloudWatchMetrics": [directive]}, (
            "each run would make metrics of its own, which cost"
        )
        assert line["LogGroup"] == ENVIRON["LOG_GROUP"]
        assert (line["run"], line["job_id"], line["log_stream"]) == ("run-1", "job-1", STREAM)


def test_an_environment_that_is_not_whole_is_told_of(log: Logs) -> None:
    with pytest.raises(ConfigurationError, match="LOG_GROUP is not set"):
        log.lines(event(), {"STALE_MINUTES": "60"})
