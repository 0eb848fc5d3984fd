"""The training runs that are under way, each with its attempts, and whether AWS Batch can start nodes for them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from ops.status.sections import Area, Deployed, Line, Part, absent, judged, ok, unhealthy
from ops.train.runs import Run, read_run
from ops.train.stack import OUTPUT, Clients, TrainingStack, training_stack
from ops.train.view import headline

MOST_RUNS = 10
ACTIONS = (
    "states:ListExecutions",
    "states:DescribeExecution",
    "batch:ListJobs",
    "batch:DescribeJobs",
    "batch:DescribeJobQueues",
    "batch:DescribeComputeEnvironments",
)


@dataclass(frozen=True)
class _Clients:
    """What `ops.train` asks through."""

    step_functions: Any
    batch: Any


def area() -> Area:
    return Area(title="Training", actions=ACTIONS, read=_read)


def _read(deployed: Deployed) -> Iterator[Line | Part]:
    if not deployed.has(OUTPUT):
        yield absent("no training jobs in this stack")
        return
    stack = training_stack(deployed.outputs)
    clients = cast(Clients, _Clients(deployed.client("stepfunctions"), deployed.client("batch")))
    yield Part(lambda: _queues(deployed, stack))
    yield Part(lambda: _runs(deployed, stack, clients))


def _runs(deployed: Deployed, stack: TrainingStack, clients: Clients) -> Iterator[Line | Part]:
    answer = clients.step_functions.list_executions(
        stateMachineArn=stack.state_machine_arn, statusFilter="RUNNING", maxResults=MOST_RUNS
    )
    found = answer["executions"]
    if not found:
        yield ok("no run is under way", runs=0)
    for execution in found:
        yield Part(partial(_run, deployed, stack, clients, execution["name"]))
    if answer.get("nextToken"):
        yield ok(f"more than {MOST_RUNS} runs: python -m ops train list --stack {deployed.outputs.stack}")


def _run(deployed: Deployed, stack: TrainingStack, clients: Clients, name: str) -> Iterator[Line]:
    run = read_run(clients, stack, name)
    text = f"{headline(run, deployed.now.timestamp())}{_losses(run)}"
    yield ok(text, run=run.name, interruptions=_interrupted(run))


def _losses(run: Run) -> str:
    count = _interrupted(run)
    times = "once" if count == 1 else f"{count} times"
    return f", interrupted {times} so far" if count else ""


def _interrupted(run: Run) -> int:
    return sum(attempt.outcome.startswith("interrupted") for attempt in run.attempts)


def _queues(deployed: Deployed, stack: TrainingStack) -> Iterator[Line]:
    """A compute environment that AWS Batch calls INVALID starts nothing, and its queue waits for ever."""
    batch = deployed.client("batch")
    queues = batch.describe_job_queues(jobQueues=list(stack.queues))["jobQueues"]
    if len(queues) < len(stack.queues):
        yield unhealthy(f"{len(stack.queues) - len(queues)} job queues are gone. Fix: run `pulumi up`.")
    orders = [order["computeEnvironment"] for queue in queues for order in queue["computeEnvironmentOrder"]]
    environments = batch.describe_compute_environments(computeEnvironments=sorted(set(orders)))
    for environment in environments["computeEnvironments"]:
        name, status = environment["computeEnvironmentName"], environment.get("status", "VALID")
        wanted = environment.get("computeResources", {}).get("desiredvCpus", 0)
        reason = f": {environment.get('statusReason', '')}" if status == "INVALID" else ""
        off = ", disabled" if environment.get("state") == "DISABLED" else ""
        text = f"{name} is {status.lower()}{off}, {wanted} vCPUs now{reason}"
        yield judged(status != "INVALID", text, environment=name, status=status, vcpus=wanted)
