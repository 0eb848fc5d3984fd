"""A run as it is: its execution, its jobs and their attempts, read from Step Functions and AWS Batch."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from components.job_facts import HOST_LOST, INTERRUPTED_EXIT_CODE
from ops.aws_calls import AwsCallError, error_code, told
from ops.train.stack import Clients, TrainingStack

MAIN_NODE = "#0"
MILLISECONDS = 1000
ENDED = ("SUCCEEDED", "FAILED")


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One try of one job. Times are seconds since 1970; `stopped` is None while it runs.

    `node` is the ARN of the container instance, "" where Batch does not tell it.
    """

    job_id: str
    capacity: str
    started: float
    stopped: float | None
    exit_code: int | None = None
    reason: str = ""
    log_group: str = ""
    log_stream: str = ""
    node: str = ""

    @property
    def outcome(self) -> str:
        """In a person's words."""
        if self.stopped is None:
            return "runs"
        if self.exit_code == 0:
            return "done"
        if fnmatchcase(self.reason, HOST_LOST):
            return "interrupted, host lost"
        if self.exit_code == int(INTERRUPTED_EXIT_CODE):
            return "interrupted, saved"
        code = "" if self.exit_code is None else f"exit code {self.exit_code}, "
        return f"failed: {code}{self.reason}".rstrip(", ")

    def seconds(self, now: float) -> float:
        return max(0.0, (self.stopped or now) - self.started)


@dataclass(frozen=True, kw_only=True)
class Job:
    """One submission. `waiting_since` is set while it waits for a node."""

    job_id: str
    capacity: str
    status: str
    reason: str
    created: float
    nodes: int
    attempts: tuple[Attempt, ...]
    waiting_since: float | None


@dataclass(frozen=True, kw_only=True)
class Run:
    """`status` is that of the execution: RUNNING, SUCCEEDED, FAILED, ABORTED or TIMED_OUT; `error` and `cause` say why."""

    name: str
    status: str
    error: str
    cause: str
    started: float
    stopped: float | None
    jobs: tuple[Job, ...] = ()

    @property
    def is_over(self) -> bool:
        return self.status not in ("RUNNING", "PENDING_REDRIVE")

    @property
    def attempts(self) -> list[Attempt]:
        """Of all jobs, oldest first."""
        return [attempt for job in self.jobs for attempt in job.attempts]

    @property
    def nodes(self) -> int:
        return max((job.nodes for job in self.jobs), default=1)


def read_run(clients: Clients, stack: TrainingStack, name: str) -> Run:
    """AwsCallError where there is no such run. Batch forgets jobs after seven days, the run is kept for 90."""
    from botocore.exceptions import ClientError

    with told(f"reading the run {name}"):
        try:
            execution = clients.step_functions.describe_execution(executionArn=stack.execution_arn(name))
        except ClientError as error:
            if error_code(error) == "ExecutionDoesNotExist":
                raise AwsCallError(
                    f"There is no run {name}. Fix: `python -m ops train list` shows those there are."
                ) from error
            raise
    return Run(
        name=name,
        jobs=tuple(read_jobs(clients, stack, name)),
        error=execution.get("error", ""),
        cause=execution.get("cause", ""),
        **_times(execution),
    )


def read_runs(clients: Clients, stack: TrainingStack, most: int) -> list[Run]:
    """The newest runs, without their jobs."""
    with told("listing the runs"):
        found = clients.step_functions.list_executions(
            stateMachineArn=stack.state_machine_arn, maxResults=most
        )
    return [Run(name=item["name"], error="", cause="", **_times(item)) for item in found["executions"]]


def read_jobs(clients: Clients, stack: TrainingStack, name: str) -> list[Job]:
    """The jobs of a run, oldest first: those of its name and a number, in any of the stack's queues."""
    ids = []
    with told(f"reading the jobs of {name}"):
        for queue in stack.queues:
            pages = clients.batch.get_paginator("list_jobs").paginate(
                jobQueue=queue, filters=[{"name": "JOB_NAME", "values": [f"{name}-*"]}]
            )
            found = [job for page in pages for job in page["jobSummaryList"]]
            # The filter also finds the jobs of runs whose names begin alike.
            ids += [job["jobId"] for job in found if re.fullmatch(rf"{re.escape(name)}-\d+", job["jobName"])]
        details = clients.batch.describe_jobs(jobs=ids)["jobs"] if ids else []
        mains = [f"{job['jobId']}{MAIN_NODE}" for job in details if "nodeProperties" in job]
        main_nodes = clients.batch.describe_jobs(jobs=mains)["jobs"] if mains else []
    # The attempts of a job over several nodes are told of its nodes only.
    by_job = {job["jobId"].removesuffix(MAIN_NODE): job for job in main_nodes}
    jobs = [_job(job, by_job.get(job["jobId"], job), stack) for job in details]
    return sorted(jobs, key=lambda job: job.created)


def _times(execution: dict[str, Any]) -> dict[str, Any]:
    stopped = execution.get("stopDate")
    return {
        "status": execution["status"],
        "started": execution["startDate"].timestamp(),
        "stopped": stopped.timestamp() if stopped else None,
    }


def _job(job: dict[str, Any], main: dict[str, Any], stack: TrainingStack) -> Job:
    attempts = tuple(_attempts(job, main, stack.queues.get(job["jobQueue"], "another queue")))
    waits = job["status"] in ("SUBMITTED", "PENDING", "RUNNABLE", "STARTING")
    last = [attempt.stopped for attempt in attempts if attempt.stopped]
    created = job["createdAt"] / MILLISECONDS
    return Job(
        job_id=job["jobId"],
        capacity=stack.queues.get(job["jobQueue"], "another queue"),
        status=job["status"],
        reason=job.get("statusReason", ""),
        created=created,
        nodes=job.get("nodeProperties", {}).get("numNodes", 1),
        attempts=attempts,
        waiting_since=max([created, *last]) if waits else None,
    )


def _attempts(job: dict[str, Any], main: dict[str, Any], capacity: str) -> Iterator[Attempt]:
    container = main.get("container", {})
    log_group = container.get("logConfiguration", {}).get("options", {}).get("awslogs-group", "")
    common: dict[str, Any] = {"job_id": job["jobId"], "capacity": capacity, "log_group": log_group}
    for attempt in main.get("attempts", []):
        if "startedAt" not in attempt:
            continue
        inside = attempt.get("container", {})
        yield Attempt(
            **common,
            started=attempt["startedAt"] / MILLISECONDS,
            stopped=attempt.get("stoppedAt", attempt["startedAt"]) / MILLISECONDS,
            exit_code=inside.get("exitCode"),
            reason=_one_line(attempt.get("statusReason", ""), inside.get("reason", "")),
            log_stream=inside.get("logStreamName", ""),
            node=inside.get("containerInstanceArn", ""),
        )
    if main["status"] == "RUNNING":
        stream, started = container.get("logStreamName", ""), main["startedAt"] / MILLISECONDS
        node = container.get("containerInstanceArn", "")
        yield Attempt(**common, started=started, stopped=None, log_stream=stream, node=node)


def _one_line(*texts: str) -> str:
    return re.sub(r"\s+", " ", ", ".join(text for text in texts if text)).strip()
