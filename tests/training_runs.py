"""Executes the definition of a training run in moto's interpreter, against a scripted AWS Batch and a scripted function.

Everything is as in the definition but the waits, which take no time. The calls go through real clients of boto3, so
that botocore judges their parameters.
"""

import io
import json
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import boto3
from moto import mock_aws
from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl
from moto.stepfunctions.parser.asl.component.common.string import string_expression
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import state_task_service_aws_sdk
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import WaitFunction
from moto.stepfunctions.parser.asl.utils import json_path
from moto.stepfunctions.parser.utils import TMP_THREADS

from tests.ops.answering_client import REGION, answering_client, refusal

SPOT, ON_DEMAND = (f"arn:aws:batch:{REGION}:111122223333:job-queue/{kind}" for kind in ("spot", "on-demand"))
JOB_DEFINITION = f"arn:aws:batch:{REGION}:111122223333:job-definition/training:7"
PROGRESS_FUNCTION = f"arn:aws:lambda:{REGION}:111122223333:function:progress"
ROLE = "arn:aws:iam::111122223333:role/training-machine"
INPUT = {
    "name": "run-1",
    "job_definition": JOB_DEFINITION,
    "queue": SPOT,
    "fallback_queue": ON_DEMAND,
}
LONGEST_EXECUTION_SECONDS = 60

Job = dict[str, Any]


def failed(reason: str, exit_code: int | None = None, **more: Any) -> Job:
    """A job that Batch has given up on, as DescribeJobs tells it."""
    container = {} if exit_code is None else {"exitCode": exit_code}
    return {"status": "FAILED", "statusReason": reason, "container": container, **more}


RUNNING: Job = {"status": "RUNNING", "container": {"logStreamName": "training/default/1"}, "startedAt": 5000}
WAITING: Job = {"status": "RUNNABLE", "container": {}}
SUCCEEDED: Job = {
    "status": "SUCCEEDED",
    "statusReason": "Essential container in task exited",
    "container": {"exitCode": 0},
}
SAVED = failed("Essential container in task exited", 75)
HOST_LOST = failed("Host EC2 (instance i-0123456789abcdef0) terminated.")
USER_ERROR = failed("Essential container in task exited", 1)
NODES: Job = {"nodeProperties": {"numNodes": 2, "mainNode": 0, "nodeRangeProperties": []}}


@dataclass
class ScriptedBatch:
    """AWS Batch with what each look at each job finds; the last look of a job is found again and again.

    A job that was ended is found as `ended` at the next look. Of a job over several nodes there is also what its main
    node is found as, `main_node`. Calls whose number is in `refused` fail, and all of an operation in `refuses`;
    submissions whose number is in `lost` make a job, and time out. `answer` is what becomes of the function.
    """

    jobs: list[list[Job]]
    ended: Job = field(
        default_factory=lambda: failed("No capacity within 30 minutes.", isTerminated=True, isCancelled=True)
    )
    main_node: Job | None = None
    refused: set[int] = field(default_factory=set)
    refuses: set[str] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)
    submitted: list[dict[str, Any]] = field(default_factory=list)
    terminated: list[dict[str, Any]] = field(default_factory=list)
    checked: list[dict[str, Any]] = field(default_factory=list)
    looks: int = 0
    calls: int = 0
    asked: list[str] = field(default_factory=list)
    on_look: Callable[[int], None] = lambda number: None
    answer: dict[str, Any] = field(default_factory=lambda: {"StatusCode": 200})

    def client(self) -> Any:
        return answering_client(
            "batch",
            {
                "SubmitJob": self._submit,
                "DescribeJobs": self._describe,
                "TerminateJob": self._terminate,
                "ListJobs": self._list,
            },
        )

    @property
    def queues(self) -> list[str]:
        """Where the jobs of the run were submitted, in order: spot or on-demand."""
        return [call["jobQueue"].rpartition("/")[2] for call in self.submitted]

    def _called(self, operation: str) -> None:
        self.calls += 1
        self.asked.append(operation)
        if self.calls in self.refused or operation in self.refuses:
            raise server_error()

    def _submit(self, **asked: Any) -> dict[str, Any]:
        self._called("SubmitJob")
        self.submitted.append(asked)
        if len(self.submitted) in self.lost:
            raise server_error()
        return {"jobId": f"job-{len(self.submitted)}", "jobName": asked["jobName"]}

    def _list(self, jobQueue: str, filters: list[dict[str, Any]]) -> dict[str, Any]:
        self._called("ListJobs")
        (names,) = (item["values"] for item in filters if item["name"] == "JOB_NAME")
        found = [
            {"jobId": f"job-{number}", "jobName": call["jobName"]}
            for number, call in enumerate(self.submitted, 1)
            if call["jobQueue"] == jobQueue and call["jobName"].lower() in [name.lower() for name in names]
        ]
        return {"jobSummaryList": found}

    def _describe(self, jobs: list[str]) -> dict[str, Any]:
        self._called("DescribeJobs")
        job_id = f"job-{len(self.submitted)}"
        if jobs == [f"{job_id}#0"]:
            return {"jobs": [self._told(jobs[0], self.main_node)] if self.main_node else []}
        assert jobs == [job_id], "the machine looks at another job than its newest"
        self.looks += 1
        self.on_look(self.looks)
        looks = self.jobs[len(self.submitted) - 1]
        was_ended = any(call["jobId"] == job_id for call in self.terminated)
        found = self.ended if was_ended else looks.pop(0) if len(looks) > 1 else looks[0]
        return {"jobs": [self._told(job_id, found)] if found else []}

    def _told(self, job_id: str, found: Job) -> Job:
        call = self.submitted[-1]
        return {"jobId": job_id, "jobName": call["jobName"], "jobQueue": call["jobQueue"], **found}

    def _terminate(self, **asked: Any) -> None:
        self._called("TerminateJob")
        self.terminated.append(asked)

    def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:
        """What a client of Lambda answers."""
        assert FunctionName == PROGRESS_FUNCTION
        self.checked.append(json.loads(Payload))
        return {"Payload": io.BytesIO(b"null"), **self.answer}


