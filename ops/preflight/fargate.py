"""Whether Fargate lets the services of a stack grow to their most tasks, and replace them in a deployment."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ops.capture.recording import RecordedResource
from ops.preflight.account import Account
from ops.preflight.checks import Check
from ops.preflight.findings import Finding, Status, amount
from ops.preflight.quota_codes import FARGATE_ON_DEMAND, FARGATE_SPOT
from ops.preflight.quota_increases import remedy
from ops.preflight.quotas import READ_QUOTA, Demand, limit_finding, read_quota
from ops.preflight.stack import Stack, resource_id

SERVICE = "aws:ecs/service:Service"
TASK_DEFINITION = "aws:ecs/taskDefinition:TaskDefinition"
SCALING_TARGET = "aws:appautoscaling/target:Target"
CLUSTER = "aws:ecs/cluster:Cluster"
QUOTAS = {"FARGATE": FARGATE_ON_DEMAND, "FARGATE_SPOT": FARGATE_SPOT}
CPU_UNITS_PER_VCPU = 1024
# What a service may have during a deployment where it says nothing else.
# https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DeploymentConfiguration.html
MAXIMUM_PERCENT = 200
# https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DescribeTasks.html
MOST_TASKS = 100
READ_TASKS = ("ecs:ListClusters", "ecs:ListTasks", "ecs:DescribeTasks")


@dataclass(frozen=True, kw_only=True)
class FargateDemand:
    """The tasks of one service on one capacity provider, and more of them while a deployment replaces them."""

    name: str
    provider: str
    tasks: int
    vcpus_per_task: float
    deployment_tasks: int

    @property
    def vcpus(self) -> float:
        return self.tasks * self.vcpus_per_task


def checks(stack: Stack) -> list[Check]:
    """One check for each capacity provider that a service uses."""
    demands = [demand for service in stack.of_type(SERVICE) for demand in _demands(stack, service)]
    used = {provider: [demand for demand in demands if demand.provider == provider] for provider in QUOTAS}
    return [_check(stack, provider, wanted) for provider, wanted in used.items() if wanted]


def _demands(stack: Stack, service: RecordedResource) -> Iterator[FargateDemand]:
    definitions = {item.outputs["arn"]: item for item in stack.of_type(TASK_DEFINITION)}
    percent = service.inputs.get("deploymentMaximumPercent") or MAXIMUM_PERCENT
    for provider, count in _split(_strategies(service), _most_tasks(stack, service)).items():
        if provider in QUOTAS:
            definition = definitions[service.inputs["taskDefinition"]]
            yield FargateDemand(
                name=service.name,
                provider=provider,
                tasks=count,
                vcpus_per_task=int(definition.inputs["cpu"]) / CPU_UNITS_PER_VCPU,
                deployment_tasks=math.ceil(count * percent / 100),
            )


def _strategies(service: RecordedResource) -> Any:
    """The capacity providers of a service; a launch type stands for the provider of its name."""
    only = [{"capacityProvider": service.inputs.get("launchType", "EC2"), "weight": 1}]
    return service.inputs.get("capacityProviderStrategies") or only


def _most_tasks(stack: Stack, service: RecordedResource) -> int:
    """The most that scaling may start, or the fixed number of a service that does not scale."""
    targets = [
        int(target.inputs["maxCapacity"])
        for target in stack.of_type(SCALING_TARGET)
        if str(target.inputs["resourceId"]).rpartition("/")[2] == service.outputs["name"]
    ]
    return max([*targets, int(service.inputs.get("desiredCount") or 0)])


def _split(strategies: Any, tasks: int) -> dict[str, int]:
    """The most tasks of each provider: its base, and its part of the rest by weight, rounded up."""
    bases = {item["capacityProvider"]: min(int(item.get("base") or 0), tasks) for item in strategies}
    weights = {item["capacityProvider"]: int(item.get("weight") or 0) for item in strategies}
    rest, total = tasks - sum(bases.values()), sum(weights.values())
    shares = {name: bases[name] + (math.ceil(rest * weights[name] / total) if total else 0) for name in bases}
    return {name: count for name, count in shares.items() if count > 0}


def _check(stack: Stack, provider: str, wanted: list[FargateDemand]) -> Check:
    code = QUOTAS[provider]
    what = f"Fargate vCPUs ({code.name})"
    source = " and ".join(
        f"{demand.name} ({demand.tasks} tasks of {amount(demand.vcpus_per_task)} vCPUs)" for demand in wanted
    )
    own = {resource_id(cluster) for cluster in stack.of_type(CLUSTER)}

    def ask(account: Account) -> Iterator[Finding]:
        used = vcpus_in_use(account, own, provider)
        added = sum(demand.vcpus for demand in wanted)
        finding = limit_finding(account, code, Demand(what=what, added=added, used=used, source=source))
        if finding.status is Status.PASSED:
            finding = _in_deployment(account, finding, wanted, provider, used)
        yield finding

    return Check(what=what, ask=ask, actions=(*READ_QUOTA, *READ_TASKS))


def _in_deployment(
    account: Account, finding: Finding, wanted: list[FargateDemand], provider: str, used: float
) -> Finding:
    """A warning where the most tasks fit, but not the new ones beside the old ones."""
    quota = read_quota(account, QUOTAS[provider])
    needed = used + sum(demand.deployment_tasks * demand.vcpus_per_task for demand in wanted)
    if quota.value >= needed:
        return finding
    note, fix = remedy(account, quota.code, needed)
    return Finding(
        status=Status.WARNING,
        what=finding.what,
        needed=f"{finding.needed}, and {amount(needed)} during a deployment at the most tasks",
        found=finding.found,
        quota=finding.quota,
        detail=f"{finding.detail} {note}".rstrip(),
        fix=fix,
    )


def vcpus_in_use(account: Account, own_clusters: set[str], provider: str) -> float:
    """The vCPUs of the tasks in all other clusters. The stack's own are in its maximum already."""
    tasks = account.once("tasks", lambda: _tasks(account, own_clusters))
    return sum(
        int(task["cpu"]) / CPU_UNITS_PER_VCPU for task in tasks.values() if _provider(task) == provider
    )


def _provider(task: Any) -> str:
    """A task that names no capacity provider was started by its launch type: FARGATE, or EC2, which has no limit here."""
    return str(task.get("capacityProviderName") or task.get("launchType"))


def _tasks(account: Account, own_clusters: set[str]) -> Mapping[str, Any]:
    """Every task outside the stack's clusters, by its ARN."""
    found: dict[str, Any] = {}
    clusters = set(account.listed("ecs", "list_clusters", "clusterArns"))
    for cluster in sorted(arn for arn in clusters if arn.rpartition("/")[2] not in own_clusters):
        arns = list(account.listed("ecs", "list_tasks", "taskArns", {"cluster": cluster}))
        for start in range(0, len(arns), MOST_TASKS):
            some = arns[start : start + MOST_TASKS]
            answer = account.client("ecs").describe_tasks(cluster=cluster, tasks=some)
            found |= {task["taskArn"]: task for task in answer.get("tasks", ())}
    return found
