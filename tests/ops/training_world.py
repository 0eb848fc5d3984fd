"""A stack with training, and clients that answer from lists of a test: Step Functions, AWS Batch and its logs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatch
from types import SimpleNamespace
from typing import Any

from ops.train.stack import TrainingStack
from tests.ops.answering_client import REGION, answering_client, refusal

PLACE = f"{REGION}:111122223333"
STACK = TrainingStack(
    state_machine_arn=f"arn:aws:states:{PLACE}:stateMachine:runs",
    spot_queue_arn=f"arn:aws:batch:{PLACE}:job-queue/spot",
    on_demand_queue_arn=f"arn:aws:batch:{PLACE}:job-queue/on-demand",
    job_definition_arn=f"arn:aws:batch:{PLACE}:job-definition/training:3",
    multi_node_queue_arn=f"arn:aws:batch:{PLACE}:job-queue/multi-node",
    multi_node_job_definition_arn=f"arn:aws:batch:{PLACE}:job-definition/training-nodes:2",
)
START = datetime(2026, 12, 1, 10, 0, tzinfo=UTC)
T0 = START.timestamp()
LOG_GROUP = "training-jobs-1234567"
CONTAINER: dict[str, Any] = {
    "image": "111122223333.dkr.ecr.eu-central-1.amazonaws.com/train:1",
    "command": [],
    "jobRoleArn": "arn:aws:iam::111122223333:role/training-job",
    "resourceRequirements": [
        {"type": "GPU", "value": "1"},
        {"type": "VCPU", "value": "4"},
        {"type": "MEMORY", "value": "14336"},
    ],
    "environment": [{"name": "AWS_REGION", "value": REGION}],
    "linuxParameters": {"initProcessEnabled": True, "sharedMemorySize": 7168},
    "logConfiguration": {"logDriver": "awslogs", "options": {"awslogs-group": LOG_GROUP}},
}
DEFINITION: dict[str, Any] = {
    "jobDefinitionName": "training",
    "jobDefinitionArn": STACK.job_definition_arn,
    "revision": 3,
    "status": "ACTIVE",
    "type": "container",
    "containerOrchestrationType": "ECS",
    "parameters": {},
    "tags": {"Owner": "platform-team"},
    "retryStrategy": {"attempts": 5, "evaluateOnExit": [{"onReason": "*", "action": "EXIT"}]},
    "timeout": {"attemptDurationSeconds": 3600},
    "propagateTags": True,
    "platformCapabilities": ["EC2"],
    "containerProperties": CONTAINER,
}
NODES_DEFINITION: dict[str, Any] = {
    **{key: value for key, value in DEFINITION.items() if key != "containerProperties"},
    "jobDefinitionName": "training-nodes",
    "jobDefinitionArn": STACK.multi_node_job_definition_arn,
    "type": "multinode",
    "nodeProperties": {
        "numNodes": 4,
        "mainNode": 0,
        "nodeRangeProperties": [
            {"targetNodes": "0:3", "instanceTypes": ["p4d.24xlarge"], "container": {**CONTAINER}}
        ],
    },
}


def at(minutes: float) -> int:
    """Milliseconds since 1970, so many minutes after the run was started."""
    return int((T0 + minutes * 60) * 1000)


def attempt(began: float, ended: float, reason: str = "", code: int | None = None, stream: str = "") -> Any:
    """As DescribeJobs tells it; times are minutes."""
    container: dict[str, Any] = {"logStreamName": stream} if stream else {}
    if code is not None:
        container["exitCode"] = code
    return {
        "startedAt": at(began),
        "stoppedAt": at(ended),
        "statusReason": reason,
        "container": container,
    }


def job(number: int, status: str, attempts: Sequence[Any] = (), **more: Any) -> dict[str, Any]:
    """A job that was submitted to spot when the run began, unless `more` says otherwise."""
    container = {**CONTAINER, **more.pop("container", {})}
    return {
        "jobId": f"job-{number}",
        "jobName": f"run-1-{number}",
        "jobQueue": STACK.spot_queue_arn,
        "jobDefinition": STACK.job_definition_arn,
        "status": status,
        "createdAt": at(0),
        "startedAt": at(0),
        "attempts": list(attempts),
        "container": container,
        **more,
    }


@dataclass
class World:
    """What AWS knows; what it was told is noted in `calls` as (operation, parameters)."""

    jobs: list[dict[str, Any]] = field(default_factory=list)
    status: str = "RUNNING"
    execution: dict[str, Any] = field(default_factory=dict)
    definitions: list[dict[str, Any]] = field(default_factory=lambda: [DEFINITION, NODES_DEFINITION])
    logs: Mapping[str, Sequence[tuple[float, str]]] = field(default_factory=dict)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def with_live(self, checkpoint: str) -> "World":
        """The run writes these checkpoints, by a revision of its own."""
        arn = STACK.job_definition_arn.replace(":3", ":8")
        folder = {"name": "CHECKPOINT_FOLDER", "value": f"/mnt/shared-data/checkpoints/{checkpoint}"}
        container = {**CONTAINER, "environment": [*CONTAINER["environment"], folder]}
        self.definitions.append({**DEFINITION, "jobDefinitionArn": arn, "containerProperties": container})
        self.execution["input"] = f'{{"job_definition": "{arn}"}}'
        for item in self.jobs:
            item["jobDefinition"] = arn
        return self

    @property
    def clients(self) -> Any:
        return SimpleNamespace(
            step_functions=answering_client(
                "stepfunctions",
                {
                    "StartExecution": self._start,
                    "DescribeExecution": self._describe,
                    "ListExecutions": self._list,
                    "StopExecution": self._stop,
                },
            ),
            batch=answering_client(
                "batch",
                {
                    "DescribeJobDefinitions": self._definitions,
                    "RegisterJobDefinition": self._register,
                    "ListJobs": self._list_jobs,
                    "DescribeJobs": self._describe_jobs,
                    "TerminateJob": lambda **asked: self.calls.append(("TerminateJob", asked)),
                },
            ),
            logs=answering_client("logs", {"GetLogEvents": self._log, "FilterLogEvents": self._filter}),
        )

    def asked(self, operation: str) -> list[dict[str, Any]]:
        return [parameters for name, parameters in self.calls if name == operation]

    def _start(self, **asked: Any) -> dict[str, Any]:
        self.calls.append(("StartExecution", asked))
        return {"executionArn": STACK.execution_arn(asked["name"]), "startDate": START}

    def _execution(self) -> dict[str, Any]:
        known = {
            "executionArn": STACK.execution_arn("run-1"),
            "stateMachineArn": STACK.state_machine_arn,
            "name": "run-1",
        }
        return {**known, "status": self.status, "startDate": START, **self.execution}

    def _describe(self, executionArn: str) -> dict[str, Any]:
        if executionArn != STACK.execution_arn("run-1"):
            raise refusal("ExecutionDoesNotExist")
        return self._execution()

    def _list(self, **asked: Any) -> dict[str, Any]:
        self.calls.append(("ListExecutions", asked))
        wanted = asked.get("statusFilter", self.status)
        return {"executions": [self._execution()] if wanted == self.status else []}

    def _stop(self, **asked: Any) -> dict[str, Any]:
        self.calls.append(("StopExecution", asked))
        self.status = "ABORTED"
        return {"stopDate": START}

    def _definitions(self, jobDefinitions: list[str]) -> dict[str, Any]:
        return {
            "jobDefinitions": [
                item for item in self.definitions if item["jobDefinitionArn"] in jobDefinitions
            ]
        }

    def _register(self, **asked: Any) -> dict[str, Any]:
        self.calls.append(("RegisterJobDefinition", asked))
        arn = f"arn:aws:batch:{PLACE}:job-definition/{asked['jobDefinitionName']}:9"
        return {"jobDefinitionName": asked["jobDefinitionName"], "jobDefinitionArn": arn, "revision": 9}

    def _list_jobs(self, jobQueue: str, filters: list[Any], **rest: Any) -> dict[str, Any]:
        (by,) = filters
        names = by["values"] if by["name"] == "JOB_NAME" else ["*"]
        found = [
            {key: item[key] for key in ("jobId", "jobName", "status", "jobDefinition")}
            for item in self.jobs
            if item["jobQueue"] == jobQueue
            and any(fnmatch(item["jobName"], name) for name in names)
            and "#" not in item["jobId"]
        ]
        return {"jobSummaryList": found}

    def _describe_jobs(self, jobs: list[str]) -> dict[str, Any]:
        return {"jobs": [item for item in self.jobs if item["jobId"] in jobs]}

    def _log(self, logGroupName: str, logStreamName: str, **rest: Any) -> dict[str, Any]:
        """Two events a page."""
        assert logGroupName == LOG_GROUP
        if logStreamName not in self.logs:
            raise refusal("ResourceNotFoundException")
        first = int(rest.get("nextToken", "0"))
        page = self.logs[logStreamName][first : first + 2]
        events = [{"timestamp": at(minutes), "message": message} for minutes, message in page]
        return {"events": events, "nextForwardToken": str(first + len(page))}

    def _filter(self, logGroupName: str, logStreamNames: list[str], **rest: Any) -> dict[str, Any]:
        assert logGroupName == LOG_GROUP
        found = [event for stream in logStreamNames for event in self.logs.get(stream, ())]
        return {"events": [{"timestamp": at(minutes), "message": message} for minutes, message in found]}
