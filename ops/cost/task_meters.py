"""Containers on Fargate: tasks by the hour, their addresses, and the models that they ask."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ops.capture.recording import RecordedResource
from ops.cost.charge import MONTH_HOURS, Charge, Free, Item, Meter, Rates, Unknown

SERVICE = "aws:ecs/service:Service"
TASK_DEFINITION = "aws:ecs/taskDefinition:TaskDefinition"
FARGATE, FARGATE_SPOT = "FARGATE", "FARGATE_SPOT"
INCLUDED_STORAGE_GIB = 20
Hours = tuple[float, float]


def task_limits(service: RecordedResource, rates: Rates) -> tuple[float, float]:
    """The fewest and the most tasks of a service."""
    target = rates.index.scaling_of(service)
    if target:
        return float(target.inputs["minCapacity"]), float(target.inputs["maxCapacity"])
    count = float(service.inputs.get("desiredCount") or 0)
    return count, count


def providers(service: RecordedResource) -> dict[str, tuple[float, float]]:
    """Base and weight of each capacity provider of a service."""
    if service.inputs.get("launchType") == FARGATE:
        return {FARGATE: (0, 1)}
    return {
        item["capacityProvider"]: (float(item.get("base") or 0), float(item.get("weight") or 0))
        for item in service.inputs.get("capacityProviderStrategies") or ()
    }


def split(tasks: float, strategy: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """How many of so many tasks each provider runs: its base first, the rest by weight."""
    bases = sum(base for base, _ in strategy.values())
    weights = sum(weight for _, weight in strategy.values())
    above = max(0.0, tasks - bases)
    below = min(1.0, tasks / bases) if bases else 0.0
    return {
        name: base * below + (above * weight / weights if weights else 0.0)
        for name, (base, weight) in strategy.items()
    }


def service(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    strategy = providers(resource)
    if not strategy:
        yield Unknown("it says no capacity provider, so where its tasks run is the cluster's choice")
        return
    if not {FARGATE, FARGATE_SPOT} & set(strategy):
        yield Free("its tasks run on nodes of a fleet, which are priced there")
        return
    definition = rates.index.with_output(TASK_DEFINITION, "arn", resource.inputs.get("taskDefinition"))
    if definition is None:
        yield Unknown("its task definition is not in the recording")
        return
    hours = _hours(resource, strategy, rates)
    for name, (idle, busy) in hours.items():
        yield from _tasks(definition, name, idle, busy, rates)
    if (resource.inputs.get("networkConfiguration") or {}).get("assignPublicIp"):
        idle, busy = (sum(values) for values in zip(*hours.values(), strict=True))
        yield rates.charge("VPC", "public IPv4 address", idle, busy, "public IPv4 address of the tasks")


def _hours(resource: RecordedResource, strategy: Mapping[str, tuple[float, float]], rates: Rates) -> dict[str, Hours]:  # fmt: skip
    """Task hours of each provider, idle and busy: the fewest tasks, and the most in the peak hours."""
    fewest, most = (split(tasks, strategy) for tasks in task_limits(resource, rates))
    peak = min(rates.usage.peak_hours, MONTH_HOURS)
    return {
        name: (fewest[name] * MONTH_HOURS, fewest[name] * (MONTH_HOURS - peak) + most[name] * peak)
        for name in strategy
    }


def _tasks(definition: RecordedResource, provider: str, idle: float, busy: float, rates: Rates) -> Iterator[Item]:  # fmt: skip
    inputs = definition.inputs
    platform = inputs.get("runtimePlatform") or {}
    kind = "arm64" if platform.get("cpuArchitecture") == "ARM64" else "x86"
    kind = f"spot {kind}" if provider == FARGATE_SPOT else kind
    vcpus, gb = float(inputs["cpu"]) / 1024, float(inputs["memory"]) / 1024
    yield rates.charge("Fargate", f"{kind} vCPU", idle * vcpus, busy * vcpus)
    yield rates.charge("Fargate", f"{kind} memory", idle * gb, busy * gb)
    storage = float((inputs.get("ephemeralStorage") or {}).get("sizeInGib") or 0) - INCLUDED_STORAGE_GIB
    if storage > 0:
        yield rates.charge("Fargate", "storage above 20 GiB", idle * storage, busy * storage)


def task_definition(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    """The tokens of its questions; the tasks themselves are their service's."""
    containers = json.loads(resource.inputs["containerDefinitions"])
    environment = {
        item["name"]: item["value"] for part in containers for item in part.get("environment") or ()
    }
    if "ANSWER_MODEL_ID" in environment:
        yield from question_tokens(environment, rates.usage.api_questions, rates)
    else:
        yield Free("its tasks are priced at their service, and ask no model")


def question_tokens(environment: Mapping[str, Any], questions: float, rates: Rates) -> Iterator[Item]:
    """What the models take for so many questions, by the environment of whoever asks them."""
    usage = rates.usage
    yield from embedding_tokens(environment, questions * usage.question_tokens, rates)
    if environment.get("ANSWER_PROVIDER", "bedrock") != "bedrock":
        yield Unknown(
            "answers come from an API outside of AWS or from a server of our own: no price of tokens"
        )
        return
    model = str(environment["ANSWER_MODEL_ID"])
    prices = rates.prices.tokens(model)
    if prices is None:
        yield Unknown(f"no price of model {model} in lambda_src/rag/prices.py")
        return
    for price, tokens in zip(prices, (usage.context_tokens, usage.answer_tokens), strict=True):
        yield Charge(what=price.what, price=price, idle=0, busy=questions * tokens / 1e6)


def embedding_tokens(environment: Mapping[str, Any], tokens: float, rates: Rates) -> Iterator[Item]:
    model = str(environment["EMBEDDING_MODEL_ID"])
    prices = rates.prices.tokens(model)
    if prices is None:
        yield Unknown(f"no price of model {model} in lambda_src/rag/prices.py")
    else:
        yield Charge(what=prices[0].what, price=prices[0], idle=0, busy=tokens / 1e6)


METERS: dict[str, Meter] = {SERVICE: service, TASK_DEFINITION: task_definition}
