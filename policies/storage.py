"""Rules over what holds data: encrypted, private, and one list of lifecycle rules to a bucket."""

from collections.abc import Callable, Iterator

from ops.capture.recording import RecordedResource
from policies.rule import Fault, RecordingRule, Severity
from policies.view import View, is_on, is_unknown, parts

BUCKET = "aws:s3/bucket:Bucket"
BUCKET_ACL = "aws:s3/bucketAcl:BucketAcl"
BUCKET_ENCRYPTION = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
LIFECYCLE = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"
PUBLIC_ACCESS_BLOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
FILE_SYSTEM = "aws:efs/fileSystem:FileSystem"
FUNCTION_URL = "aws:lambda/functionUrl:FunctionUrl"
LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
QUEUE = "aws:sqs/queue:Queue"
TOPIC = "aws:sns/topic:Topic"
BLOCKS = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
ALGORITHMS = ("AES256", "aws:kms", "aws:kms:dsse")


def _unencrypted(view: View) -> Iterator[Fault]:
    for bucket in view.of(BUCKET):
        settings = view.attached(bucket, BUCKET_ENCRYPTION, "bucket")
        if not any(_encrypts(item) for item in settings):
            yield Fault(resource=bucket, what="says no encryption of its objects")
    for type_token, (in_clear, what) in IN_CLEAR.items():
        for resource in view.of(type_token):
            if in_clear(resource):
                yield Fault(resource=resource, what=what)


def _has_clear_disk(template: RecordedResource) -> bool:
    """A template without disks takes that of its image, which is in clear unless the account says otherwise."""
    mappings = parts(template.inputs.get("blockDeviceMappings"))
    disks = [disk for mapping in mappings for disk in parts(mapping.get("ebs"))]
    return not disks or not all(is_on(disk.get("encrypted")) for disk in disks)


# How each type shows that it keeps data in clear, and what a message says then.
IN_CLEAR: dict[str, tuple[Callable[[RecordedResource], bool], str]] = {
    FILE_SYSTEM: (
        lambda system: not is_on(system.inputs.get("encrypted")),
        "is not encrypted, which cannot be changed later",
    ),
    QUEUE: (
        lambda queue: (
            not is_on(queue.inputs.get("sqsManagedSseEnabled")) and not queue.inputs.get("kmsMasterKeyId")
        ),
        "keeps its messages in clear",
    ),
    TOPIC: (lambda topic: not topic.inputs.get("kmsMasterKeyId"), "keeps its messages in clear"),
    LAUNCH_TEMPLATE: (_has_clear_disk, "starts nodes with a disk in clear"),
}


def _encrypts(setting: RecordedResource) -> bool:
    rules = setting.inputs.get("rules")
    defaults = [
        item for rule in parts(rules) for item in parts(rule.get("applyServerSideEncryptionByDefault"))
    ]
    return is_unknown(rules) or any(item.get("sseAlgorithm") in ALGORITHMS for item in defaults)


def _public(view: View) -> Iterator[Fault]:
    for bucket in view.of(BUCKET):
        blocks = view.attached(bucket, PUBLIC_ACCESS_BLOCK, "bucket")
        closed = {key for block in blocks for key in BLOCKS if is_on(block.inputs.get(key))}
        if missing := [key for key in BLOCKS if key not in closed]:
            yield Fault(
                resource=bucket,
                what=f"could become public, since nothing sets {', '.join(missing)}",
                fix="give the bucket a BucketPublicAccessBlock with all four switches on",
            )
    for acl in view.of(BUCKET_ACL):
        if str(acl.inputs.get("acl", "")).startswith(("public-", "authenticated-")):
            yield Fault(resource=acl, what=f"is the ACL {acl.inputs['acl']}", fix="take the ACL away")
    for url in view.of(FUNCTION_URL):
        if url.inputs.get("authorizationType") == "NONE":
            yield Fault(
                resource=url, what="calls a function for anyone", fix="set authorization_type to AWS_IAM"
            )


def _lifecycles(view: View) -> Iterator[Fault]:
    for bucket in view.of(BUCKET):
        found = view.attached(bucket, LIFECYCLE, "bucket")
        if not found:
            yield Fault(
                resource=bucket,
                what="has no lifecycle, so that unfinished uploads are paid for and seen nowhere",
                fix="add one BucketLifecycleConfiguration that aborts incomplete uploads",
            )
        for extra in found[1:]:
            yield Fault(resource=extra, what=f"is a second lifecycle of {bucket.name}, after {found[0].name}")


STORAGE_RULES = (
    RecordingRule(
        id="encryption",
        severity=Severity.ERROR,
        promise="Buckets, file systems, queues, topics and the disks of nodes are encrypted.",
        harm="whoever comes by the disk, a snapshot or a copy reads it",
        fix="switch encryption on where the resource is declared",
        check=_unencrypted,
    ),
    RecordingRule(
        id="public-access",
        severity=Severity.ERROR,
        promise="No bucket can become public, and no function URL answers callers without credentials.",
        harm="anyone on the internet reads the data, or runs up the bill",
        fix="close it",
        check=_public,
    ),
    RecordingRule(
        id="one-lifecycle",
        severity=Severity.ERROR,
        promise="A bucket has exactly one resource with lifecycle rules.",
        harm="S3 keeps one list of rules for a bucket, and what is not in it neither moves nor expires",
        fix="put all rules of the bucket into one BucketLifecycleConfiguration",
        check=_lifecycles,
    ),
)
