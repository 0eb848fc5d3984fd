"""Which node a drill interrupts: that of the live attempt of one run on spot, once it has saved something."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ops.aws_calls import told
from ops.drill.place import Drill, DrillClients, DrillRefused
from ops.drill.said import Kind, of_kind, said
from ops.train.runs import Attempt, Run, read_run, read_runs
from ops.train.stack import Clients, TrainingStack
from ops.train.view import headline

MOST_RUNS = 100


@dataclass(frozen=True, kw_only=True)
class Node:
    """`tasks` counts the jobs on it."""

    instance_id: str
    instance_type: str
    zone: str
    tasks: int


def find_run(clients: Clients, stack: TrainingStack, name: str | None, now: float) -> Run:
    """The run of that name, or the only one that is live on spot. DrillRefused says what to do where there is none."""
    if name:
        run = read_run(clients, stack, name)
        if not live_attempt(run):
            raise DrillRefused(
                f"{headline(run, now)}. Only an attempt that runs on spot can be interrupted. Fix: wait for one, or name "
                "another run with --run."
            )
        return run
    going = [run.name for run in read_runs(clients, stack, MOST_RUNS) if not run.is_over]
    runs = [read_run(clients, stack, going_on) for going_on in going]
    live = [run for run in runs if live_attempt(run)]
    if len(live) > 1:
        names = ", ".join(run.name for run in live)
        raise DrillRefused(f"Several runs are live on spot: {names}. Fix: name one with --run.")
    if not live:
        others = "".join(f" {headline(run, now)}." for run in runs)
        raise DrillRefused(
            f"No run is live on spot.{others} Fix: start one with `python -m ops train run`, or wait until it runs on spot."
        )
    return live[0]


def live_attempt(run: Run) -> Attempt | None:
    """The newest attempt that runs on spot now."""
    live = [attempt for attempt in run.attempts if attempt.stopped is None and attempt.capacity == "spot"]
    return max(live, key=lambda attempt: attempt.started, default=None)


def last_safe_step(clients: Clients, run: Run) -> tuple[float, int] | None:
    """When which step was saved, or taken up again; None where the run would begin anew."""
    for attempt in sorted(run.attempts, key=lambda one: -one.started):
        safe = of_kind(said(clients, attempt), Kind.SAFE, Kind.RESUMED)
        if safe:
            return safe[-1].at, safe[-1].step
    return None


def node_of(clients: DrillClients, drill: Drill, attempt: Attempt) -> Node:
    """The attempt's node; DrillRefused where the experiment could not take it, or another drill is under way."""
    if not attempt.node:
        raise DrillRefused(
            f"AWS Batch does not tell the node of the job {attempt.job_id} yet. Fix: try again."
        )
    cluster = attempt.node.split(":container-instance/")[1].split("/")[0]
    with told("finding the node"):
        (container_instance,) = clients.ecs.describe_container_instances(
            cluster=cluster, containerInstances=[attempt.node]
        )["containerInstances"]
        instance_id = container_instance["ec2InstanceId"]
        found = clients.ec2.describe_instances(InstanceIds=[instance_id])["Reservations"]
    (instance,) = (one for reservation in found for one in reservation["Instances"])
    _check(instance, drill)
    _check_no_other_drill(clients, drill)
    return Node(
        instance_id=instance_id,
        instance_type=instance["InstanceType"],
        zone=instance["Placement"]["AvailabilityZone"],
        tasks=container_instance["runningTasksCount"],
    )


def mark(clients: DrillClients, drill: Drill, node: Node) -> None:
    """Makes the node the one that the experiment finds."""
    with told(f"tagging the node {node.instance_id}"):
        clients.ec2.create_tags(Resources=[node.instance_id], Tags=_tags(drill.mark))


def unmark(clients: DrillClients, drill: Drill, node: Node) -> None:
    """Without it the next drill would be refused."""
    with told(f"removing the tag of the node {node.instance_id}"):
        clients.ec2.delete_tags(Resources=[node.instance_id], Tags=_tags(drill.mark))


def _check(instance: Mapping[str, Any], drill: Drill) -> None:
    instance_id, state = instance["InstanceId"], instance["State"]["Name"]
    if instance.get("InstanceLifecycle") != "spot" or state != "running":
        kind = instance.get("InstanceLifecycle", "on-demand")
        raise DrillRefused(f"The node {instance_id} is {kind} and {state}, not a running spot instance.")
    tags = {tag["Key"]: tag["Value"] for tag in instance.get("Tags", ())}
    missing = [f"{key}={value}" for key, value in drill.node_tags.items() if tags.get(key) != value]
    if missing:
        raise DrillRefused(
            f"The node {instance_id} lacks the tags {', '.join(missing)}, so the experiment may not take it: it was started "
            "before they were set. Fix: run the drill on a node that starts after `pulumi up`."
        )


def _check_no_other_drill(clients: DrillClients, drill: Drill) -> None:
    filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in drill.mark.items()]
    with told("looking for another drill"):
        pages = clients.ec2.get_paginator("describe_instances").paginate(
            Filters=[*filters, {"Name": "instance-state-name", "Values": ["pending", "running"]}]
        )
        marked = [
            instance["InstanceId"]
            for page in pages
            for reservation in page["Reservations"]
            for instance in reservation["Instances"]
        ]
    if marked:
        key = ", ".join(drill.mark)
        raise DrillRefused(
            f"Another drill is under way on {', '.join(marked)}, or broke off there. Fix: wait until that node is gone, or "
            f"remove its tag {key}."
        )


def _tags(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
