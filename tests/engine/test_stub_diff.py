"""What the stub says that a change does."""

import json

from tests.engine.stub.wire import SIGNATURE
from tests.engine.stub_calls import Calls

QUEUE = "aws:sqs/queue:Queue"
FILE_SYSTEM = "aws:efs/fileSystem:FileSystem"
CLUSTER = "aws:ecs/cluster:Cluster"
FUNCTION = "aws:lambda/function:Function"


def _kinds(diff: object) -> dict[str, str]:
    detailed = getattr(diff, "detailedDiff")  # noqa: B009  # the message's type is made at run time
    return {path: item.Kind.Name(item.kind) for path, item in detailed.items()}


def test_equal_inputs_make_no_difference() -> None:
    diff = Calls().diff(
        QUEUE, {"delaySeconds": 1, "__defaults": ["name"]}, {"delaySeconds": 1, "__defaults": []}
    )
    assert diff.changes == diff.DIFF_NONE


def test_a_difference_is_told_by_property_down_to_the_leaf() -> None:
    old = {"settings": [{"name": "containerInsights", "value": "disabled"}], "tags": {"a": "1"}}
    new = {"settings": [{"name": "containerInsights", "value": "enabled"}], "tags": {"b.c": "1"}}
    assert _kinds(Calls().diff(CLUSTER, old, new)) == {
        "settings[0].value": "UPDATE",
        "tags.a": "DELETE",
        'tags["b.c"]': "ADD",
        "tagsAll": "UPDATE",
    }


def test_what_aws_cannot_change_in_place_replaces() -> None:
    diff = Calls().diff(
        FILE_SYSTEM, {"encrypted": False, "throughputMode": "a"}, {"encrypted": True, "throughputMode": "b"}
    )
    assert _kinds(diff) == {"encrypted": "UPDATE_REPLACE", "throughputMode": "UPDATE"}
    assert list(diff.replaces) == ["encrypted"] and not diff.deleteBeforeReplace


def test_a_resource_with_a_given_name_is_deleted_before_it_is_replaced() -> None:
    made_up = {"name": "a-1234567", "__defaults": ["name"]}
    assert not Calls().diff(CLUSTER, made_up, {**made_up, "name": "a-7654321"}).deleteBeforeReplace
    assert (
        Calls()
        .diff(CLUSTER, {"name": "a", "__defaults": []}, {"name": "b", "__defaults": []})
        .deleteBeforeReplace
    )


def test_a_file_is_what_is_in_it_wherever_it_lies() -> None:
    def code(path: str, content: str) -> dict[str, object]:
        return {"code": {SIGNATURE: "archive", "path": path, "hash": content}}

    assert not _kinds(Calls().diff(FUNCTION, code("/here", "1"), code("/there", "1")))
    assert _kinds(Calls().diff(FUNCTION, code("/here", "1"), code("/here", "2"))) == {"code": "UPDATE"}


def test_default_tags_reach_each_resource_and_differ_only_when_they_change() -> None:
    calls = Calls()
    calls.configure(region="eu-central-1", defaultTags=json.dumps({"tags": {"Stack": "dev"}}))
    outputs = calls.create(QUEUE, "a", {"tags": {"Owner": "me"}})
    assert outputs["tagsAll"] == {"Stack": "dev", "Owner": "me"}
    inputs = calls.account.one(QUEUE).inputs
    assert not _kinds(calls.diff(QUEUE, inputs, inputs, outputs))
    calls.configure(region="eu-central-1", defaultTags=json.dumps({"tags": {"Stack": "prod"}}))
    assert _kinds(calls.diff(QUEUE, inputs, inputs, outputs)) == {"tagsAll": "UPDATE"}
