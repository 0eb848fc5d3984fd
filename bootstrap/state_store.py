"""Where Pulumi keeps the state of every stack, and the key for it and for the secrets in it."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from bootstrap.permissions import PLANS
from components.iam import document
from components.private_bucket import encryption_rule, never_public, owned_by_account, tls_only

# A plan that nobody has approved by then is not what the stack looks like any more.
PLAN_RETENTION_DAYS = 7
OLD_STATE_RETENTION_DAYS = 365


@dataclass(frozen=True, kw_only=True)
class StateStoreArgs:
    region: str
    partition: str
    account_id: pulumi.Output[str]


class StateStore(pulumi.ComponentResource):
    """A private, versioned bucket, reached over TLS only and encrypted with a key of its own.

    Both are protected, and stay when they are removed from the program: without them no stack can be changed.
    """

    bucket_arn: pulumi.Output[str]
    bucket_name: pulumi.Output[str]
    key_arn: pulumi.Output[str]
    backend_url: pulumi.Output[str]
    secrets_provider: pulumi.Output[str]

    def __init__(self, name: str, args: StateStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:StateStore", name, None, opts)
        kept = pulumi.ResourceOptions(parent=self, protect=True, retain_on_delete=True)

        key = aws.kms.Key(
            f"{name}-key",
            description="State of Pulumi, and the secrets in it",
            enable_key_rotation=True,
            deletion_window_in_days=30,
            policy=pulumi.Output.json_dumps(key_policy(args.partition, args.account_id)),
            opts=kept,
        )
        bucket = aws.s3.Bucket(f"{name}-bucket", opts=kept)
        self.bucket_arn = bucket.arn
        self.bucket_name = bucket.bucket
        self.key_arn = key.arn
        self.backend_url = pulumi.Output.format("s3://{0}?region={1}", bucket.bucket, args.region)
        self.secrets_provider = pulumi.Output.format("awskms://{0}?region={1}", key.key_id, args.region)
        self._close(name, kept)
        self._keep_and_expire(name, kept)
        self.register_outputs({"backend_url": self.backend_url, "secrets_provider": self.secrets_provider})

    def _close(self, name: str, kept: pulumi.ResourceOptions) -> None:
        bucket = self.bucket_name
        aws.s3.BucketPublicAccessBlock(f"{name}-public-access", never_public(bucket), kept)
        aws.s3.BucketOwnershipControls(f"{name}-ownership", owned_by_account(bucket), kept)
        aws.s3.BucketPolicy(f"{name}-tls-only", tls_only(bucket, self.bucket_arn), kept)
        aws.s3.BucketServerSideEncryptionConfiguration(
            f"{name}-encryption", bucket=bucket, rules=[encryption_rule(self.key_arn)], opts=kept
        )

    def _keep_and_expire(self, name: str, kept: pulumi.ResourceOptions) -> None:
        versioning = aws.s3.BucketVersioning(
            f"{name}-versioning",
            bucket=self.bucket_name,
            versioning_configuration={"status": "Enabled"},
            opts=kept,
        )
        aws.s3.BucketLifecycleConfiguration(
            f"{name}-lifecycle",
            # By way of the versioning, since rules for old versions must come after it.
            bucket=versioning.bucket,
            rules=lifecycle_rules(),
            opts=kept,
        )


def lifecycle_rules() -> list[Any]:
    """Plans go after a week, with their versions; old versions of a state after a year."""
    return [
        {
            "id": "DeleteOldPlans",
            "status": "Enabled",
            "filter": {"prefix": PLANS},
            "expiration": {"days": PLAN_RETENTION_DAYS},
            "noncurrent_version_expiration": {"noncurrent_days": 1},
        },
        {
            "id": "DeleteOldStates",
            "status": "Enabled",
            "filter": {"prefix": ".pulumi/"},
            "noncurrent_version_expiration": {"noncurrent_days": OLD_STATE_RETENTION_DAYS},
            "abort_incomplete_multipart_upload": {"days_after_initiation": 7},
        },
    ]


def key_policy(partition: str, account_id: pulumi.Output[str]) -> dict[str, Any]:
    """Leaves it to the account's IAM policies who may use the key; without this nobody could change it any more."""
    owner = pulumi.Output.format("arn:{0}:iam::{1}:root", partition, account_id)
    statement = {"Effect": "Allow", "Principal": {"AWS": owner}, "Action": "kms:*", "Resource": "*"}
    return document([statement])
