"""What holds data: bucket, file system, registry and vector store."""

from collections.abc import Iterator

from ops.capture.recording import RecordedResource
from ops.cost.charge import MONTH_HOURS, Free, Item, Meter, Rates, Unknown

LIFECYCLE = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"
COLLECTION_GROUP = "aws:opensearch/serverlessCollectionGroup:ServerlessCollectionGroup"
# Which storage classes the usage's two older parts of the lake lie in, where the bucket's lifecycle moves data there.
INFREQUENT = ("STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR")
ARCHIVE = ("GLACIER", "DEEP_ARCHIVE")
# OCU that a collection group of generation NEXTGEN brings up when it wakes: two workers for searches, one for indexing.
# https://docs.aws.amazon.com/opensearch-service/latest/developerguide/serverless-scale-to-zero.html
SEARCH_OCU, INDEXING_OCU = 2, 1
# A collection without a group: half an OCU each for indexing and searches, twice that with standby replicas.
# https://docs.aws.amazon.com/opensearch-service/latest/developerguide/serverless-scaling.html
LONE_OCU, LONE_OCU_REDUNDANT = 1, 2
# The plan that a backup policy of EFS switches on: a backup a day, each kept for so many days.
BACKUP_DAYS = 35


def bucket(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    """What no lifecycle moves stays in the first class, however old it is."""
    usage, moves = rates.usage, _transitions(resource, rates)
    standard = usage.lake_gb
    for classes, gb in ((INFREQUENT, usage.lake_infrequent_gb), (ARCHIVE, usage.lake_archive_gb)):
        reached = [name for name in classes if name in moves]
        standard += 0 if reached else gb
        yield from (rates.charge("S3", name, 0, gb / len(reached)) for name in reached)
    yield rates.charge("S3", "STANDARD", 0, standard)
    yield rates.charge("S3", "writes", 0, usage.lake_writes / 1000)
    yield rates.charge("S3", "reads", 0, usage.lake_reads / 1000)


def _transitions(resource: RecordedResource, rates: Rates) -> set[str]:
    """The storage classes that the bucket's lifecycle moves objects into."""
    return {
        move["storageClass"]
        for lifecycle in rates.index.with_input(LIFECYCLE, "bucket", resource.outputs.get("bucket"))
        for rule in lifecycle.inputs.get("rules") or ()
        for move in rule.get("transitions") or ()
    }


def file_system(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    usage, one_zone = rates.usage, bool(resource.inputs.get("availabilityZoneName"))
    moves = any(policy.get("transitionToIa") for policy in resource.inputs.get("lifecyclePolicies") or ())
    standard = usage.files_gb + (0 if moves else usage.files_infrequent_gb)
    yield rates.charge("EFS", "Standard One Zone" if one_zone else "Standard", 0, standard)
    if moves and one_zone:
        yield Unknown("no price for infrequent access in one zone")
    elif moves:
        yield rates.charge("EFS", "Infrequent Access", 0, usage.files_infrequent_gb)
    mode = resource.inputs.get("throughputMode", "bursting")
    if mode == "elastic":
        yield rates.charge("EFS", "elastic reads", 0, usage.files_read_gb)
        yield rates.charge("EFS", "elastic writes", 0, usage.files_written_gb)
    elif mode != "bursting":
        yield Unknown(f"no price for throughput mode {mode}")


def backup_policy(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    """A whole copy, whatever the class of the files, and what was written in the days that backups are kept for.

    https://docs.aws.amazon.com/efs/latest/ug/awsbackup.html
    """
    if (resource.inputs.get("backupPolicy") or {}).get("status") == "ENABLED":
        usage = rates.usage
        changed = usage.files_written_gb * BACKUP_DAYS * 24 / MONTH_HOURS
        kept = usage.files_gb + usage.files_infrequent_gb + changed
        yield rates.charge("Backup", "file systems", 0, kept, "backups of the file system")
    else:
        yield Free("backups are off")


def repository(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    """The image of a deployment is there before anybody asks anything."""
    usage = rates.usage
    yield rates.charge("ECR", "images", usage.image_gb, usage.image_gb * max(1, usage.images_kept))


def collection_group(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    """What it keeps at the least; one that scales to zero also wakes, where the older generation stays as it is."""
    limits = next(iter(resource.inputs.get("capacityLimits") or ()), {})
    usage = rates.usage
    for kind, key, woken, hours in (
        ("searches", "minSearchCapacityInOcu", SEARCH_OCU, usage.search_hours),
        ("indexing", "minIndexingCapacityInOcu", INDEXING_OCU, usage.indexing_hours),
    ):
        least = float(limits.get(key, 0))
        wakes = resource.inputs.get("generation") != "CLASSIC"
        above = max(0.0, woken - least) * min(hours, MONTH_HOURS) if wakes else 0.0
        kept = least * MONTH_HOURS
        yield rates.charge("OpenSearch Serverless", "OCU", kept, kept + above, f"OCU for {kind}")


def collection(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    name = resource.inputs.get("collectionGroupName")
    if not name or not any(rates.index.with_input(COLLECTION_GROUP, "name", name)):
        redundant = resource.inputs.get("standbyReplicas", "ENABLED") == "ENABLED"
        yield rates.always(
            "OpenSearch Serverless", "OCU", LONE_OCU_REDUNDANT if redundant else LONE_OCU, "OCU at the least"
        )
    yield rates.charge("OpenSearch Serverless", "storage", 0, rates.usage.vector_gb)


METERS: dict[str, Meter] = {
    "aws:s3/bucket:Bucket": bucket,
    "aws:efs/fileSystem:FileSystem": file_system,
    "aws:efs/backupPolicy:BackupPolicy": backup_policy,
    "aws:ecr/repository:Repository": repository,
    COLLECTION_GROUP: collection_group,
    "aws:opensearch/serverlessCollection:ServerlessCollection": collection,
}
