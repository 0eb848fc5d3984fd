"""Fleets and training jobs with settings that AWS would ignore or refuse, or that would lose work, are refused."""

from typing import Any

import pytest

from typed_config import FLEET, MULTI_NODE, TRAINING, faults_of, with_fleet

CLUSTER_FLEET = {"purpose": "inference", "nodeImage": "ecs-gpu"}
BLOCK = {"capacityBlockReservationId": "cr-0123456789abcdef0"}

REFUSED_IN_A_FLEET: list[tuple[dict[str, Any], list[str]]] = [
    ({"nodeImage": "ecs-gpu"}, [
        'nodeImage = ecs-gpu: must be dlami for the purpose training. Fix: use dlami, or change purpose.',
    ]),
    ({"purpose": "inference"}, [
        'nodeImage = dlami: must be ecs-gpu or ecs-neuron for the purpose inference. Fix: use ecs-gpu or ecs-neuron, or change purpose.',
    ]),
    ({"checkpointPath": None}, [
        'checkpointPath is not set: training on spot without checkpoints starts over at every interruption and costs more than on-demand. Fix: set it to a folder such as /mnt/shared-data/checkpoints/my-run, or onDemandPercentage to 100.',
    ]),
    ({"minimum": 3}, [
        'minimum = 3: must not be above maximum (2). Fix: lower it, or raise maximum.',
    ]),
    ({"onDemandBase": 3}, [
        'onDemandBase = 3: must not be above maximum (2). Fix: lower it, or raise maximum.',
    ]),
    ({"volumeSizeGib": 50}, [
        'volumeSizeGib = 50: the image dlami needs at least 75 GiB. Fix: use 75 or more.',
    ]),
    ({"extraBootScript": "a\r\nb"}, [
        'extraBootScript = 4 characters of script: the extra boot script holds a carriage return in line 1, which bash cannot take. Fix: remove it, and save files with Unix line ends.',
    ]),
    ({"extraBootScript": "\ud800"}, [
        'extraBootScript = 1 characters of script: the extra boot script holds half of a surrogate pair. Fix: write it as valid UTF-8 text.',
    ]),
    ({"spotPoolCount": 2}, [
        'spotPoolCount = 2: is ignored unless spotAllocationStrategy is lowest-price. Fix: remove it.',
    ]),
    ({"maximumPriceUsd": "1", "onDemandPercentage": 100}, [
        'maximumPriceUsd = 1: is ignored, since no node of this fleet is a spot instance. Fix: remove it, or lower onDemandBase and onDemandPercentage.',
    ]),
    ({"capacityRebalancing": True, "onDemandBase": 2}, [
        'capacityRebalancing = true: is ignored, since no node of this fleet is a spot instance. Fix: remove it, or lower onDemandBase and onDemandPercentage.',
    ]),
    ({"instanceTypes": ["g5.xlarge", "g6.xlarge"], "weights": {"g5.xlarge": 1}}, [
        'weights = {"g5.xlarge": 1}: AWS wants a weight for every type or for none; missing: g6.xlarge. Fix: add the missing weights, or remove weights.',
    ]),
    ({"weights": {"g5.xlarge": 1, "g6.xlarge": 2}}, [
        'weights = {"g5.xlarge": 1, "g6.xlarge": 2}: names types that the fleet does not use: g6.xlarge. Fix: remove them, or add the types to instanceTypes.',
    ]),
    ({"weights": {"g5.xlarge": 4}}, [
        'weights = {"g5.xlarge": 4}: one instance of weight 4 would exceed the fleet\'s maximum (2). Fix: set maximum to 4 or more; with weights it counts weight, not instances.',
    ]),
    ({**CLUSTER_FLEET, "weights": {"g5.xlarge": 9, "g6.xlarge": 1}}, [
        'weights = {"g5.xlarge": 9, "g6.xlarge": 1}: ECS counts the instances of a fleet that it manages, so weights mislead its scaling. Fix: remove weights.',
    ]),
    ({**CLUSTER_FLEET, "idleMinutes": 60}, [
        'idleMinutes = 60: is for dlami nodes, since ECS itself ends nodes without tasks. Fix: remove it.',
    ]),
    ({**BLOCK, "maximumLifeHours": 24}, [
        'maximumLifeHours = 24: saves nothing in a Capacity Block, which is prepaid. Fix: remove it.',
    ]),
    ({"minimum": 1, "idleMinutes": 60, "maximumLifeHours": 24}, [
        'idleMinutes = 60: ends no node while minimum is 1, since the group keeps as many. Fix: set minimum to 0, or remove it.',
        'maximumLifeHours = 24: ends no node while minimum is 1, since the group keeps as many. Fix: set minimum to 0, or remove it.',
    ]),
    ({**CLUSTER_FLEET, "capacityRebalancing": True}, [
        'capacityRebalancing = true: a fleet that ECS manages would lose tasks without draining. Fix: remove it.',
    ]),
    ({**BLOCK, "instanceTypes": ["g5.xlarge", "g6.xlarge"]}, [
        'instanceTypes = g5.xlarge, g6.xlarge: a Capacity Block holds one instance type. Fix: list only the type of the reservation.',
    ]),
    ({**BLOCK, "weights": {"g6.xlarge": 9}, "onDemandBase": 1, "onDemandPercentage": 5}, [
        'weights = {"g6.xlarge": 9}: means nothing for a Capacity Block, which is prepaid. Fix: remove it.',
        'onDemandBase = 1: means nothing for a Capacity Block, which is prepaid. Fix: remove it.',
        'onDemandPercentage = 5: means nothing for a Capacity Block, which is prepaid. Fix: remove it.',
    ]),
    ({**BLOCK, "spotPoolCount": 2, "maximumPriceUsd": "1", "capacityRebalancing": True}, [
        'spotPoolCount = 2: means nothing for a Capacity Block, which is prepaid. Fix: remove it.',
        'maximumPriceUsd = 1: means nothing for a Capacity Block, which is prepaid. Fix: remove it.',
        'capacityRebalancing = true: means nothing for a Capacity Block, which is prepaid. Fix: remove it.',
    ]),
    ({"instanceTypes": ["g5.xlarg"]}, [
        'instanceTypes = g5.xlarg: must be an EC2 instance type with NVIDIA GPUs (Turing or newer), Inferentia or Trainium. Fix: use g5.xlarge if that is what you meant.',
    ]),
]  # fmt: skip

