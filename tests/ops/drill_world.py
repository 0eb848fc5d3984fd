"""A stack with training in which a drill can be run: time passes when the command sleeps, and a market follows a script."""

import contextlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from ops.__main__ import INTERRUPTED
from ops.drill import command
from ops.drill.place import Drill
from tests.ops.answering_client import answering_client, refusal
from tests.ops.training_world import PLACE, STACK, START, T0, World, attempt, job

DRILL = Drill(
    experiment_template_id="EXT0123456789",
    mark={"InterruptionDrill": "ai-platform/staging"},
    node_tags={"Project": "ai-platform", "Stack": "staging", "Name": "training-capacity"},
)
NODE, OTHER_NODE = "i-0123456789abcdef0", "i-0fedcba9876543210"
HOST_LOST = f"Host EC2 (instance {NODE}) terminated."
EXITED = "Essential container in task exited"
FOLDER = "/mnt/shared-data/checkpoints/run-1"
# The drill begins so many minutes after the run; the notice is sent a second after the experiment has started.
BEGINS = 20
NOTICE_DELAY_SECONDS = 1

Step = tuple[float, Callable[[], None]]


def saved(step: int, folder: str = FOLDER) -> str:
    return f"checkpoint: saved step {step} in {folder}/step-{step} in 2.0 s"


def resumed(step: int) -> str:
    return f"checkpoint: resuming from step {step} in {FOLDER}/step-{step}"


def instance(instance_id: str = NODE, **more: Any) -> dict[str, Any]:
    """As DescribeInstances tells it."""
    return {
        "InstanceId": instance_id,
        "InstanceType": "g5.2xlarge",
        "InstanceLifecycle": "spot",
        "State": {"Name": "running"},
        "Placement": {"AvailabilityZone": "eu-central-1a"},
        "Tags": [{"Key": key, "Value": value} for key, value in DRILL.node_tags.items()],
        **more,
    }


def running(number: int = 1, since: float = 1, node: str = NODE, **more: Any) -> dict[str, Any]:
    """A job whose newest attempt runs on a node; times are minutes."""
    found = job(number, "RUNNING", **more)
    found["startedAt"] = int((T0 + since * 60) * 1000)
    found["container"] |= {"logStreamName": found["jobName"], "containerInstanceArn": on_node(node)}
    return found


def on_node(node: str) -> str:
    """A node as ECS names it."""
    return f"arn:aws:ecs:{PLACE}:container-instance/training-spot/{node}"


