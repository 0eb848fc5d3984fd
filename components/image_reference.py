"""What a container image's reference tells: the repository behind it. Pure."""

import re

ECR_IMAGE = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr(-fips)?\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?/(?P<name>[^:@]+)"
)


def repository_arn_of(image: str, partition: str) -> str | None:
    """The ARN of the private ECR repository that an image reference names, or None for any other registry."""
    match = ECR_IMAGE.match(image)
    if match is None:
        return None
    return f"arn:{partition}:ecr:{match['region']}:{match['account']}:repository/{match['name']}"
