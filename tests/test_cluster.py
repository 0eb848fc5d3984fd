import json
from typing import Any

import pytest

from gpu_workloads import DLAMI_FLEET, ECS_FLEET, record_fleets, record_workloads
from ops.capture.recording import Recording

CLUSTER = "aws:ecs/cluster:Cluster"
CAPACITY = "aws:ecs/clusterCapacityProviders:ClusterCapacityProviders"


def setting(recording: Recording) -> dict[str, Any]:
    return recording.one(CLUSTER).inputs["settings"]


@pytest.mark.parametrize(("suffix", "name"), [("", "ai-cluster"), ("dev", "ai-cluster-dev")])
def test_people_can_type_the_clusters_name_and_two_stacks_share_an_account(suffix: str, name: str) -> None:
    recording = record_workloads({"nameSuffix": suffix})

    assert recording.one(CLUSTER).inputs["name"] == name, "commands with the typed name would find no cluster"
    assert recording.one(CAPACITY).inputs["clusterName"] == name, "another cluster would get the capacity"


@pytest.mark.parametrize(("switch", "value"), [(False, "disabled"), (True, "enabled")])
def test_container_insights_is_said_in_both_cases(switch: bool, value: str) -> None:
    recording = record_workloads({"containerInsights": switch})

    assert setting(recording) == [{"name": "containerInsights", "value": value}], (
        "the account's default would decide, and metrics would be paid for or missing"
    )


def test_tasks_that_name_no_capacity_run_on_fargate() -> None:
    capacity = record_workloads({}).one(CAPACITY).inputs

    assert capacity["capacityProviders"] == ["FARGATE", "FARGATE_SPOT"], "the RAG service could not be placed"
    assert capacity["defaultCapacityProviderStrategies"] == [{"capacityProvider": "FARGATE", "weight": 1}], (
        "a task would wait for a node that never comes"
    )


def test_the_fleets_of_ecs_images_are_capacity_of_the_cluster_and_others_are_not() -> None:
    recording = record_fleets(DLAMI_FLEET, ECS_FLEET, {**ECS_FLEET, "name": "second"})
    providers = recording.of_type("aws:ecs/capacityProvider:CapacityProvider")

    assert [item.name for item in providers] == ["gpu-second-provider", "gpu-serving-provider"]
    assert recording.one(CAPACITY).inputs["capacityProviders"] == [
        "FARGATE", "FARGATE_SPOT", *(item.outputs["name"] for item in reversed(providers)),
    ], "tasks that ask for a fleet would be refused"  # fmt: skip


def test_the_cluster_registers_what_an_operator_types() -> None:
    recording = record_workloads({})
    outputs = recording.registered_outputs[recording.one("aiplatform:index:Cluster").urn]

    assert outputs["cluster_name"] == "ai-cluster-dev"
    assert outputs["cluster_arn"] == recording.one(CLUSTER).outputs["arn"], json.dumps(dict(outputs))
