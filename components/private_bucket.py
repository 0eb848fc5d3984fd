"""What makes any bucket of ours private: closed to the public, owned by its account, TLS only, and encrypted."""

from typing import Any

import pulumi
import pulumi_aws as aws

from components.iam import document


def never_public(bucket_name: pulumi.Input[str]) -> aws.s3.BucketPublicAccessBlockArgs:
    """Neither an ACL nor a policy can open the bucket."""
    return aws.s3.BucketPublicAccessBlockArgs(
        bucket=bucket_name,
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
    )


def owned_by_account(bucket_name: pulumi.Input[str]) -> aws.s3.BucketOwnershipControlsArgs:
    """Every object belongs to the bucket's account, whoever writes it; ACLs are off."""
    return aws.s3.BucketOwnershipControlsArgs(
        bucket=bucket_name,
        rule=aws.s3.BucketOwnershipControlsRuleArgs(object_ownership="BucketOwnerEnforced"),
    )


def tls_only(bucket_name: pulumi.Input[str], bucket_arn: pulumi.Input[str]) -> aws.s3.BucketPolicyArgs:
    """Refuses plain HTTP. The wildcards are meant: a refusal must reach everybody and every action."""
    statement: dict[str, Any] = {
        "Sid": "DenyPlainHttp",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [bucket_arn, pulumi.Output.format("{0}/*", bucket_arn)],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return aws.s3.BucketPolicyArgs(bucket=bucket_name, policy=pulumi.Output.json_dumps(document([statement])))


def encryption_rule(key_arn: pulumi.Input[str] | None = None) -> Any:
    """New objects are encrypted with the key `key_arn`, or without one with the account's key aws/s3."""
    own_key = {} if key_arn is None else {"kms_master_key_id": key_arn}
    return {
        "apply_server_side_encryption_by_default": {"sse_algorithm": "aws:kms", **own_key},
        # One call to KMS per bucket and hour or so instead of one per object.
        "bucket_key_enabled": True,
        # An object under a key that its writer keeps could be read by nobody else.
        "blocked_encryption_types": ["SSE-C"],
    }
