"""What the stub's account holds, refuses and forgets."""

from pathlib import Path

import pytest

from tests.engine.stub.account import Account
from tests.engine.stub.faults import Fault
from tests.engine.stub.wire import UNKNOWN, Values, from_struct
from tests.engine.stub_calls import Calls, RefusedCall

ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
BUCKET = "aws:s3/bucket:Bucket"
CAPACITY = "aws:ecs/clusterCapacityProviders:ClusterCapacityProviders"
CAPACITY_PROVIDER = "aws:ecs/capacityProvider:CapacityProvider"
CLUSTER = "aws:ecs/cluster:Cluster"
LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
MOUNT_TARGET = "aws:efs/mountTarget:MountTarget"
QUEUE = "aws:sqs/queue:Queue"
ROLE = "aws:iam/role:Role"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
SERVICE = "aws:ecs/service:Service"
SUBNET = "aws:ec2/subnet:Subnet"
TASK = "aws:ecs/taskDefinition:TaskDefinition"


@pytest.fixture
def calls() -> Calls:
    return Calls()


def test_two_resources_of_one_physical_name_are_refused(calls: Calls) -> None:
    calls.create(QUEUE, "a", {"name": "jobs"})
    with pytest.raises(RefusedCall, match="AlreadyExists: .* jobs is there already, as a"):
        calls.create(QUEUE, "b", {"name": "jobs"})
    calls.create(ROLE, "c", {"name": "jobs", "assumeRolePolicy": "{}"})


def test_a_service_name_may_be_taken_in_another_cluster(calls: Calls) -> None:
    calls.create(SERVICE, "a", {"name": "api", "cluster": "one"})
    calls.create(SERVICE, "b", {"name": "api", "cluster": "two"})
    with pytest.raises(RefusedCall, match="AlreadyExists"):
        calls.create(SERVICE, "c", {"name": "api", "cluster": "one"})


def test_a_replacement_is_another_resource(calls: Calls) -> None:
    old, new = (calls.create(SUBNET, "a", {"vpcId": "vpc-1"}) for _ in range(2))
    assert old["id"] != new["id"], "the deletion of the old one would take the new one with it"
    old, new = (calls.create(TASK, "a", {"family": "api", "containerDefinitions": "[]"}) for _ in range(2))
    assert (old["id"], old["arn"][-2:], new["arn"][-2:]) == (new["id"], ":1", ":2")


@pytest.mark.parametrize(
    ("kind", "inputs", "holder", "holding"),
    [
        (SUBNET, {"vpcId": "vpc-1"}, MOUNT_TARGET, {"fileSystemId": "fs-1", "subnetId": "{id}"}),
        (ROLE, {"assumeRolePolicy": "{}"}, ROLE_POLICY, {"role": "{name}", "policy": "{}"}),
        (ROLE, {"assumeRolePolicy": "{}"}, ATTACHMENT, {"role": "{name}", "policyArn": "arn:aws:iam::aws:policy/p"}),
        (CLUSTER, {}, SERVICE, {"cluster": "{arn}"}),
        (CLUSTER, {}, CAPACITY, {"clusterName": "{name}", "capacityProviders": ["FARGATE"]}),
        (CAPACITY, {"clusterName": "c", "capacityProviders": ["FARGATE"]}, SERVICE, {"cluster": "x:cluster/c"}),
        (CAPACITY_PROVIDER, {}, CAPACITY, {"clusterName": "c", "capacityProviders": ["FARGATE", "{name}"]}),
    ],
)  # fmt: skip
def test_what_something_else_holds_cannot_be_deleted_before_it(
    calls: Calls, kind: str, inputs: Values, holder: str, holding: Values
) -> None:
    held = calls.create(kind, "held", inputs)
    known = {key: str(value) for key, value in held.items()}
    calls.create(holder, "holder", _filled(holding, known))
    calls.create(holder, "bystander", _filled(holding, dict.fromkeys(known, "other")) | _apart(holder))
    with pytest.raises(RefusedCall, match=f"DependencyViolation: held is in use by {holder} holder"):
        calls.delete(kind, "held")
    calls.delete(holder, "holder")
    calls.delete(kind, "held")