@dataclass
class DrillWorld(World):
    """`script` has what happens how many seconds after the notice. `now` is in seconds since 1970."""

    now: float = T0 + BEGINS * 60
    instances: list[dict[str, Any]] = field(default_factory=lambda: [instance()])
    tasks: int = 1
    # How many experiments find no node, since the tag is not seen yet.
    blind: int = 0
    failure: str = ""
    refused: dict[str, str] = field(default_factory=dict)
    runs: dict[str, str] = field(default_factory=dict)
    script: list[Step] = field(default_factory=list)
    started_at: float | None = None

    @cached_property
    def clients(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(
            **vars(super().clients),
            fis=answering_client(
                "fis",
                {
                    "StartExperiment": self._start_experiment,
                    "GetExperiment": self._experiment,
                    "ListExperimentResolvedTargets": self._resolved,
                },
            ),
            ec2=answering_client(
                "ec2",
                {
                    "DescribeInstances": self._instances,
                    "CreateTags": self._create_tags,
                    "DeleteTags": self._delete_tags,
                },
            ),
            ecs=answering_client("ecs", {"DescribeContainerInstances": self._container_instances}),
        )

    @property
    def notice(self) -> float:
        assert self.started_at is not None
        return self.started_at + NOTICE_DELAY_SECONDS

    def sleep(self, seconds: float) -> None:
        """Time passes, and what the script has for it happens, each at its own time."""
        until = self.now + seconds
        while self.started_at is not None and self.script and self.notice + self.script[0][0] <= until:
            after, happens = self.script.pop(0)
            self.now = self.notice + after
            happens()
        self.now = until

    def write(self, line: str, stream: str = "run-1-1") -> None:
        """A line of a container's log, at this moment."""
        logs: dict[str, Any] = dict(self.logs)
        logs[stream] = [*logs.get(stream, ()), ((self.now - T0) / 60, line)]
        self.logs = logs

    def end_attempt(self, reason: str, code: int | None = None, status: str = "RUNNABLE") -> None:
        """The newest attempt of the run is over."""
        old = self.jobs[-1]
        began = (old["startedAt"] / 1000 - T0) / 60
        over = attempt(began, (self.now - T0) / 60, reason, code, old["container"]["logStreamName"])
        over["container"]["containerInstanceArn"] = old["container"]["containerInstanceArn"]
        old["attempts"].append(over)
        old["status"] = status

    def next_attempt(self, stream: str = "run-1-2", node: str = OTHER_NODE) -> None:
        """The same job runs again, on another node."""
        again = self.jobs[-1]
        again["status"], again["startedAt"] = "RUNNING", int(self.now * 1000)
        again["container"] |= {"logStreamName": stream, "containerInstanceArn": on_node(node)}

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """The command's exit code, standard output and standard error."""
        out, err = io.StringIO(), io.StringIO()
        with (
            patch.object(command, "connect", lambda stack, profile: (DRILL, STACK, self.clients)),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                code = command.main(
                    ["--stack", "staging", *arguments], sleep=self.sleep, clock=lambda: self.now
                )
            except KeyboardInterrupt:
                code = INTERRUPTED
        return code, out.getvalue(), err.getvalue()

    def tags_of(self, instance_id: str) -> dict[str, str]:
        (found,) = (one for one in self.instances if one["InstanceId"] == instance_id)
        return {tag["Key"]: tag["Value"] for tag in found["Tags"]}

    def _list(self, **asked: Any) -> dict[str, Any]:
        runs = self.runs or {"run-1": self.status}
        return {"executions": [self._named(name, status) for name, status in runs.items()]}

    def _describe(self, executionArn: str) -> dict[str, Any]:
        self._may("DescribeExecution")
        name = executionArn.rpartition(":")[2]
        runs = self.runs or {"run-1": self.status}
        if name not in runs:
            raise refusal("ExecutionDoesNotExist")
        return {**self._named(name, runs[name]), **self.execution}

    def _named(self, name: str, status: str) -> dict[str, Any]:
        return {
            "executionArn": STACK.execution_arn(name),
            "stateMachineArn": STACK.state_machine_arn,
            "name": name,
            "status": status,
            "startDate": START,
        }

    def _log(self, logGroupName: str, logStreamName: str, **rest: Any) -> dict[str, Any]:
        if rest.get("startFromHead", True):
            return super()._log(logGroupName, logStreamName, **rest)
        if logStreamName not in self.logs:
            raise refusal("ResourceNotFoundException")
        newest = self.logs[logStreamName][-rest["limit"] :]
        return {"events": [{"timestamp": int((T0 + at * 60) * 1000), "message": line} for at, line in newest]}

    def _may(self, operation: str) -> None:
        """Refuses an operation as often as its error is given in `refused`, as in `ThrottlingException*3`."""
        code, _, times = self.refused.get(operation, "").partition("*")
        if not code:
            return
        if times:
            left = int(times) - 1
            self.refused[operation] = f"{code}*{left}" if left else ""
        raise refusal(code)

    def _start_experiment(self, **asked: Any) -> dict[str, Any]:
        self._may("StartExperiment")
        self.calls.append(("StartExperiment", asked))
        self.started_at = self.now
        return {"experiment": {"id": f"EXP{len(self.asked('StartExperiment'))}"}}

    def _experiment(self, id: str) -> dict[str, Any]:
        assert id == f"EXP{len(self.asked('StartExperiment'))}", "another experiment is looked at"
        if self.blind >= len(self.asked("StartExperiment")):
            return self._failed("Target resolution returned empty set", "pending")
        if self.failure:
            return self._failed(self.failure, "failed")
        status = "running" if self.now >= self.notice else "initiating"
        action = {"state": {"status": status}}
        if status == "running":
            action["startTime"] = datetime.fromtimestamp(self.notice, UTC)
        return {"experiment": {"id": id, "state": {"status": "running"}, "actions": {"interrupt": action}}}

    def _failed(self, reason: str, action: str) -> dict[str, Any]:
        state = {"status": "failed", "reason": reason}
        return {"experiment": {"state": state, "actions": {"interrupt": {"state": {"status": action}}}}}

    def _resolved(self, experimentId: str) -> dict[str, Any]:
        found = self.blind < len(self.asked("StartExperiment"))
        return {"resolvedTargets": [{"targetName": "marked-node"}] if found else []}

    def _instances(
        self, InstanceIds: Sequence[str] = (), Filters: Sequence[Any] = (), **rest: Any
    ) -> dict[str, Any]:
        wanted = {item["Name"].removeprefix("tag:"): item["Values"] for item in Filters}
        states = wanted.pop("instance-state-name", None)
        found = [
            one
            for one in self.instances
            if (not InstanceIds or one["InstanceId"] in InstanceIds)
            and (states is None or one["State"]["Name"] in states)
            and all(self.tags_of(one["InstanceId"]).get(key) in values for key, values in wanted.items())
        ]
        return {"Reservations": [{"Instances": [one]} for one in found]}

    def _create_tags(self, Resources: list[str], Tags: list[Any]) -> None:
        self._may("CreateTags")
        for one in self.instances:
            if one["InstanceId"] in Resources:
                one["Tags"] = [*one["Tags"], *Tags]

    def _delete_tags(self, Resources: list[str], Tags: list[Any]) -> None:
        self._may("DeleteTags")
        for one in self.instances:
            if one["InstanceId"] in Resources:
                one["Tags"] = [tag for tag in one["Tags"] if tag not in Tags]

    def _container_instances(self, cluster: str, containerInstances: list[str]) -> dict[str, Any]:
        assert cluster == "training-spot", "ECS finds a container instance in its own cluster alone"
        (arn,) = containerInstances
        found = {"ec2InstanceId": arn.rpartition("/")[2], "runningTasksCount": self.tasks}
        return {"containerInstances": [found]}
