"""Rules over what holds data: encrypted, private, and one list of lifecycle rules to a bucket."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

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
INSTANCE = "aws:ec2/instance:Instance"
VOLUME = "aws:ebs/volume:Volume"
QUEUE = "aws:sqs/queue:Queue"
TOPIC = "aws:sns/topic:Topic"
BLOCKS = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
# https://docs.aws.amazon.com/AmazonS3/latest/userguide/acl-overview.html#specifying-grantee-predefined-groups
PUBLIC_GROUPS = ("/global/AllUsers", "/global/AuthenticatedUsers")
ALGORITHMS = ("AES256", "aws:kms", "aws:kms:dsse")


def _unencrypted(view: View) -> Iterator[Fault]:
    for bucket in view.of(BUCKET):
        settings = [item.inputs.get("rules") for item in view.attached(bucket, BUCKET_ENCRYPTION, "bucket")]
        # The older way, inside the bucket itself.
        settings += [
            item.get("rule") for item in parts(bucket.inputs.get("serverSideEncryptionConfiguration"))
        ]
        if not any(map(_encrypts, settings)):
            yield Fault(resource=bucket, what="sets no encryption for its objects")
    for type_token, (in_clear, what) in IN_CLEAR.items():
        for resource in view.of(type_token):
            if in_clear(resource):
                yield Fault(resource=resource, what=what)


def _has_clear_disk(template: RecordedResource) -> bool:
    """A template without disks takes that of its image, which is in clear unless the account says otherwise."""
    mappings = template.inputs.get("blockDeviceMappings")
    disks = [mapping.get("ebs") for mapping in parts(mappings) if mapping.get("ebs")]
    if any(map(is_unknown, (mappings, *disks))):
        return False
    return not disks or not all(is_on(part.get("encrypted")) for disk in disks for part in parts(disk))


def _has_clear_root(instance: RecordedResource) -> bool:
    """An instance of its own, outside of a fleet; without a word on it its disk is that of its image, in clear."""
    root = instance.inputs.get("rootBlockDevice")
    disks = [*(parts(root) or [{}]), *parts(instance.inputs.get("ebsBlockDevices"))]
    return not is_unknown(root) and not all(is_on(disk.get("encrypted", False)) for disk in disks)


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
    INSTANCE: (_has_clear_root, "has a disk in clear"),
    VOLUME: (lambda volume: not is_on(volume.inputs.get("encrypted")), "is a disk in clear"),
}


def _encrypts(rules: Any) -> bool:
    defaults = [rule.get("applyServerSideEncryptionByDefault") for rule in parts(rules)]
    algorithms = [item.get("sseAlgorithm") for default in defaults for item in parts(default)]
    return any(map(is_unknown, (rules, *defaults, *algorithms))) or not {*ALGORITHMS}.isdisjoint(algorithms)


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
    for holder in view.of(BUCKET_ACL, BUCKET):
        for words in _public_acl(holder):
            yield Fault(
                resource=holder, what=f"lets the world in by the ACL {words}", fix="take the ACL away"
            )
    for url in view.of(FUNCTION_URL):
        if url.inputs.get("authorizationType") == "NONE":
            yield Fault(
                resource=url, what="calls a function for anyone", fix="set authorization_type to AWS_IAM"
            )


def _public_acl(holder: RecordedResource) -> Iterator[str]:
    """Canned ACLs and grants that are for everybody, of an ACL or of the bucket itself."""
    canned = str(holder.inputs.get("acl", ""))
    if canned.startswith(("public-", "authenticated-")):
        yield canned
    grants = parts(holder.inputs.get("grants"))
    for policy in parts(holder.inputs.get("accessControlPolicy")):
        grants += [
            grantee for grant in parts(policy.get("grants")) for grantee in parts(grant.get("grantee"))
        ]
    yield from (str(grant["uri"]) for grant in grants if str(grant.get("uri")).endswith(PUBLIC_GROUPS))


def _lifecycles(view: View) -> Iterator[Fault]:
    for bucket in view.of(BUCKET):
        found = view.attached(bucket, LIFECYCLE, "bucket")
        within = _rules_within(bucket, found)
        if within and found:
            yield Fault(resource=bucket, what=f"has lifecycle rules of its own besides {found[0].name}")
        if not found and not within:
            yield Fault(
                resource=bucket,
                what="has no lifecycle, so that unfinished uploads are paid for and seen nowhere",
                fix="add one BucketLifecycleConfiguration that aborts incomplete uploads",
            )
        for extra in found[1:]:
            yield Fault(resource=extra, what=f"is a second lifecycle of {bucket.name}, after {found[0].name}")


def _rules_within(bucket: RecordedResource, found: list[RecordedResource]) -> list[Mapping[str, Any]]:
    """The rules in the bucket itself; in a state the provider repeats those of the resource beside it there."""
    told = {rule.get("id") for item in found for rule in parts(item.inputs.get("rules"))}
    return [rule for rule in parts(bucket.inputs.get("lifecycleRules")) if rule.get("id") not in told]


STORAGE_RULES = (
    RecordingRule(
        id="encryption",
        severity=Severity.ERROR,
        promise="Buckets, file systems, queues, topics and disks are encrypted.",
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
