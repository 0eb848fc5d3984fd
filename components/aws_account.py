"""Where a stack lives: region, partition, account, and the one AWS provider that all resources use."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.config import PlatformConfig
from components.partitions import partition_of


@dataclass(frozen=True, kw_only=True)
class AwsAccount:
    """The provider and what ARNs are made of. `account_id` is looked up with the caller's credentials."""

    provider: aws.Provider
    region: str
    partition: str
    dns_suffix: str
    account_id: pulumi.Output[str]

    @classmethod
    def connect(cls, config: PlatformConfig) -> "AwsAccount":
        """Makes the provider, which carries region, default tags and the account ids it may deploy to."""
        general = config.general
        provider = aws.Provider(
            "aws",
            region=general.region,
            allowed_account_ids=list(general.allowed_account_ids) or None,
            default_tags={"tags": default_tags(config)},
        )
        identity = aws.get_caller_identity_output(opts=pulumi.InvokeOutputOptions(provider=provider))
        partition, dns_suffix = partition_of(general.region)
        return cls(
            provider=provider,
            region=general.region,
            partition=partition,
            dns_suffix=dns_suffix,
            account_id=identity.account_id,
        )

    @property
    def options(self) -> pulumi.ResourceOptions:
        """What each top-level component is given, so that its children use this provider."""
        return pulumi.ResourceOptions(providers=[self.provider])

    def arn(self, service: str, path: pulumi.Input[str]) -> pulumi.Output[str]:
        """An ARN of this account and region."""
        return pulumi.Output.concat(
            "arn:", self.partition, ":", service, ":", self.region, ":", self.account_id, ":", path
        )


def default_tags(config: PlatformConfig) -> dict[str, str]:
    """The tags by which cost is split, on every resource; a stack's own tags win."""
    return {"Project": config.project, "Stack": config.stack, "ManagedBy": "pulumi", **config.general.tags}