def _filled(holding: Values, known: dict[str, str]) -> Values:
    def fill(value: object) -> object:
        return [fill(item) for item in value] if isinstance(value, list) else _put(str(value), known)

    return {key: fill(value) for key, value in holding.items()}


def _put(text: str, known: dict[str, str]) -> str:
    return known[text[1:-1]] if text[:1] == "{" and text != "{}" else text


def _apart(holder: str) -> Values:
    return {SERVICE: {"cluster": "another"}, CAPACITY: {"clusterName": "another"}}.get(holder, {})


def test_a_bucket_with_objects_cannot_be_deleted_unless_it_says_so(calls: Calls) -> None:
    calls.create(BUCKET, "lake", {})
    calls.account.add_object("raw/a.pdf", "lake")
    with pytest.raises(RefusedCall, match="BucketNotEmpty: lake holds 1 objects"):
        calls.delete(BUCKET, "lake")
    calls.create(BUCKET, "scratch", {"forceDestroy": True})
    calls.account.add_object("a", "scratch")
    calls.delete(BUCKET, "scratch")


def test_what_aws_computes_is_unknown_in_a_preview(calls: Calls) -> None:
    outputs = calls.create(QUEUE, "a", {"delaySeconds": 1}, preview=True)
    assert (outputs["arn"], outputs["id"], outputs["delaySeconds"]) == (UNKNOWN, "", 1)
    assert outputs["name"].startswith("a-"), "the provider knows a name that it made up itself"
    assert not list(calls.account), "a preview makes nothing"


def test_a_change_from_outside_is_read_and_outlives_an_update(calls: Calls) -> None:
    calls.create(SERVICE, "api", {"desiredCount": 1, "cluster": "c"})
    calls.account.change(SERVICE, "api", desiredCount=7)
    read = calls.read(SERVICE, "api")
    assert (from_struct(read.inputs)["desiredCount"], from_struct(read.properties)["desiredCount"]) == (7, 7)
    updated = calls.update(SERVICE, "api", {"desiredCount": 1, "cluster": "c", "forceDelete": True})
    assert (updated["desiredCount"], updated["forceDelete"]) == (7, True)


def test_a_resource_that_vanished_is_read_as_gone(calls: Calls) -> None:
    calls.create(QUEUE, "a", {})
    vanished = calls.account.one(QUEUE, "a")
    calls.account.remove(vanished)
    assert not calls.read_known(QUEUE, "a", vanished.id, vanished.inputs, vanished.outputs).id


def test_an_update_counts_the_versions_of_a_launch_template(calls: Calls) -> None:
    assert calls.create(LAUNCH_TEMPLATE, "a", {})["latestVersion"] == 1
    assert calls.update(LAUNCH_TEMPLATE, "a", {"imageId": "ami-1"})["latestVersion"] == 2


def test_scripted_calls_fail_and_the_next_one_works(calls: Calls) -> None:
    calls.account.faults.add(Fault(operation="create", type=QUEUE, nth=2, times=2))
    calls.create(QUEUE, "a", {})
    for _ in range(2):
        with pytest.raises(RefusedCall, match="ThrottlingException: Rate exceeded"):
            calls.create(QUEUE, "b", {})
    calls.create(QUEUE, "b", {})


def test_an_account_in_a_file_outlives_its_process(tmp_path: Path) -> None:
    path = tmp_path / "account.json"
    first = Calls(Account(path))
    first.create(QUEUE, "a", {"name": "jobs"})
    second = Calls(Account(path))
    assert second.account.one(QUEUE, "a").outputs == first.account.one(QUEUE, "a").outputs
    second.delete(QUEUE, "a")
    assert not list(Account(path))
