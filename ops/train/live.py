"""Which runs are live, and the checkpoints they write: two of them in one folder would spoil it."""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ops.aws_calls import told
from ops.train.request import CHECKPOINT_VARIABLE, RequestError, checkpoint_folder
from ops.train.runs import ENDED, MILLISECONDS
from ops.train.stack import Clients, TrainingStack

# DescribeJobDefinitions takes as many. https://docs.aws.amazon.com/batch/latest/APIReference/API_DescribeJobDefinitions.html
MOST_DEFINITIONS = 100
# Batch forgets a job seven days after it has ended, and ends each attempt after 28 days at the latest.
OLDEST_JOB_SECONDS = 60 * 24 * 3600


def check_checkpoint_is_free(clients: Clients, stack: TrainingStack, checkpoint: str) -> None:
    """RequestError when a live run, or a job that outlived its run, writes these checkpoints.

    Two runs that are started at the same moment are not seen.
    """
    definitions = {**_live_jobs(clients, stack), **_live_runs(clients, stack)}
    folders = _checkpoint_folders(clients, sorted(set(definitions.values())))
    for run, definition in definitions.items():
        if folders.get(definition) == checkpoint_folder(checkpoint):
            raise RequestError(
                f"{run} is live and writes the checkpoints {checkpoint}: two runs would spoil them. Fix: end it first with "
                f"`python -m ops train stop {run}`, or give the new run another --checkpoint."
            )


def _live_runs(clients: Clients, stack: TrainingStack) -> Mapping[str, str]:
    """Name -> ARN of the job definition, as the execution was given it."""
    found = {}
    with told("listing the live runs"):
        pages = clients.step_functions.get_paginator("list_executions").paginate(
            stateMachineArn=stack.state_machine_arn, statusFilter="RUNNING"
        )
        for item in (item for page in pages for item in page["executions"]):
            execution = clients.step_functions.describe_execution(executionArn=item["executionArn"])
            found[item["name"]] = json.loads(execution.get("input", "{}")).get("job_definition", "")
    return found


def _live_jobs(clients: Clients, stack: TrainingStack) -> Mapping[str, str]:
    """The same of jobs; what follows the last hyphen of a job's name counts the run's submissions."""
    since = str(int((time.time() - OLDEST_JOB_SECONDS) * MILLISECONDS))
    found = {}
    with told("listing the live jobs"):
        for queue in stack.queues:
            pages = clients.batch.get_paginator("list_jobs").paginate(
                jobQueue=queue, filters=[{"name": "AFTER_CREATED_AT", "values": [since]}]
            )
            for job in (job for page in pages for job in page["jobSummaryList"]):
                if job["status"] not in ENDED:
                    found[job["jobName"].rpartition("-")[0] or job["jobName"]] = job["jobDefinition"]
    return found


def _checkpoint_folders(clients: Clients, definitions: list[str]) -> Mapping[str, str]:
    arns = [arn for arn in definitions if arn]
    found = []
    with told("reading the job definitions of the live runs"):
        for first in range(0, len(arns), MOST_DEFINITIONS):
            some = arns[first : first + MOST_DEFINITIONS]
            found += clients.batch.describe_job_definitions(jobDefinitions=some)["jobDefinitions"]
    return {
        item["jobDefinitionArn"]: variable["value"]
        for item in found
        for container in _containers(item)
        for variable in container.get("environment", [])
        if variable["name"] == CHECKPOINT_VARIABLE
    }


def _containers(definition: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "containerProperties" in definition:
        yield definition["containerProperties"]
    for nodes in definition.get("nodeProperties", {}).get("nodeRangeProperties", []):
        yield nodes.get("container", {})