def server_error() -> Exception:
    """What AWS says where it does not know whether it did what it was asked."""
    error = refusal("ServerException")
    error.response["ResponseMetadata"] = {"HTTPStatusCode": 500, "RequestId": "request"}
    return error


class PascalCase:
    """A client as Step Functions calls it: names of parameters and results begin with a capital.

    moto's interpreter leaves that to the real Step Functions.
    https://docs.aws.amazon.com/step-functions/latest/dg/supported-services-awssdk.html
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(**asked: Any) -> Any:
            answer = getattr(self._client, name)(**_renamed(asked, str.lower))
            return _renamed(answer, str.upper)

        return call


def _renamed(value: Any, first_letter: Callable[[str], str]) -> Any:
    if isinstance(value, list):
        return [_renamed(item, first_letter) for item in value]
    if not isinstance(value, dict):
        return value
    # The keys of tags are not names of the API.
    return {
        first_letter(key[0]) + key[1:]: item if key == "Tags" else _renamed(item, first_letter)
        for key, item in value.items()
    }


@dataclass(frozen=True)
class Execution:
    """How an execution ended, and its events."""

    status: str
    error: str
    cause: str
    events: list[dict[str, Any]]
    output: Any


def value_at(path: str, data: Any) -> Any:
    """What a path names. One with an index names one value in Step Functions, and a list of it in moto.

    https://states-language.net/spec.html#ref-paths; moto treats it like a filter with one match (getmoto/moto#7825).
    """
    found = json_path.extract_json(path, data)
    named_by_index = re.search(r"\[\d+\]\.[^.]+$", path) and not re.search(r"[*?:]", path)
    return found[0] if named_by_index else found


@contextmanager
def step_functions(batch: ScriptedBatch) -> Generator[Any]:
    """A client of Step Functions whose executions are interpreted, and call `batch`."""
    with (
        mock_aws(config={"stepfunctions": {"execute_state_machine": True}}),
        patch.object(
            state_task_service_aws_sdk, "boto_client_for", lambda **asked: PascalCase(batch.client())
        ),
        patch.object(string_expression, "extract_json", value_at),
        patch.object(lambda_eval_utils, "boto_client_for", lambda **asked: batch),
        patch.object(WaitFunction, "_wait_interval", lambda self, env, wait_seconds: None),
        patch.object(retrier_decl, "time", SimpleNamespace(sleep=lambda seconds: None)),
    ):
        yield boto3.client("stepfunctions", region_name=REGION)


def execute(
    definition: Mapping[str, Any], batch: ScriptedBatch, given: Mapping[str, Any] = INPUT
) -> Execution:
    """Runs an execution to its end."""
    with step_functions(batch) as client:
        machine = client.create_state_machine(name="runs", definition=json.dumps(definition), roleArn=ROLE)
        started = client.start_execution(
            stateMachineArn=machine["stateMachineArn"], name="run-1", input=json.dumps(given)
        )
        return ended(client, started["executionArn"])


def ended(client: Any, execution_arn: str) -> Execution:
    """Waits until the interpreter's thread is done."""
    for thread in TMP_THREADS:
        thread.join(LONGEST_EXECUTION_SECONDS)
        assert not thread.is_alive(), "the execution goes on for ever"
    told = client.describe_execution(executionArn=execution_arn)
    events = client.get_execution_history(executionArn=execution_arn, maxResults=1000)["events"]
    return Execution(
        told["status"],
        told.get("error", ""),
        told.get("cause", ""),
        events,
        json.loads(told["output"]) if told.get("output") else None,
    )
