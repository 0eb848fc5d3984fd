"""What AWS says of machine images: the newest ids, and each image's description."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ops.aws_calls import is_denied, told


class ImageLookupError(Exception):
    """AWS did not tell what was asked; the message says why and what to do."""


def newest_images(client: Any, parameters: Mapping[str, str]) -> dict[str, str]:
    """The newest id of each image; `parameters` has the path of each. ImageLookupError tells what is not there, AwsCallError of other failures."""
    from botocore.exceptions import ClientError

    names = {path: name for name, path in parameters.items()}
    region = client.meta.region_name
    with told("reading the newest images"):
        try:
            answer = client.get_parameters(Names=sorted(names))
        except ClientError as error:
            if not is_denied(error):
                raise
            raise ImageLookupError(
                f"You may not read the newest images in {region}: allow ssm:GetParameters on parameter/aws/service/*."
            ) from error
    found = {names[item["Name"]]: item["Value"] for item in answer.get("Parameters", ())}
    missing = ", ".join(sorted(name for name in parameters if name not in found))
    if missing:
        raise ImageLookupError(
            f"AWS publishes no image {missing} in {region}. Use another nodeImage there, or another region."
        )
    return {name: found[name] for name in parameters}


def described(client: Any, image_ids: Iterable[str]) -> dict[str, Any]:
    """What EC2 says of each image, by id; one that it does not know is not there. Raises ImageLookupError and AwsCallError."""
    from botocore.exceptions import ClientError

    wanted: Sequence[str] = sorted(set(image_ids))
    # Asked by ids, EC2 refuses all of them for one that it does not know.
    asked = {
        "Filters": [{"Name": "image-id", "Values": wanted}],
        "IncludeDeprecated": True,
        "IncludeDisabled": True,
    }
    with told("describing the images"):
        try:
            pages = client.get_paginator("describe_images").paginate(**asked)
            return {image["ImageId"]: image for page in pages for image in page.get("Images", ())}
        except ClientError as error:
            if not is_denied(error):
                raise
            raise ImageLookupError(
                f"You may not describe images in {client.meta.region_name}, so their end of support is not known and nothing was changed: "
                "allow ec2:DescribeImages on *."
            ) from error
