import json
from collections.abc import Callable
from typing import Any

import pytest

from components.config_gpu_rules import IMAGE_VOLUME_GIB
from components.config_values import NODE_IMAGES
from components.machine_images import IMAGE_PARAMETERS, ROOT_DEVICES
from gpu_workloads import (
    DLAMI_FLEET,
    ECS_FLEET,
    TEMPLATE,
    TRAINING,
    build_workloads,
    record_fleets,
    record_workloads,
)
from ops.capture.computed import Computed
from ops.capture.recording import Recording

LOOK_UP = "aws:ssm/getParameter:getParameter"
ENVIRONMENT = "aws:batch/computeEnvironment:ComputeEnvironment"
IMAGE_PATH = "computeResources.ec2Configurations[0].imageIdOverride"
PINNED = "ami-0123456789abcdef0"
NEURON_FLEET = {**ECS_FLEET, "nodeImage": "ecs-neuron", "instanceTypes": ["inf2.xlarge"]}


def looked_up(recording: Recording) -> list[str]:
    return [call.arguments["name"] for call in recording.invokes if call.token == LOOK_UP]


def batch_image(recording: Recording, kind: str) -> Any:
    environment = recording.one(ENVIRONMENT, f"training-capacity-{kind}")
    return environment.inputs["computeResources"]["ec2Configurations"]


def test_every_node_image_is_known_in_every_table() -> None:
    for table in (IMAGE_PARAMETERS, ROOT_DEVICES, IMAGE_VOLUME_GIB):
        assert set(table) == set(NODE_IMAGES), "a fleet of the missing image would end in a traceback"


@pytest.mark.parametrize(
    ("fleet", "parameter", "root_device"),
    [
        (DLAMI_FLEET, "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id", "/dev/sda1"),
        (ECS_FLEET, "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id", "/dev/xvda"),
        (NEURON_FLEET, "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/recommended/image_id", "/dev/xvda"),
    ],
    ids=["dlami", "ecs-gpu", "ecs-neuron"],
)  # fmt: skip
def test_an_image_that_is_not_pinned_is_looked_up_by_its_public_parameter(
    fleet: dict[str, Any], parameter: str, root_device: str
) -> None:
    recording = record_fleets(fleet)
    template = recording.one(TEMPLATE).inputs

    assert looked_up(recording) == [parameter], "AWS publishes no image under another name"
    assert template["imageId"].startswith("ami-")
    mapping = template["blockDeviceMappings"][0]
    assert mapping["deviceName"] == root_device, (
        "the root disk would keep its small size, beside a second one"
    )


def test_the_image_is_taken_from_the_answer_that_is_not_a_secret(register: Callable[..., Recording]) -> None:
    answer = {"value": "ami-secret", "insecureValue": "ami-shown", "type": "String"}
    recording = register(build_workloads, {"gpuFleets": [DLAMI_FLEET]}, Computed(invokes={LOOK_UP: answer}))

    assert recording.one(TEMPLATE).inputs["imageId"] == "ami-shown", (
        "the provider marks the other one as a secret: previews would hide which image nodes start from"
    )


def test_a_pinned_image_is_used_without_a_call_to_aws() -> None:
    recording = record_fleets(DLAMI_FLEET, machineImages={"dlami": PINNED})

    assert recording.one(TEMPLATE).inputs["imageId"] == PINNED, "nodes would start from an image nobody chose"
    assert not looked_up(recording), "a pinned stack would still need the parameter"
    assert not recording.warnings, "the preview would warn about what is done already"


def test_the_preview_says_which_image_is_not_pinned_and_what_pins_it() -> None:
    recording = record_fleets(DLAMI_FLEET, ECS_FLEET, machineImages={"ecs-gpu": PINNED})

    assert recording.warnings == (
        "The machine image dlami is not pinned: the newest one is taken when its nodes are first set up, "
        "and kept from then on. `python -m ops images` pins one in the stack file.",
    ), "an operator would not learn that two stacks may run different images"


def test_a_looked_up_image_never_changes_a_template_by_itself() -> None:
    template = record_fleets(DLAMI_FLEET).one(TEMPLATE)

    assert template.ignore_changes == ("imageId",), (
        "the day AWS publishes an image, an unrelated deployment would replace nodes"
    )


def test_a_new_pinned_image_reaches_the_template() -> None:
    template = record_fleets(DLAMI_FLEET, machineImages={"dlami": PINNED}).one(TEMPLATE)

    assert not template.ignore_changes, "pinning a new image would do nothing, and nobody would be told"


@pytest.mark.parametrize("kind", ["spot", "on-demand"])
def test_training_nodes_start_from_the_gpu_image_of_ecs(kind: str) -> None:
    recording = record_workloads({**TRAINING, "machineImages": {"ecs-gpu": PINNED}})

    image = {"imageType": "ECS_AL2023_NVIDIA", "imageIdOverride": PINNED}
    assert batch_image(recording, kind) == [image], "Batch would take an image of its own choice"
    assert IMAGE_PATH not in recording.one(ENVIRONMENT, f"training-capacity-{kind}").ignore_changes


def test_a_looked_up_image_never_changes_a_compute_environment_by_itself() -> None:
    recording = record_workloads(TRAINING)

    for environment in recording.of_type(ENVIRONMENT):
        assert IMAGE_PATH in environment.ignore_changes, (
            f"a new image of AWS would restart the nodes of {environment.name} under running jobs"
        )
    assert looked_up(recording) == [IMAGE_PARAMETERS["ecs-gpu"]], json.dumps(looked_up(recording))
