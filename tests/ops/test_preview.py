"""The offline preview: what it tells, in which words, and that it never tells it differently."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pulumi_aws as aws
import pytest

from ops import preview
from ops.__main__ import main
from ops.capture.program import PROJECT_ROOT, record
from ops.capture.recording import RecordedInvoke, RecordedResource, Recording, Secret, Unknown
from ops.permissions import DATA_POLICY, POLICIES
from ops.preview import as_json
from ops.preview_clauses import COMPUTED
from ops.preview_settings import SETTINGS
from ops.preview_text import LIFECYCLE, render
from recordings import recorded

ROLE = "aws:iam/role:Role"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
BUCKET = "aws:s3/bucket:Bucket"
# Types of which a name says enough.
PLAIN = {
    BUCKET,
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
    "aws:ec2/eip:Eip",
    "aws:ec2/internetGateway:InternetGateway",
    "aws:ec2/natGateway:NatGateway",
    "aws:ec2/routeTable:RouteTable",
    "aws:ec2/routeTableAssociation:RouteTableAssociation",
    "aws:efs/mountTarget:MountTarget",
    "aws:iam/instanceProfile:InstanceProfile",
    "aws:lambda/invocation:Invocation",
    "aws:sqs/redriveAllowPolicy:RedriveAllowPolicy",
}


def urn(name: str) -> str:
    return f"urn:pulumi:test::shop::any::{name}"


def resource(type_: str, name: str, parent: str | None = None, **options: Any) -> RecordedResource:
    """A recorded resource whose outputs are its inputs and `outputs`."""
    inputs, outputs = options.pop("inputs", {}), options.pop("outputs", {})
    return RecordedResource(
        urn=urn(name),
        type=type_,
        name=name,
        parent=urn(parent) if parent else None,
        inputs=inputs,
        outputs={**inputs, **outputs},
        custom=not type_.startswith("aiplatform:"),
        **options,
    )


def recording(*resources: RecordedResource, **options: Any) -> Recording:
    settings: dict[str, Any] = {"invokes": (), "registered_outputs": {}, "exports": {}, **options}
    return Recording(project="shop", stack="test", resources=resources, **settings)


def line_of(name: str, *resources: RecordedResource) -> str:
    """The line that tells of one resource."""
    lines = render(recording(*resources)).splitlines()[2:]
    return next(line for line in lines if f"{line} ".startswith(f"{name} "))


def policy(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


class TestTree:
    def test_the_headline_tells_where_and_how_much(self) -> None:
        text = render(
            recording(
                resource("aiplatform:index:Lake", "lake"),
                resource(BUCKET, "lake-bucket", "lake"),
                resource("pulumi:providers:aws", "aws", inputs={"region": "eu-central-1"}),
                invokes=(
                    RecordedInvoke(token="aws:index/getCallerIdentity:getCallerIdentity", arguments={}),
                ),
            )
        )
        headline = "shop, stack test in eu-central-1: 1 components, 1 resources, 1 look-ups in AWS"
        assert text.splitlines()[0] == headline

    def test_every_resource_stands_below_its_parent_in_order(self) -> None:
        text = render(
            recording(
                resource("aiplatform:index:Lake", "lake"),
                resource(BUCKET, "b", "lake"),
                resource(ROLE, "inner", "b"),
                resource(BUCKET, "c", "lake"),
                resource("aiplatform:index:Other", "other"),
            )
        )
        assert text.splitlines()[2:] == [
            "lake Lake",
            "├─ b s3.Bucket",
            "│  └─ inner iam.Role",
            "└─ c s3.Bucket",
            "other Other",
        ]

    def test_what_protects_a_resource_is_marked(self) -> None:
        line = line_of(
            "b", resource(BUCKET, "b", protect=True, retain_on_delete=True, ignore_changes=("tags", "acl"))
        )
        assert line == "b s3.Bucket  [protected, kept on delete, ignores changes of tags acl]"

    def test_no_resource_of_the_program_is_left_out(self, platform: Recording) -> None:
        text = render(platform)
        missing = [item.name for item in platform.resources if f"{item.name} " not in text]
        assert not missing, "the reader would not know that these are built"
        assert text.count("ec2.Subnet ") == len(platform.of_type("aws:ec2/subnet:Subnet")) >= 4

    def test_every_type_of_the_program_shows_what_matters(self, platform: Recording) -> None:
        told = {*SETTINGS, *COMPUTED, *POLICIES, DATA_POLICY, LIFECYCLE, *PLAIN}
        silent = {item.type for item in platform.resources if item.custom} - told
        assert not silent, "add what matters of these to ops/preview_settings.py"


class TestSettings:
    def test_a_setting_that_is_not_set_is_not_shown(self) -> None:
        subnet = "aws:ec2/subnet:Subnet"
        full = resource(
            subnet,
            "a",
            inputs={"cidrBlock": "10.0.0.0/24", "availabilityZone": "x-1a", "mapPublicIpOnLaunch": False},
        )
        assert line_of("a", full) == "a ec2.Subnet  10.0.0.0/24, x-1a, public addresses: no"
        assert line_of("b", resource(subnet, "b", inputs={"cidrBlock": "10.0.0.0/24"})).endswith(
            "10.0.0.0/24"
        )

    def test_values_inside_lists_and_json_are_found(self) -> None:
        types = [{"instanceType": "g5.xlarge"}, {"instanceType": "g6.xlarge"}]
        distribution = {"onDemandBaseCapacity": 0, "onDemandPercentageAboveBaseCapacity": 0}
        group = resource(
            "aws:autoscaling/group:Group",
            "g",
            inputs={
                "minSize": 0,
                "maxSize": 2,
                "mixedInstancesPolicy": {
                    "launchTemplate": {"overrides": types},
                    "instancesDistribution": distribution,
                },
            },
        )
        line = line_of("g", group)
        assert "0 to 2 nodes, g5.xlarge g6.xlarge, on-demand base 0, 0 % above it" in line, (
            "nobody would see that all nodes are on spot"
        )
        provider = resource(
            "pulumi:providers:aws", "aws", inputs={"region": "x", "allowedAccountIds": '["1", "2"]'}
        )
        assert "accounts 1 2" in line_of("aws", provider)

    @pytest.mark.parametrize(
        ("seconds", "words"),
        [(1209600, "14 days"), (86400, "24 hours"), (7200, "2 hours"), (3600, "3600 s"), (90, "90 s")],
    )
    def test_long_times_are_told_in_days_and_hours(self, seconds: int, words: str) -> None:
        queue = resource("aws:sqs/queue:Queue", "q", inputs={"messageRetentionSeconds": seconds})
        assert line_of("q", queue) == f"q sqs.Queue  kept {words}"

    def test_a_rule_names_the_group_it_lets_in_rather_than_its_id(self) -> None:
        rule = resource(
            "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
            "r",
            inputs={"ipProtocol": "tcp", "fromPort": 80, "toPort": 80, "referencedSecurityGroupId": "sg-1"},
            property_dependencies={"referencedSecurityGroupId": frozenset({urn("balancer")})},
        )
        assert line_of("r", rule).endswith("in tcp 80, from balancer")

    def test_a_rule_tells_a_range_or_every_port(self) -> None:
        egress = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
        ports = {"ipProtocol": "udp", "fromPort": 1, "toPort": 9, "cidrIpv4": "10.0.0.0/8"}
        assert line_of("r", resource(egress, "r", inputs=ports)).endswith("out udp 1-9, to 10.0.0.0/8")
        everything = resource(egress, "e", inputs={"ipProtocol": "-1", "cidrIpv4": "0.0.0.0/0"})
        assert line_of("e", everything).endswith("out, every port, to 0.0.0.0/0")

    def test_the_spot_share_of_a_service_is_told_in_percent(self) -> None:
        strategies = [
            {"capacityProvider": "FARGATE", "base": 1, "weight": 3},
            {"capacityProvider": "FARGATE_SPOT", "base": 0, "weight": 1},
        ]
        service = resource("aws:ecs/service:Service", "s", inputs={"capacityProviderStrategies": strategies})
        assert "FARGATE 75 % and the first 1, FARGATE_SPOT 25 %" in line_of("s", service)

    def test_a_looked_up_image_is_not_shown_as_if_it_were_known(self) -> None:
        template = "aws:ec2/launchTemplate:LaunchTemplate"
        inputs = {"imageId": "ami-0aaaaaaaaaaaaaaaa"}
        pinned = line_of("t", resource(template, "t", inputs=inputs))
        loose = line_of("t", resource(template, "t", inputs=inputs, ignore_changes=("imageId",)))
        assert "ami-0aaaaaaaaaaaaaaaa" in pinned
        assert "newest image" in loose
        assert "ami-" not in loose

    def test_long_values_are_cut(self) -> None:
        group = resource("aws:ec2/securityGroup:SecurityGroup", "g", inputs={"description": "word " * 50})
        line = line_of("g", group)
        assert line.endswith("…")
        assert len(line) < 100

    def test_lifecycle_rules_are_told_one_by_one(self) -> None:
        moves = [{"days": 30, "storageClass": "STANDARD_IA"}, {"days": 90, "storageClass": "GLACIER"}]
        rules = [
            {"id": "Move", "filter": {"prefix": "processed/"}, "transitions": moves},
            {"id": "Drop", "filter": {"and": {"prefix": "raw/"}}, "expiration": {"days": 180}},
            {"id": "Abort", "filter": {}, "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7}},
            {"id": "Old", "filter": {}, "noncurrentVersionExpiration": {"noncurrentDays": 30}},
        ]
        text = render(recording(resource(LIFECYCLE, "l", inputs={"rules": rules})))
        assert [line.strip() for line in text.splitlines()[3:]] == [
            "Move: below processed/; STANDARD_IA after 30 days; GLACIER after 90 days",
            "Drop: below raw/; deleted after 180 days",
            "Abort: all objects; unfinished uploads deleted after 7 days",
            "Old: all objects; old versions deleted after 30 days",
        ]


class TestAccess:
    BUCKET_ARN = "arn:aws:s3:::lake-abc"

    def lines(self, *resources: RecordedResource) -> list[str]:
        """The lines below the last resource."""
        known = (
            resource(BUCKET, "lake", outputs={"arn": self.BUCKET_ARN}),
            resource(
                ROLE,
                "reader",
                outputs={"name": "reader-1a2b3c4", "arn": "arn:aws:iam::1:role/reader-1a2b3c4"},
            ),
        )
        text = render(recording(*known, *resources))
        return [line.strip() for line in text.splitlines() if line.startswith("    ")]

    def test_a_grant_tells_who_may_do_what_on_which_resource(self) -> None:
        statements = [
            {
                "Effect": "Allow",
                "Action": ["s3:GetObject", "s3:ListBucket"],
                "Resource": [f"{self.BUCKET_ARN}/raw/*"],
            },
            {"Effect": "Allow", "Action": "ecr:GetAuthorizationToken", "Resource": "*"},
        ]
        grant = resource(
            ROLE_POLICY, "grant", inputs={"role": "reader-1a2b3c4", "policy": policy(*statements)}
        )
        assert self.lines(grant) == [
            "reader may s3:GetObject, ListBucket on lake/raw/*",
            "reader may ecr:GetAuthorizationToken on *",
        ]

    def test_many_actions_and_resources_are_counted(self) -> None:
        statement = {
            "Effect": "Allow",
            "Action": [f"s3:Do{number}" for number in range(6)],
            "Resource": [f"arn:aws:sqs:eu-central-1:1:queue{number}" for number in range(5)],
        }
        grant = resource(ROLE_POLICY, "grant", inputs={"role": "reader-1a2b3c4", "policy": policy(statement)})
        assert self.lines(grant) == [
            "reader may s3:Do0, Do1, Do2, Do3 and 2 more on sqs:queue0, sqs:queue1 and 3 more"
        ]

    def test_a_refusal_and_its_condition_are_told(self) -> None:
        statement = {
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": [self.BUCKET_ARN],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
        tls = resource("aws:s3/bucketPolicy:BucketPolicy", "tls", inputs={"policy": policy(statement)})
        assert self.lines(tls) == ["anybody must not s3:* on lake if aws:SecureTransport=false"]

    def test_who_may_take_a_role_is_told(self) -> None:
        trust = {
            "Effect": "Allow",
            "Principal": {"Service": "lambda.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
        role = resource(ROLE, "worker", inputs={"assumeRolePolicy": policy(trust)})
        assert self.lines(role) == ["lambda.amazonaws.com may sts:AssumeRole"]

    def test_data_policies_of_collections_are_told(self) -> None:
        rule = {
            "ResourceType": "index",
            "Resource": ["index/docs/*"],
            "Permission": ["aoss:ReadDocument", "aoss:DescribeIndex"],
        }
        document = [{"Rules": [rule], "Principal": ["arn:aws:iam::1:role/reader-1a2b3c4"]}]
        data = resource(DATA_POLICY, "data", inputs={"policy": json.dumps(document)})
        assert self.lines(data) == ["reader may aoss:ReadDocument, DescribeIndex on index/docs/*"]

    def test_one_name_at_the_start_of_another_is_not_taken_for_it(self) -> None:
        statement = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"{self.BUCKET_ARN}-other/x"}
        grant = resource(ROLE_POLICY, "grant", inputs={"role": "reader-1a2b3c4", "policy": policy(statement)})
        assert self.lines(grant) == ["reader may s3:GetObject on s3:lake-abc-other/x"]

    def test_a_policy_that_only_aws_can_complete_says_so(self) -> None:
        grant = resource(ROLE_POLICY, "grant", inputs={"role": "reader-1a2b3c4", "policy": Unknown()})
        assert self.lines(grant) == ["(known after up)"]

    def test_every_role_policy_of_the_program_is_told(self, platform: Recording) -> None:
        text = render(platform)
        roles = {role.outputs["name"]: role.name for role in platform.of_type(ROLE)}
        for item in platform.of_type(ROLE_POLICY):
            assert f"{roles[item.inputs['role']]} may " in text, f"{item.name} would be granted unseen"


class TestEnd:
    def test_exports_warnings_and_look_ups_follow(self) -> None:
        call = RecordedInvoke(token="aws:ssm/getParameter:getParameter", arguments={"name": "/aws/x"})
        text = render(
            recording(
                exports={"url": "https://x", "bucket": "lake", "key": Secret("hidden"), "id": Unknown()},
                warnings=("not pinned",),
                invokes=(call,),
            )
        )
        assert text.splitlines()[1:] == [
            "",
            "Exports (what AWS decides is made up):",
            "  bucket  lake",
            "  id      (known after up)",
            "  key     [secret]",
            "  url     https://x",
            "",
            "Warnings:",
            "  not pinned",
            "",
            "Looked up in AWS during a preview:",
            "  getParameter name=/aws/x",
        ]

    def test_an_image_that_is_not_pinned_is_warned_of(self) -> None:
        loose = render(record("dev", changes={"machineImages": None}))
        assert "dlami is not pinned" in loose, "nodes would change and nobody would know why"
        pinned = record("dev", changes={"machineImages": {"dlami": "ami-0aaaaaaaaaaaaaaaa"}})
        assert "Warnings" not in render(pinned)
        assert "ami-0aaaaaaaaaaaaaaaa" in render(pinned)


class TestJson:
    def test_secrets_are_hidden_and_unknowns_are_null(self) -> None:
        inputs = {"b": Secret("hidden"), "a": [Unknown(), {"c": Secret(1)}]}
        read = json.loads(as_json(recording(resource(BUCKET, "x", inputs=inputs), exports={"e": Unknown()})))
        assert read["resources"][0]["inputs"] == {"a": [None, {"c": "[secret]"}], "b": "[secret]"}
        assert read["exports"] == {"e": None}
        assert "hidden" not in json.dumps(read)

    def test_machines_read_what_a_judge_needs(self, dev: Recording) -> None:
        read = json.loads(as_json(dev))
        assert (read["project"], read["stack"], read["region"]) == ("ai-platform", "dev", "eu-central-1")
        assert [item["urn"] for item in read["resources"]] == [item.urn for item in dev.resources]
        assert read["exports"].keys() == dev.exports.keys()
        assert len(read["lookups"]) == len(dev.invokes) == read["counts"]["lookups"]
        assert read["warnings"] == list(dev.warnings)

    def test_keys_are_sorted(self, dev: Recording) -> None:
        text = as_json(dev)
        again = json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False)
        assert text == again


class TestCommand:
    @pytest.fixture
    def from_dev(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Lets the command show the recording of dev, and keeps the stack it asked for."""
        asked: list[str] = []

        def fake(stack: str) -> Recording:
            asked.append(stack)
            return recorded("dev")

        monkeypatch.setattr(preview, "record", fake)
        return asked

    def test_text_is_printed_plainly_into_a_pipe(
        self, from_dev: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["preview"]) == 0
        assert from_dev == ["dev"]
        told = recorded("dev")
        assert capsys.readouterr().out == f"{render(told)}\n\n{preview.cost_line(told)}\n"

    def test_json_is_printed_for_machines(
        self, from_dev: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["preview", "--json", "--stack", "prod"]) == 0
        assert from_dev == ["prod"]
        assert json.loads(capsys.readouterr().out)["project"] == "ai-platform"

    def test_colour_is_for_terminals_of_people_who_want_it(
        self, from_dev: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setenv("NO_COLOR", "1")
        main(["preview"])
        assert "\033[" not in capsys.readouterr().out
        monkeypatch.setenv("NO_COLOR", "")
        main(["preview"])
        assert "\033[" in capsys.readouterr().out

    def test_every_fault_goes_to_standard_error_and_nothing_to_the_output(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        faulty = {"ragMinimumTasks": 5, "ragMaximumTasks": 3, "ragColour": "red"}
        monkeypatch.setattr(preview, "record", lambda stack: record(stack, changes=faulty))
        assert main(["preview"]) == 1
        shown = capsys.readouterr()
        assert shown.out == "", "a machine would take half a preview for a whole one"
        assert "ragMinimumTasks = 5" in shown.err
        assert "ragColour" in shown.err
        assert "Traceback" not in shown.err

    def test_an_unknown_stack_is_wrong_usage(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["preview", "--stack", "nowhere"]) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        assert "Pulumi.nowhere.yaml" in shown.err
        assert "dev, prod, staging" in shown.err

    @pytest.mark.parametrize("arguments", [[], ["dance"], ["preview", "--frobnicate"]])
    def test_wrong_usage_ends_with_2(self, arguments: list[str]) -> None:
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 2

    def test_help_names_every_verb_and_loads_none(self) -> None:
        code = "import sys, ops.__main__ as ops\ntry: ops.main(['--help'])\nfinally: assert 'pulumi' not in sys.modules"
        result = subprocess.run(
            [sys.executable, "-c", code], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True
        )
        assert "  preview" in result.stdout
        assert "  images" in result.stdout


def test_the_output_is_the_same_byte_for_byte_in_another_process() -> None:
    code = (
        "import sys; from ops.capture.program import record; from ops.preview import as_json\n"
        "from ops.preview_text import render; run = record('prod')\n"
        "sys.stdout.buffer.write((as_json(run) + render(run)).encode())"
    )
    # Sets of texts come in another order with each hash seed.
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    other = subprocess.run(
        [sys.executable, "-c", code],
        cwd=PROJECT_ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
    )
    here = recorded("prod")
    assert other.stdout == (as_json(here) + render(here)).encode(), "two previews could not be compared"


def test_a_part_of_the_program_can_be_shown(register: Callable[..., Recording]) -> None:
    part = register(lambda: aws.s3.Bucket("lake"), {"region": "eu-west-1"})
    text = render(part)
    assert text.splitlines()[0] == "ai-platform, stack dev: 0 components, 1 resources, 0 look-ups in AWS"
    assert "lake s3.Bucket" in text
