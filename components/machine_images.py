"""The machine images of GPU nodes: where AWS publishes the newest one, and which one a stack uses."""

import pulumi
import pulumi_aws as aws

from components.config_gpu_sections import MachineImages

# Public SSM parameters, under the same path in every region; each holds the id of the newest image.
# https://docs.aws.amazon.com/dlami/latest/devguide/find-dlami-id.html
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/retrieve-ecs-optimized_AMI.html
IMAGE_PARAMETERS = {
    "dlami": "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id",
    "ecs-gpu": "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id",
    "ecs-neuron": "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/recommended/image_id",
}
# A disk mapped under another name would be a second, empty one beside the image's own root disk.
ROOT_DEVICES = {"dlami": "/dev/sda1", "ecs-gpu": "/dev/xvda", "ecs-neuron": "/dev/xvda"}


def image_id(node_image: str, images: MachineImages, parent: pulumi.Resource) -> pulumi.Input[str]:
    """The pinned image of `node_image`, or else the newest, with a warning that it is not pinned.

    What a new pinned id does: the launch template gets a new version, and its group starts new nodes from it.
    Running nodes stay as they are; only an instance refresh replaces them. A looked-up id differs from one run to
    the next, so its user passes `image_changes_ignored`, and the image found first is kept.
    """
    if node_image in images.pinned:
        return images.pinned[node_image]
    pulumi.log.warn(
        f"The machine image {node_image} is not pinned: the newest one is taken when its nodes are first set up, "
        "and kept from then on. `python -m ops images` pins one in the stack file."
    )
    parameter = aws.ssm.get_parameter_output(
        name=IMAGE_PARAMETERS[node_image], opts=pulumi.InvokeOutputOptions(parent=parent)
    )
    # `value` is treated as a secret, and would hide the id in every preview.
    return parameter.insecure_value


def image_changes_ignored(node_image: str, images: MachineImages, path: str) -> list[str]:
    """What a resource that holds the image at `path` must ignore, so that no look-up changes it by itself."""
    return [] if node_image in images.pinned else [path]
