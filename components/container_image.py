"""The image of the RAG API: built from this repository and pushed to a registry of the stack's own."""

import json
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
import pulumi_awsx as awsx

# Graviton: about a fifth cheaper than x86 on Fargate, on demand and on Spot.
PLATFORM = "linux/arm64"
# A push leaves up to three manifests behind (the index, the image, its attestation), so this keeps about ten builds.
KEPT_IMAGES = 30

PULL_ACTIONS = ("ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer")


@dataclass(frozen=True, kw_only=True)
class ContainerImageArgs:
    protect: bool


class ContainerImage(pulumi.ComponentResource):
    """A registry that scans what is pushed, and the image built from `rag_api/Dockerfile`.

    `image_uri` names the image by digest, so a new build is a new task definition and an old one never changes.
    """

    image_uri: pulumi.Output[str]
    repository_arn: pulumi.Output[str]
    repository_url: pulumi.Output[str]

    def __init__(
        self, name: str, args: ContainerImageArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("aiplatform:index:ContainerImage", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        repository = aws.ecr.Repository(
            f"{name}-repository",
            image_scanning_configuration={"scan_on_push": True},
            # Each build pushes the same tag again, which immutable tags refuse; what runs is named by digest.
            image_tag_mutability="MUTABLE",
            force_delete=not args.protect,
            opts=pulumi.ResourceOptions(parent=self, protect=args.protect, retain_on_delete=args.protect),
        )
        aws.ecr.LifecyclePolicy(
            f"{name}-lifecycle",
            repository=repository.name,
            policy=json.dumps(keep_latest(KEPT_IMAGES)),
            opts=child,
        )
        image = awsx.ecr.Image(
            f"{name}-image",
            repository_url=repository.repository_url,
            context=".",
            dockerfile="rag_api/Dockerfile",
            platform=PLATFORM,
            image_tag="latest",
            opts=child,
        )
        self.image_uri = image.image_uri
        self.repository_arn = repository.arn
        self.repository_url = repository.repository_url
        self.register_outputs({"image_uri": self.image_uri, "repository_url": self.repository_url})


def keep_latest(count: int) -> dict[str, object]:
    """A lifecycle policy that deletes all but the `count` images pushed last."""
    selection = {"tagStatus": "any", "countType": "imageCountMoreThan", "countNumber": count}
    return {"rules": [{"rulePriority": 1, "selection": selection, "action": {"type": "expire"}}]}
