"""What the workflows need in AWS before the first deployment: a place for state, and roles without stored keys."""

import sys
from pathlib import Path

import pulumi
import pulumi_aws as aws

# Pulumi puts this folder on the path; the platform's own helpers lie beside it.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bootstrap.github_access import GithubAccess, GithubAccessArgs
from bootstrap.settings import ENVIRONMENTS, BootstrapSettings
from bootstrap.state_store import StateStore, StateStoreArgs
from components.partitions import partition_of

config = pulumi.Config()
settings = BootstrapSettings(
    repository=config.require("repository"),
    region=config.require("region"),
    owner_id=config.get("repositoryOwnerId") or "",
    repository_id=config.get("repositoryId") or "",
    environments=tuple((config.get("environments") or " ".join(ENVIRONMENTS)).split()),
    identity_provider_arn=config.get("identityProviderArn") or "",
)
provider = aws.Provider(
    "aws",
    region=settings.region,
    default_tags={"tags": {"Project": pulumi.get_project(), "Stack": pulumi.get_stack(), "ManagedBy": "pulumi"}},
)
on = pulumi.ResourceOptions(providers=[provider])
account_id = aws.get_caller_identity_output(opts=pulumi.InvokeOutputOptions(provider=provider)).account_id
partition, _ = partition_of(settings.region)

state = StateStore("state", StateStoreArgs(region=settings.region, partition=partition, account_id=account_id), on)
access = GithubAccess(
    "github", GithubAccessArgs(settings=settings, state=state, partition=partition, account_id=account_id), on
)

pulumi.export("backend_url", state.backend_url)
pulumi.export("secrets_provider", state.secrets_provider)
pulumi.export("state_bucket", state.bucket_name)
pulumi.export("preview_role_arn", access.preview_role_arn)
pulumi.export("plan_role_arn", access.plan_role_arn)
pulumi.export("deploy_role_arn", access.deploy_role_arn)
