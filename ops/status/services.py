"""The services on ECS: their tasks, what the balancer says of them, and whether the last deployment was rolled back."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ops.preflight.account import UnansweredError
from ops.status.sections import NOT_THERE, Area, Deployed, Line, Part, absent, judged, ok, unhealthy

ACTIONS = ("ecs:DescribeServices", "ecs:ListServiceDeployments", "elasticloadbalancing:DescribeTargetHealth")
STOPPED = ("STOP_REQUESTED", "STOPPED")
ROLLED_BACK = ("ROLLBACK_REQUESTED", "ROLLBACK_IN_PROGRESS", "ROLLBACK_SUCCESSFUL", "ROLLBACK_FAILED")


def area(title: str, *, output: str, there_with: str) -> Area:
    """The service whose name is `output`; the stack has it when it has the output `there_with`."""
    return Area(title=title, actions=ACTIONS, read=_reader(output, there_with))


def _reader(output: str, there_with: str) -> Callable[[Deployed], Iterable[Line | Part]]:
    def read(deployed: Deployed) -> Iterator[Line | Part]:
        if not deployed.has(output) and not deployed.has(there_with):
            yield absent(NOT_THERE)
            return
        cluster, name = deployed.outputs.text("cluster"), deployed.outputs.text(output)
        yield Part(lambda: _service(deployed, cluster, name))
        yield Part(lambda: _last_deployment(deployed, cluster, name))

    return read


def _service(deployed: Deployed, cluster: str, name: str) -> Iterator[Line]:
    service = _described(deployed, cluster, name)
    yield _tasks(service)
    yield from _rollout(service)
    yield from _targets(deployed, service)


def _described(deployed: Deployed, cluster: str, name: str) -> Any:
    answer = deployed.client("ecs").describe_services(cluster=cluster, services=[name])
    found = answer.get("services", ())
    if not found:
        why = ", ".join(item.get("reason", "") for item in answer.get("failures", ())) or "no reason given"
        raise UnansweredError(f"ECS has no service {name} in {cluster} ({why}). Fix: run `pulumi up`")
    return found[0]


def _tasks(service: Any) -> Line:
    running, wanted = service.get("runningCount", 0), service.get("desiredCount", 0)
    pending = service.get("pendingCount", 0)
    status = service.get("status", "")
    text = f"{running} of {wanted} tasks running{f', {pending} starting' if pending else ''}"
    if status != "ACTIVE":
        text += f"; the service is {status or 'of no known status'}"
    if running < wanted:
        text += _latest_event(service)
    good = status == "ACTIVE" and running >= wanted
    return judged(good, text, running=running, desired=wanted, pending=pending, status=status)


def _latest_event(service: Any) -> str:
    """ECS tells the newest first."""
    return next((f"; last: {event['message']}" for event in service.get("events", ())), "")


def _rollout(service: Any) -> Iterator[Line]:
    """One line for each deployment that is not simply the one that runs."""
    for deployment in service.get("deployments", ()):
        state, reason = deployment.get("rolloutState", ""), deployment.get("rolloutStateReason", "")
        revision = str(deployment.get("taskDefinition", "")).rpartition("/")[2]
        if state == "FAILED":
            yield unhealthy(f"the deployment of {revision} failed: {reason}", rollout=state)
        elif state == "IN_PROGRESS":
            failed = deployment.get("failedTasks", 0)
            words = f"{revision} is being deployed{f', {failed} tasks failed' if failed else ''}"
            yield judged(not failed, words, rollout=state, failed_tasks=failed)


def _last_deployment(deployed: Deployed, cluster: str, name: str) -> Iterator[Line]:
    """Whether what runs is what was deployed last: ECS keeps the rolled-back deployment in its list."""
    asked = {"cluster": cluster, "service": name}
    told = deployed.account.listed("ecs", "list_service_deployments", "serviceDeployments", asked)
    found = sorted(told, key=lambda item: item["createdAt"])
    if not found:
        return
    last = found[-1]
    status, at = last["status"], f"{last['createdAt']:%Y-%m-%d %H:%M}"
    reason = f": {last['statusReason']}" if last.get("statusReason") else ""
    if status in STOPPED:
        yield unhealthy(
            f"the deployment of {at} was stopped before it was complete{reason}", deployment=status
        )
    elif status in ROLLED_BACK:
        yield unhealthy(f"the deployment of {at} was rolled back ({status}){reason}", deployment=status)
    else:
        yield ok(f"last deployment {at}, {status.lower().replace('_', ' ')}", deployment=status)


def _targets(deployed: Deployed, service: Any) -> Iterator[Line]:
    """Targets that come or go are neither healthy nor a fault."""
    for group in [
        item["targetGroupArn"] for item in service.get("loadBalancers", ()) if "targetGroupArn" in item
    ]:
        answer = deployed.client("elbv2").describe_target_health(TargetGroupArn=group)
        states = [item["TargetHealth"] for item in answer.get("TargetHealthDescriptions", ())]
        healthy = sum(state["State"] == "healthy" for state in states)
        bad = [state for state in states if state["State"] in ("unhealthy", "unavailable")]
        why = f": {bad[0].get('Description') or bad[0].get('Reason', '')}" if bad else ""
        good = not bad and (healthy > 0 or not service.get("desiredCount"))
        yield judged(
            good, f"{healthy} of {len(states)} targets healthy{why}", healthy=healthy, targets=len(states)
        )