REFUSED_TRAINING: list[tuple[dict[str, Any], list[str]]] = [
    ({"training": True}, [
        'trainingImage is not set: training jobs need a container image. Fix: name one, or set training to false.',
        'trainingInstanceTypes is not set: training jobs need instance types. Fix: list types such as g5.2xlarge, or set training to false.',
    ]),
    ({**TRAINING, "trainingInstanceTypes": ["m5.large"]}, [
        'trainingInstanceTypes = m5.large: must be an EC2 instance type with NVIDIA GPUs (Turing or newer), Inferentia or Trainium. Fix: choose a type of components/accelerators.csv.',
    ]),
    ({**TRAINING, "trainingSpotSubmissions": 5}, [
        'trainingSpotSubmissions = 5: must be below trainingSubmissions (5), or a run would never reach on-demand. Fix: lower it, or raise trainingSubmissions.',
    ]),
    ({**TRAINING, "trainingMaximumVcpus": 4}, [
        'trainingMaximumVcpus = 4: is below the instances of one job (8 vCPUs), so none would ever start. Fix: use 8 or more.',
    ]),
    ({**TRAINING, "trainingJobGpus": 2}, [
        "trainingInstanceTypes = g5.2xlarge: no type holds one job (2 GPUs, 4 vCPUs, 14336 MiB; some memory is the host's own). Fix: list a larger type, or lower trainingJobGpus, trainingJobVcpus or trainingJobMemoryMib.",
    ]),
    ({**TRAINING, "trainingJobVcpus": 9}, [
        "trainingInstanceTypes = g5.2xlarge: no type holds one job (1 GPUs, 9 vCPUs, 14336 MiB; some memory is the host's own). Fix: list a larger type, or lower trainingJobGpus, trainingJobVcpus or trainingJobMemoryMib.",
    ]),
    ({**TRAINING, "trainingJobMemoryMib": 31_130}, [
        "trainingInstanceTypes = g5.2xlarge: no type holds one job (1 GPUs, 4 vCPUs, 31130 MiB; some memory is the host's own). Fix: list a larger type, or lower trainingJobGpus, trainingJobVcpus or trainingJobMemoryMib.",
    ]),
    ({**TRAINING, "trainingNodes": 2}, [
        'trainingInstanceTypes = g5.2xlarge: has no EFA, so a multi-node job would wait for its network. Fix: list a type with EFA such as p4d.24xlarge, or set trainingNodes to 1.',
    ]),
    ({**MULTI_NODE, "trainingInstanceTypes": ["g5.8xlarge", "g5.16xlarge"], "trainingJobGpus": 1}, [
        'trainingInstanceTypes = g5.8xlarge, g5.16xlarge: must be one type when trainingNodes is above 1, since all nodes of a job are alike. Fix: list one type, or set trainingNodes to 1.',
    ]),
    ({**MULTI_NODE, "trainingMaximumVcpus": 96}, [
        'trainingMaximumVcpus = 96: is below the instances of one job (192 vCPUs), so none would ever start. Fix: use 192 or more.',
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "messages"), REFUSED_IN_A_FLEET, ids=range(len(REFUSED_IN_A_FLEET)))
def test_a_fleet_that_would_not_do_what_it_says_is_refused(
    changes: dict[str, Any], messages: list[str]
) -> None:
    assert faults_of(with_fleet(**changes)) == [f"gpuFleets[0].{message}" for message in messages]


@pytest.mark.parametrize(("changes", "messages"), REFUSED_TRAINING, ids=range(len(REFUSED_TRAINING)))
def test_training_that_would_never_start_is_refused(changes: dict[str, Any], messages: list[str]) -> None:
    assert faults_of(changes) == messages


@pytest.mark.parametrize(
    "changes",
    [
        {"checkpointPath": None, "onDemandPercentage": 100},
        {"checkpointPath": None, "onDemandBase": 2},
        {"checkpointPath": None, **BLOCK},
        {"idleMinutes": 60, "maximumLifeHours": 24},
        {"spotAllocationStrategy": "lowest-price", "spotPoolCount": 2},
        {"weights": {"g5.xlarge": 2}, "capacityRebalancing": True, "maximumPriceUsd": "0.5"},
        {
            **CLUSTER_FLEET,
            "instanceTypes": ["g5.xlarge", "g5.2xlarge", "g6.xlarge"],
            "minimum": 2,
            "volumeSizeGib": 30,
        },
        {"purpose": "inference", "nodeImage": "ecs-neuron", "instanceTypes": ["inf2.xlarge"]},
        {"extraBootScript": "line one\nline two"},
    ],
)
def test_a_fleet_that_works_is_not_refused(changes: dict[str, Any]) -> None:
    assert faults_of(with_fleet(**changes)) == []


@pytest.mark.parametrize(
    "changes", [TRAINING, MULTI_NODE, {**TRAINING, "training": False, "trainingInstanceTypes": ["m5.large"]}]
)
def test_training_that_works_or_is_left_out_is_not_refused(changes: dict[str, Any]) -> None:
    assert faults_of(changes) == []


def test_a_boot_script_that_ec2_would_refuse_is_refused_with_the_bytes_to_save() -> None:
    (message,) = faults_of(with_fleet(extraBootScript="x" * 17_000))
    start = (
        "gpuFleets[0].extraBootScript = 17,000 characters of script: the user data of boot script 'dlami' is "
    )
    assert message.startswith(start), "the node would never be launched"
    assert "EC2 takes fewer than 16,384" in message
    assert ". Fix: shorten the extra boot script by at least " in message
    assert "xxx" not in message


def test_a_name_that_two_fleets_share_is_told_at_the_second() -> None:
    assert faults_of({"gpuFleets": [FLEET, {**FLEET, "name": "other"}, FLEET]}) == [
        "gpuFleets[2].name = nodes: is used by two fleets. Fix: give each fleet its own name."
    ]


def test_a_fleet_of_types_with_unequal_memory_is_refused() -> None:
    (message,) = faults_of(with_fleet(instanceTypes=["g5.xlarge", "g4dn.xlarge"]))
    assert message.startswith(
        "gpuFleets[0].instanceTypes = g5.xlarge, g4dn.xlarge: must have equal memory per accelerator"
    )
