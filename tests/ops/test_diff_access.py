"""Permissions and openings that a change gives and takes."""

import json
from typing import Any

from ops.capture.recording import RecordedResource, Recording
from ops.diff.access import grants, told
from ops.diff.comparison import compared
from tests.policies.planting import changed, document, inputs

ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
READ = "data-lake-read-ingestion-index-role"


def _edited(recording: Recording, edit: Any) -> Recording:
    return changed(recording, ROLE_POLICY, READ, document("policy", edit))


def _reading(policy: Any) -> Any:
    return next(item for item in policy["Statement"] if "s3:GetObject" in item["Action"])


def test_an_action_more_is_gained_and_nothing_is_lost(dev: Recording) -> None:
    head = _edited(dev, lambda policy: _reading(policy).update(Action=["s3:GetObject", "s3:DeleteObject"]))
    found = compared(dev, head)
    (line,) = found.permissions_gained
    assert line == "ingestion-index-role may s3:DeleteObject on data-lake-bucket/raw/*", (
        "another policy lets it delete below processed/ already"
    )
    assert found.permissions_lost == ()
    back = compared(head, dev)
    assert (back.permissions_gained, back.permissions_lost) == ((), found.permissions_gained)


def test_a_statement_that_is_only_written_otherwise_is_no_change(dev: Recording) -> None:
    def split(policy: Any) -> None:
        statement = _reading(policy)
        policy["Statement"].remove(statement)
        for resource in reversed(statement["Resource"]):
            policy["Statement"].append({**statement, "Resource": resource})

    found = compared(dev, _edited(dev, split))
    assert (found.permissions_gained, found.permissions_lost) == ((), ())
    assert found.changed, "the text is another all the same"


def test_a_condition_that_is_dropped_is_a_permission_gained(dev: Recording) -> None:
    name = "shared-files-mount-gpu-notebook-node"
    head = changed(
        dev, ROLE_POLICY, name, document("policy", lambda policy: policy["Statement"][0].pop("Condition"))
    )
    (gained,) = compared(dev, head).permissions_gained
    assert gained.endswith("on shared-files-files"), "it now holds without the condition"
    (lost,) = compared(dev, head).permissions_lost
    assert " if StringEquals elasticfilesystem:AccessPointArn " in lost


def test_what_a_statement_turns_round_reads_so() -> None:
    policy = {"Statement": [
        {"Effect": "Deny", "NotAction": ["s3:Get*"], "NotResource": "arn:aws:s3:::b", "NotPrincipal": "*"},
        {"Effect": "Allow", "Action": "s3:PutObject", "Resource": "arn:aws:s3:::b/*", "Principal": "*"},
    ]}  # fmt: skip
    bucket = RecordedResource(
        urn="urn:pulumi:dev::p::aws:s3/bucketPolicy:BucketPolicy::open", type="aws:s3/bucketPolicy:BucketPolicy",
        name="open", parent=None, inputs={"policy": json.dumps(policy)}, outputs={},
    )  # fmt: skip
    recording = Recording(
        project="p", stack="dev", resources=(bucket,), invokes=(), registered_outputs={}, exports={}
    )
    assert told(grants(recording)) == [
        "anybody may s3:PutObject on s3:b/*",
        "everybody but anybody must not everything but s3:Get* on everything but s3:b",
    ]


def test_every_statement_of_the_program_is_told(platform: Recording) -> None:
    lines = told(grants(platform))
    assert len(lines) > 20
    assert not [line for line in lines if ":aws:" in line or "None" in line], "only a deployment knows these"
    assert any("may sts:AssumeRole" in line for line in lines)
    assert any("may all that " in line for line in lines), "managed policies would be given unseen"


def test_an_opening_to_the_world_is_loud_only_where_it_lets_in(dev: Recording) -> None:
    rule = dev.of_type(INGRESS)[0]
    opened = compared(dev, changed(dev, INGRESS, rule.name, inputs(cidrIpv4="0.0.0.0/0")))
    assert [item.peer for item in opened.internet_openings] == ["0.0.0.0/0"]
    assert opened.openings_gained and opened.is_refused, (
        "a required check would pass an opened security group"
    )
    closed = compared(changed(dev, INGRESS, rule.name, inputs(cidrIpv4="0.0.0.0/0")), dev)
    assert not closed.is_refused, "closing it would fail the check"
    assert closed.internet_openings == [] and [item.peer for item in closed.openings_lost] == ["0.0.0.0/0"]
    name = next(item.name for item in dev.of_type(EGRESS) if item.inputs.get("fromPort") == 443)
    outward = compared(dev, changed(dev, EGRESS, name, inputs(fromPort=1)))
    assert outward.openings_gained and outward.internet_openings == [], "every function speaks to AWS"
