"""Measures how long a running training job has neither saved a checkpoint nor written anything, as two metrics.

The state machine of training runs invokes it from time to time, and goes on whatever becomes of it.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import boto3
from botocore.config import Config

from rag.deadline import Deadline
from rag.environment import Environment
from training_progress.job import MILLISECONDS, RunningJob
from training_progress.job_log import JobLog

NAMESPACE = "AiPlatform/Training"
# Nobody needs to know how far beyond the bound a job is, and a long log takes long to search.
BOUNDS_LOOKED_BACK = 2
# CloudWatch Logs takes few searches a second in an account, and several runs may be looked at.
CONFIG = Config(connect_timeout=2, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 5})


def lambda_handler(event: Any, context: Any) -> None:
    """The entry point of the function."""
    handle(event, Deadline.of_lambda(context), boto3.client("logs", config=CONFIG), os.environ)


def handle(
    event: Mapping[str, Any],
    deadline: Deadline,
    client: Any,
    environ: Mapping[str, str],
    clock: Callable[[], float] = time.time,
) -> None:
    """Write the metrics of the event's job, or nothing where it does not run.

    Each counts from the start of the attempt until there is a first checkpoint or line. Raises what the calls of
    CloudWatch Logs raise, and DeadlineError: a metric that is not known is not written.
    """
    environment = Environment(environ)
    log_group = environment.text("LOG_GROUP")
    stale_minutes = environment.integer("STALE_MINUTES", 1, 1440)
    environment.finish()
    job = RunningJob.of_event(event)
    if job is None:
        return
    now = clock()
    since = max(job.started, now - BOUNDS_LOOKED_BACK * stale_minutes * 60)
    log = JobLog(client, log_group, job.log_stream, deadline)
    for metric, last in (
        ("MinutesWithoutOutput", log.last_output),
        ("MinutesWithoutCheckpoint", log.last_save),
    ):
        minutes = max(0.0, now - (last(since) or since)) / 60
        _emit(log_group, job, metric, round(minutes, 1), now)


def _emit(log_group: str, job: RunningJob, metric: str, minutes: float, now: float) -> None:
    """In CloudWatch's embedded metric format, as in rag/metrics.py.

    The one dimension is the same for all runs of a stack, since each of its values would cost.
    """
    directive = {
        "Namespace": NAMESPACE,
        "Dimensions": [["LogGroup"]],
        # CloudWatch knows no minutes.
        "Metrics": [{"Name": metric, "Unit": "None"}],
    }
    line = {
        "run": job.run,
        "job_id": job.job_id,
        "log_stream": job.log_stream,
        metric: minutes,
        "LogGroup": log_group,
        "_aws": {"Timestamp": int(now * MILLISECONDS), "CloudWatchMetrics": [directive]},
    }
    print(json.dumps(line), flush=True)
