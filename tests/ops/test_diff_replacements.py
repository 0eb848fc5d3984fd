"""What a change replaces, what follows from that, and zones that move."""

from dataclasses import replace

from ops.capture.program import record
from ops.capture.recording import Recording
from ops.diff.comparison import Comparison, compared
from policies.data import REPOSITORY
from policies.storage import BUCKET, FILE_SYSTEM
from tests.policies.planting import added, changed, inputs, options

TASK_DEFINITION = "aws:ecs/taskDefinition:TaskDefinition"
COLLECTION_GROUP = "aws:opensearch/serverlessCollectionGroup:ServerlessCollectionGroup"
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
    assert set(like.property_dependencies) == set(), "the next lines want references of their own"
    role = dev.one("aws:iam/role:Role", "rag-task-role")
    refers = replace(
        base.resources[-1],
        inputs={"role": role.outputs["arn"]},
        property_dependencies={"role": frozenset({role.urn})},
    )
    base = replace(dev, resources=(*dev.resources, refers))
    found = compared(base, changed(base, role.type, role.name, inputs(path="/other/")))
    assert [item.name for item in found.replaced.unjudged] == ["database"], "it refers to what is replaced"


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


def test_a_new_revision_is_deployed_in_place(dev: Recording) -> None:
    found = compared(dev, changed(dev, TASK_DEFINITION, "rag-task-definition", inputs(memory="1024")))
    assert _replaced(found) == {"rag-task-definition": ["memory"]}, (
        "a reader would expect the service to go down"
    )
    assert {urn.rpartition("::")[2]: source for urn, source in found.replaced.updated.items()} == {
        "rag-service": "rag-task-definition"
    }


def test_a_number_is_a_number_and_no_revision(dev: Recording) -> None:
    found = compared(dev, record("dev", changes={"ragMemoryMib": 1024, "logRetentionDays": 14}))
    assert _replaced(found) == {"rag-task-definition": ["memory"]}
    told = {(change.old, change.new) for _, changes in found.changed for change in changes}
    assert told == {("512", "1024"), ("7", "14")}, "the 1 in them would be shown as the task definition"


def test_what_is_deleted_first_takes_along_what_holds_data_and_names_it(dev: Recording) -> None:
    found = compared(dev, changed(dev, COLLECTION_GROUP, "vector-store-group", inputs(generation="CLASSIC")))
    assert _replaced(found)["vector-store-collection"] == ["collectionGroupName"]
    (item,) = found.data
    assert item.name == "vector-store-collection", "the engine deletes it before the group that it lies in"
    asked = changed(dev, FILE_SYSTEM, "shared-files-files", options(delete_before_replace=True))
    slow = changed(asked, FILE_SYSTEM, "shared-files-files", inputs(performanceMode="maxIO"))
    assert "shared-files-cache" in _replaced(compared(dev, slow))


def test_what_is_deleted_for_something_else_takes_along_what_names_it_in_turn(dev: Recording) -> None:
    service, task = dev.one("aws:ecs/service:Service"), dev.one(TASK_DEFINITION)
    by_family = changed(dev, service.type, service.name, inputs(taskDefinition=task.inputs["family"]))
    head = changed(by_family, COLLECTION_GROUP, "vector-store-group", inputs(generation="CLASSIC"))
    found = compared(by_family, head)
    assert found.replaced.followed[task.urn] == "vector-store-collection"
    assert found.replaced.updated[service.urn] == task.name, (
        "the engine does not know the family before it is there"
    )


def test_what_ignores_the_property_does_not_follow(dev: Recording) -> None:
    group = dev.one("aws:autoscaling/group:Group")
    template = dev.one("aws:ec2/launchTemplate:LaunchTemplate")
    (key,) = [key for key, urns in group.property_dependencies.items() if template.urn in urns]
    deaf = changed(dev, group.type, group.name, options(ignore_changes=(key,)))
    new = changed(deaf, template.type, template.name, inputs(userData="other"))
    assert not compared(deaf, new).replaced.updated


def test_zones_in_another_order_are_refused_and_one_more_at_the_end_is_not(dev: Recording) -> None:
    found = compared(dev, record("dev", changes={"availabilityZones": ["eu-central-1b", "eu-central-1a"]}))
    (told,) = found.moved_zones
    assert told.startswith("network-vpc has eu-central-1b where eu-central-1a was")
    assert found.is_refused
    zones = ["eu-central-1a", "eu-central-1b", "eu-central-1c"]
    more = compared(dev, record("dev", changes={"availabilityZones": zones}))
    assert not more.moved_zones and not more.replaced.because and not more.is_refused
