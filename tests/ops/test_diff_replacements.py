"""What a change replaces, what follows from that, and zones that move."""

from ops.capture.program import record
from ops.capture.recording import Recording
from ops.diff.comparison import Comparison, compared
from policies.data import REPOSITORY
from policies.storage import BUCKET, FILE_SYSTEM
from tests.policies.planting import added, changed, inputs, options

ACCESS_POINT = "aws:efs/accessPoint:AccessPoint"


def _replaced(found: Comparison) -> dict[str, list[str]]:
    return {urn.rpartition("::")[2]: sorted(paths) for urn, paths in found.replaced.because.items()}


def test_a_file_system_that_must_be_made_anew_is_loud_and_takes_along_what_refers_to_it(
    dev: Recording,
) -> None:
    found = compared(dev, changed(dev, FILE_SYSTEM, "shared-files-files", inputs(performanceMode="maxIO")))
    replaced = _replaced(found)
    assert replaced["shared-files-files"] == ["performanceMode"]
    assert replaced["shared-files-cache"] == ["fileSystemId"], "an access point is of one file system"
    followed = {urn.rpartition("::")[2]: source for urn, source in found.replaced.followed.items()}
    assert followed["shared-files-cache"] == "shared-files-files"
    assert "shared-files-files" not in followed
    (item,) = found.data
    assert item.message.startswith(
        "shared-files-files is replaced for performanceMode, and with it its files"
    )
    assert found.is_refused


def test_an_update_in_place_replaces_nothing(dev: Recording) -> None:
    found = compared(dev, changed(dev, FILE_SYSTEM, "shared-files-files", inputs(throughputMode="bursting")))
    assert not found.replaced.because and not found.data
    assert [resource.name for resource, _ in found.changed] == ["shared-files-files"]
    assert not found.is_refused


def test_what_is_ignored_does_not_replace_and_what_is_asked_for_does(dev: Recording) -> None:
    new = changed(dev, FILE_SYSTEM, "shared-files-files", inputs(performanceMode="maxIO"))
    ignored = changed(new, FILE_SYSTEM, "shared-files-files", options(ignore_changes=("performanceMode",)))
    assert not compared(dev, ignored).replaced.because
    tagged = changed(dev, FILE_SYSTEM, "shared-files-files", inputs(tags={"a": "b"}))
    asked = changed(tagged, FILE_SYSTEM, "shared-files-files", options(replace_on_changes=("tags",)))
    assert _replaced(compared(dev, asked))["shared-files-files"] == ["tags.a"]
    assert not compared(dev, tagged).replaced.because


def test_another_region_replaces_all_that_lies_in_one(dev: Recording) -> None:
    found = compared(dev, changed(dev, "pulumi:providers:aws", "aws", inputs(region="eu-west-1")))
    replaced = _replaced(found)
    assert replaced["data-lake-bucket"] == ["region"]
    assert "rag-task-role" not in replaced, "roles are of the account, not of a Region"
    assert {item.name for item in found.data} == {
        item.name for item in dev.resources if item.type in (BUCKET, FILE_SYSTEM, REPOSITORY)
    } | {"vector-store-collection"}


def test_a_resource_that_moves_to_a_provider_of_another_region_is_a_change(dev: Recording) -> None:
    provider = dev.one("pulumi:providers:aws")
    other = added(dev, provider.type, "abroad", {"region": "us-east-1"}, provider)
    abroad = f"{other.resources[-1].urn}::id"
    moved = changed(other, FILE_SYSTEM, "shared-files-files", options(provider=abroad))
    found = compared(other, moved)
    assert _replaced(found)["shared-files-files"] == ["region"]
    assert not found.changed and not found.is_same


def test_a_type_without_facts_is_named_and_not_called_safe(dev: Recording) -> None:
    like = dev.one(FILE_SYSTEM)
    base = added(dev, "aws:rds/cluster:Cluster", "database", {"engine": "mysql"}, like)
    head = added(dev, "aws:rds/cluster:Cluster", "database", {"engine": "postgresql"}, like)
    found = compared(base, head)
    assert [item.name for item in found.replaced.unjudged] == ["database"]
    assert not compared(base, base).replaced.unjudged


def test_what_only_mentions_the_region_of_a_replaced_bucket_does_not_follow(dev: Recording) -> None:
    found = compared(dev, changed(dev, BUCKET, "data-lake-bucket", inputs(objectLockEnabled=True)))
    followers = [dev.by_urn(urn) for urn in found.replaced.followed]
    assert "data-lake-versioning" in {item.name for item in followers}
    assert all("bucket" in item.inputs for item in followers), "they only name the Region that it lies in"


def test_what_follows_a_replacement_is_followed_in_turn(dev: Recording) -> None:
    found = compared(dev, changed(dev, "aws:ec2/vpc:Vpc", "network-vpc", inputs(cidrBlock="10.99.0.0/16")))
    followed = {dev.by_urn(urn).type: source for urn, source in found.replaced.followed.items()}
    assert followed["aws:ec2/subnet:Subnet"] == "network-vpc"
    assert followed["aws:efs/mountTarget:MountTarget"].startswith("network-vpc-private-")
    assert not found.data, "the file system itself lies in no subnet"


def test_zones_in_another_order_are_refused_and_one_more_at_the_end_is_not(dev: Recording) -> None:
    found = compared(dev, record("dev", changes={"availabilityZones": ["eu-central-1b", "eu-central-1a"]}))
    (told,) = found.moved_zones
    assert told.startswith("network-vpc has eu-central-1b where eu-central-1a was")
    assert found.is_refused
    zones = ["eu-central-1a", "eu-central-1b", "eu-central-1c"]
    more = compared(dev, record("dev", changes={"availabilityZones": zones}))
    assert not more.moved_zones and not more.replaced.because and not more.is_refused
