"""Rules over data that cannot be made again: protected, kept, and never replaced unseen."""

from collections.abc import Collection, Iterator, Mapping

from ops.capture.recording import RecordedResource, Recording
from policies.rule import Fault, Finding, RecordingRule, Rule, Severity, finding
from policies.storage import BUCKET, FILE_SYSTEM
from policies.view import View, is_on, is_unknown, parts

COLLECTION = "aws:opensearch/serverlessCollection:ServerlessCollection"
REPOSITORY = "aws:ecr/repository:Repository"
VERSIONING = "aws:s3/bucketVersioning:BucketVersioning"
BACKUP = "aws:efs/backupPolicy:BackupPolicy"
# What is lost when a resource of these types is deleted or replaced.
DATA_HOLDING: Mapping[str, str] = {
    BUCKET: "its objects",
    FILE_SYSTEM: "its files",
    COLLECTION: "the index, which takes an embedding of every document to build again",
    REPOSITORY: "its images, those to roll back to among them",
}


def _unprotected(view: View) -> Iterator[Fault]:
    """A recording holds no configuration, so that its resources must tell whether this stack's data matters."""
    holders = view.of(*DATA_HOLDING)
    kept = [item.name for item in holders if item.protect]
    public = [item.name for item in view.public_balancers]
    for holder in holders:
        if holder.protect:
            continue
        if kept:
            yield Fault(resource=holder, what=f"is not protected, while {kept[0]} is")
        elif public:
            yield Fault(resource=holder, what=f"is not protected, while {public[0]} answers the internet")


def _deletable(view: View) -> Iterator[Fault]:
    """Only where data is protected: another stack may be taken down in one go."""
    holders = [item for item in view.of(*DATA_HOLDING) if item.protect]
    for holder in holders:
        for key in ("forceDestroy", "forceDelete"):
            if str(holder.inputs.get(key)).lower() == "true":
                yield Fault(resource=holder, what=f"is deleted with all that it holds ({key})")
        yield from _kept_once(view, holder)
    for balancer in view.public_balancers if holders else ():
        if not is_on(balancer.inputs.get("enableDeletionProtection")):
            yield Fault(
                resource=balancer,
                what="goes with one call while it serves users",
                fix="set enable_deletion_protection",
            )


def _kept_once(view: View, holder: RecordedResource) -> Iterator[Fault]:
    """Pulumi's protection keeps the resource, not what people delete inside it."""
    if holder.type == BUCKET and not _says(
        view, holder, VERSIONING, "bucket", "versioningConfiguration", "Enabled"
    ):
        yield Fault(
            resource=holder, what="keeps no versions of its objects", fix="set lakeVersioning to true"
        )
    if holder.type == FILE_SYSTEM and not _says(
        view, holder, BACKUP, "fileSystemId", "backupPolicy", "ENABLED"
    ):
        yield Fault(resource=holder, what="has no backup", fix="set efsBackup to true")


def _says(view: View, holder: RecordedResource, type_token: str, key: str, block: str, status: str) -> bool:
    """Whether a settings resource of `holder` has a status, or one that only AWS can tell."""
    found = [item.inputs.get(block) for item in view.attached(holder, type_token, key)]
    states = [part.get("status") for value in found for part in parts(value)]
    return any(is_unknown(value) for value in [*found, *states]) or status in states


DATA_RULES = (
    RecordingRule(
        id="protected-data",
        severity=Severity.ERROR,
        promise="A stack protects all that holds data or none of it, and all of it where the internet is served.",
        harm="a destroy, or a line that is lost in a merge, deletes it for good",
        fix="set protectData to true, and pass it to the component as protect",
        check=_unprotected,
    ),
    RecordingRule(
        id="deletion-protection",
        severity=Severity.ERROR,
        promise="Where data is protected, neither the AWS API nor a slip inside it deletes it for good.",
        harm="Pulumi's protection does not hold back what is called past it",
        fix="switch it off",
        check=_deletable,
    ),
)
DATA_REPLACEMENT = Rule(
    id="data-replacement",
    severity=Severity.ERROR,
    promise="A change neither replaces nor removes what holds data. It is judged between two versions of the program.",
    harm="what it holds is gone, or stays behind in AWS where the program no longer finds it",
    fix="copy the data first; after a mere rename keep the resource with aliases in its options",
)


def data_findings(base: Recording, head: Recording, replaced: Mapping[str, Collection[str]]) -> list[Finding]:
    """What a change from `base` to `head` does to data.

    `replaced` names the properties that make a resource be replaced, by its URN in `head`; other resources may be in it.
    """
    there = {urn for item in head.resources for urn in (item.urn, *item.aliases)}
    faults = [
        Fault(resource=item, what=_removed(item))
        for item in base.resources
        if item.type in DATA_HOLDING and item.urn not in there
    ]
    faults += [
        Fault(
            resource=item,
            what=f"is replaced for {', '.join(sorted(replaced[item.urn]))}, and with it {DATA_HOLDING[item.type]}",
        )
        for item in head.resources
        if item.type in DATA_HOLDING and replaced.get(item.urn)
    ]
    return [finding(DATA_REPLACEMENT, fault) for fault in faults]


def _removed(holder: RecordedResource) -> str:
    lost = DATA_HOLDING[holder.type]
    if holder.protect:
        return (
            f"is removed or renamed, which `pulumi up` refuses as long as it is protected, and with it {lost}"
        )
    if holder.retain_on_delete:
        return f"is removed or renamed and stays in AWS on its own, and with it {lost}"
    return f"is removed or renamed, and with it {lost}"
