"""The data lake: one private bucket. A prefix begins to exist with its first object, so none is made here: an empty
marker object would start ingestion and fall under the lifecycle rules."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.config_sections import DataLakeConfig
from components.iam import allow, grant
from components.lifecycle import lifecycle_rules
from components.private_bucket import encryption_rule, never_public, owned_by_account, tls_only

LIST_ACTIONS = ("s3:ListBucket",)
READ_ACTIONS = ("s3:GetObject",)
WRITE_ACTIONS = ("s3:PutObject", "s3:AbortMultipartUpload", "s3:DeleteObject")


@dataclass(frozen=True, kw_only=True)
class DataLakeArgs:
    config: DataLakeConfig
    protect: bool


class DataLake(pulumi.ComponentResource):
    """A bucket that is never public, reached over TLS only, and encrypted with the account's key aws/s3.

    That key's policy admits whoever may use S3 in the account (kms:CallerAccount, kms:ViaService), so a grant needs
    no permission on it, and another account cannot read the lake. With `protect` the bucket survives destroy, and
    its settings stay with it.
    """

    bucket: aws.s3.Bucket
    bucket_name: pulumi.Output[str]
    bucket_arn: pulumi.Output[str]

    def __init__(self, name: str, args: DataLakeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:DataLake", name, None, opts)
        # A kept bucket that lost its settings would be open to plain HTTP and expire nothing.
        settings = pulumi.ResourceOptions(parent=self, retain_on_delete=args.protect)

        self.bucket = aws.s3.Bucket(
            f"{name}-bucket",
            opts=pulumi.ResourceOptions(parent=self, protect=args.protect, retain_on_delete=args.protect),
        )
        self.bucket_name = self.bucket.bucket
        self.bucket_arn = self.bucket.arn
        self._close(name, settings)
        self._keep_and_expire(name, args.config, settings)
        self.register_outputs({"bucket_name": self.bucket_name, "bucket_arn": self.bucket_arn})

    def grant_read(self, role: aws.iam.Role, *prefixes: str) -> None:
        """Lets `role` list and read what lies below `prefixes`."""
        grant(self, "read", role, [self._list(prefixes), self._on_objects(READ_ACTIONS, prefixes)])

    def grant_write(self, role: aws.iam.Role, *prefixes: str) -> None:
        """Lets `role` list, write and delete below `prefixes`.

        On a versioned lake a delete hides the object and keeps its versions; deleting a version is not granted.
        """
        grant(self, "write", role, [self._list(prefixes), self._on_objects(WRITE_ACTIONS, prefixes)])

    def _list(self, prefixes: tuple[str, ...]) -> dict[str, Any]:
        """Also makes S3 answer 404 rather than 403 for a missing key below `prefixes`.

        S3 compares the key with s3:prefix for that (github.com/ceph/ceph, pull request 68577, which follows AWS).
        """
        condition = {"StringLike": {"s3:prefix": [f"{prefix}*" for prefix in prefixes]}}
        return allow(LIST_ACTIONS, [self.bucket_arn], condition)

    def _on_objects(self, actions: tuple[str, ...], prefixes: tuple[str, ...]) -> dict[str, Any]:
        objects = [pulumi.Output.format("{0}/{1}*", self.bucket_arn, prefix) for prefix in prefixes]
        return allow(actions, objects)

    def _close(self, name: str, settings: pulumi.ResourceOptions) -> None:
        bucket = self.bucket_name
        aws.s3.BucketPublicAccessBlock(f"{name}-public-access", never_public(bucket), settings)
        aws.s3.BucketOwnershipControls(f"{name}-ownership", owned_by_account(bucket), settings)
        aws.s3.BucketPolicy(f"{name}-tls-only", tls_only(bucket, self.bucket_arn), settings)
        aws.s3.BucketServerSideEncryptionConfiguration(
            f"{name}-encryption", bucket=bucket, rules=[encryption_rule()], opts=settings
        )

    def _keep_and_expire(self, name: str, config: DataLakeConfig, settings: pulumi.ResourceOptions) -> None:
        versioning = aws.s3.BucketVersioning(
            f"{name}-versioning",
            bucket=self.bucket_name,
            # Suspended rather than Disabled, which S3 takes only from a bucket that never had versions.
            versioning_configuration={"status": "Enabled" if config.versioning else "Suspended"},
            opts=settings,
        )
        rules: list[Any] = lifecycle_rules(
            config.lifecycle_rules,
            abort_incomplete_upload_days=config.abort_incomplete_upload_days,
            noncurrent_version_days=config.noncurrent_version_days,
        )
        # S3 replaces all rules of a bucket at once, so a second resource of this type would undo the first.
        aws.s3.BucketLifecycleConfiguration(
            f"{name}-lifecycle",
            # By way of the versioning, since the rule for old versions must come after it.
            bucket=versioning.bucket,
            rules=rules,
            # Moving a small object costs more than it saves. A rule's own minimumSizeBytes goes before this.
            transition_default_minimum_object_size="all_storage_classes_128K",
            opts=settings,
        )
