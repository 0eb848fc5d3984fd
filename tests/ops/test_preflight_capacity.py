"""vCPUs on spot and on demand, zones and Capacity Blocks: whether the nodes of a stack can start."""

import csv
from datetime import UTC, datetime
from typing import Any

import pytest

from components.accelerators import TABLE
from ops.preflight import blocks, capacity, network, offerings
from ops.preflight.findings import Status
from ops.preflight.nodes import BatchShare
from ops.preflight.quota_codes import vcpu_quota
from ops.preflight.stack import Stack
from tests.ops.preflight_account import REGION, FakeAccount
from tests.ops.preflight_runs import about, findings_of, stack_of, stack_with

SPOT_G, ON_DEMAND_G = "L-3819A6DF", "L-DB2E81BA"


def fleet(**values: Any) -> dict[str, Any]:
    base = {
        "name": "lab",
        "purpose": "inference",
        "instanceTypes": ["g5.12xlarge"],
        "nodeImage": "ecs-gpu",
        "maximum": 2,
    }
    return {"gpuFleets": [{**base, **values}]}


def lab() -> Stack:
    """The dev stack with one fleet on spot: two nodes of 48 vCPUs."""
    return stack_with("dev", fleet())


def instance(number: int, instance_type: str, *, spot: bool = True, **values: Any) -> dict[str, Any]:
    lifecycle = {"InstanceLifecycle": "spot"} if spot else {}
    return {"InstanceId": f"i-{number}", "InstanceType": instance_type, **lifecycle, **values}


def running(account: FakeAccount, *instances: dict[str, Any]) -> None:
    """A first page that is empty, and rows that come twice."""

    def answer(Filters: Any, NextToken: str = "") -> dict[str, Any]:
        assert Filters == [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
        rows = [{"Instances": [item]} for item in instances]
        return {"Reservations": [*rows, *rows]} if NextToken else {"Reservations": [], "NextToken": "x"}

    account.answers["DescribeInstances"] = answer


@pytest.mark.parametrize(("default", "status"), [(0.0, "failed"), (95.0, "failed"), (96.0, "passed")])
def test_a_spot_quota_of_zero_fails_whatever_is_allowed_on_demand(default: float, status: str) -> None:
    account = FakeAccount()
    account.quotas = {SPOT_G: None, ON_DEMAND_G: 768.0}
    account.defaults = {SPOT_G: default}
    finding = about(findings_of(lab(), account, capacity), "spot vCPUs")
    assert finding.status == status
    assert (finding.needed, finding.found, finding.quota) == ("96", f"{default:g}", f"ec2 {SPOT_G}")
    if status == "failed":
        assert finding.fix == (
            "aws service-quotas request-service-quota-increase --service-code ec2 "
            "--quota-code L-3819A6DF --desired-value 96 --region eu-central-1"
        )
    assert ("servicequotas", "GetAWSDefaultServiceQuota") in account.called


def test_a_fleet_on_spot_alone_asks_nothing_of_the_on_demand_quota() -> None:
    account = FakeAccount()
    account.quotas[ON_DEMAND_G] = 0.0
    assert [
        item.what for item in findings_of(lab(), account, capacity) if "on-demand vCPUs" in item.what
    ] == []


def test_what_others_run_counts_and_what_the_stack_runs_does_not_count_twice() -> None:
    account = FakeAccount()
    account.quotas[SPOT_G] = 103.0
    own = [{"Key": "Project", "Value": "ai-platform"}, {"Key": "Stack", "Value": "dev"}]
    running(
        account,
        instance(1, "g4dn.xlarge", CpuOptions={"CoreCount": 2, "ThreadsPerCore": 2}),
        instance(2, "g5.xlarge"),
        instance(3, "g5.48xlarge", Tags=own),
        instance(4, "g5.48xlarge", spot=False),
        instance(5, "p4d.24xlarge"),
        instance(6, "m7i.large"),
        instance(7, "g5.48xlarge", spot=False, Placement={"Tenancy": "host"}),
    )
    finding = about(findings_of(lab(), account, capacity), "spot vCPUs")
    assert (finding.status, finding.needed, finding.found) == (Status.FAILED, "104", "103")
    assert "in use by others: 8" in finding.detail
    account.quotas[SPOT_G] = 104.0
    assert about(findings_of(lab(), account, capacity), "spot vCPUs").status is Status.PASSED


def test_instances_of_another_stack_of_the_project_count() -> None:
    account = FakeAccount()
    other = [{"Key": "Project", "Value": "ai-platform"}, {"Key": "Stack", "Value": "prod"}]
    running(account, instance(1, "g5.12xlarge", Tags=other))
    assert about(findings_of(lab(), account, capacity), "spot vCPUs").needed == "144"


@pytest.mark.parametrize("market", ["capacity-block", "interruptible-capacity-reservation"])
def test_reserved_capacity_has_limits_of_its_own(market: str) -> None:
    account = FakeAccount()
    running(account, instance(1, "g5.48xlarge", InstanceLifecycle=market))
    assert about(findings_of(lab(), account, capacity), "spot vCPUs").needed == "96"


@pytest.mark.parametrize(
    ("changes", "spot", "on_demand"),
    [
        ({"maximum": 5, "onDemandBase": 1, "onDemandPercentage": 25}, "144", "96"),
        ({"maximum": 4, "onDemandBase": 0, "onDemandPercentage": 100}, None, "192"),
        ({"maximum": 3, "onDemandBase": 3, "onDemandPercentage": 0}, None, "144"),
        ({"maximum": 3, "onDemandPercentage": 50}, "96", "96"),
    ],
)
def test_a_mixed_fleet_is_split_and_each_share_rounded_up(
    changes: dict[str, Any], spot: str | None, on_demand: str
) -> None:
    findings = findings_of(stack_with("dev", fleet(**changes)), FakeAccount(), capacity)
    needed = {
        item.what.split()[0]: item.needed
        for item in findings
        if " vCPUs (" in item.what and "G and VT" in item.what
    }
    assert needed == {**({"spot": spot} if spot else {}), "on-demand": on_demand}


def test_the_largest_type_counts() -> None:
    stack = stack_with("dev", fleet(instanceTypes=["g5.xlarge", "g5.8xlarge", "g6.2xlarge"]))
    assert about(findings_of(stack, FakeAccount(), capacity), "spot vCPUs").needed == "64"


def test_weights_make_the_maximum_a_number_of_units() -> None:
    changes = fleet(
        instanceTypes=["g5.xlarge", "g5.4xlarge"], maximum=8, weights={"g5.xlarge": 1, "g5.4xlarge": 4},
        purpose="training", nodeImage="dlami", checkpointPath="/mnt/shared-data/checkpoints/lab",
    )  # fmt: skip
    finding = about(findings_of(stack_with("dev", changes), FakeAccount(), capacity), "spot vCPUs")
    assert finding.needed == "32", "eight small nodes or two large ones"


def test_compute_environments_add_their_maximum() -> None:
    findings = findings_of(stack_of("prod"), FakeAccount(), capacity)
    assert about(findings, "Running On-Demand P").needed == "768", "single and multi-node jobs on demand"
    assert about(findings, "All P4, P3 and P2 Spot").needed == "384"
    assert about(findings, "All G and VT Spot").needed == "224"


def test_a_compute_environment_is_filled_with_whole_nodes() -> None:
    share = BatchShare(maximum_vcpus=100, spot=True)
    assert share.vcpus("p4d.24xlarge", spot=True)[0] == 192, "Batch may pass its maximum by a part of a node"
    assert share.vcpus("g5.xlarge", spot=True)[0] == 100
    assert share.vcpus("p4d.24xlarge", spot=False)[0] == 0


def test_a_sleeping_stack_needs_no_vcpus() -> None:
    findings = findings_of(stack_with("prod", {"asleep": True}), FakeAccount(), capacity)
    assert [item.what for item in findings if " vCPUs (" in item.what and "Fargate" not in item.what] == []


@pytest.mark.parametrize(
    ("instance_type", "spot", "on_demand"),
    [
        ("g4dn.xlarge", SPOT_G, ON_DEMAND_G),
        ("gr6.4xlarge", SPOT_G, ON_DEMAND_G),
        ("vt1.3xlarge", SPOT_G, ON_DEMAND_G),
        ("p3.2xlarge", "L-7212CCBC", "L-417A185B"),
        ("p4de.24xlarge", "L-7212CCBC", "L-417A185B"),
        ("p5en.48xlarge", "L-C4BD4855", "L-417A185B"),
        ("p6-b200.48xlarge", "", "L-417A185B"),
        ("inf2.xlarge", "L-B5D1601B", "L-1945791B"),
        ("trn1n.32xlarge", "L-6B0D517C", "L-2C3B7624"),
    ],
)
def test_each_family_has_its_codes(instance_type: str, spot: str, on_demand: str) -> None:
    for is_spot, code in ((True, spot), (False, on_demand)):
        found = vcpu_quota(instance_type, spot=is_spot)
        assert found is not None and found.code == code


@pytest.mark.parametrize(
    "instance_type", ["m7i.large", "hpc7g.16xlarge", "u-6tb1.metal", "mac2.metal", "t3.nano"]
)
def test_other_families_count_against_nothing_here(instance_type: str) -> None:
    assert vcpu_quota(instance_type, spot=False) is None


def test_every_type_that_a_fleet_can_have_has_a_code() -> None:
    names = [
        row["instance_type"] for row in csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines()[1:])
    ]
    assert len(names) > 50
    without = [name for name in names for spot in (True, False) if vcpu_quota(name, spot=spot) is None]
    assert without == [], "nodes of these types would be checked against no limit"


def p6() -> Stack:
    changes = {
        "region": "us-west-2",
        "availabilityZones": ["us-west-2a", "us-west-2b"],
        "answerModel": "us.anthropic.claude-haiku-4-5-20251001-v1:0",
        **fleet(instanceTypes=["p6-b200.48xlarge"]),
    }
    return stack_with("dev", changes)


def test_the_spot_limit_of_p6_is_found_by_its_name() -> None:
    account = FakeAccount()
    account.quota_names["ec2"] = {
        "L-C4BD4855": "All P5 Spot Instance Requests",
        "L-0000BEEF": "All P6 Spot Instance Requests",
    }
    account.quotas["L-0000BEEF"] = 100.0
    finding = about(findings_of(p6(), account, capacity), "spot vCPUs")
    assert (finding.status, finding.quota, finding.needed) == (Status.FAILED, "ec2 L-0000BEEF", "384")


def test_a_spot_limit_of_p6_that_aws_does_not_list_is_not_taken_for_a_pass() -> None:
    account = FakeAccount()
    account.quota_names["ec2"] = {"L-C4BD4855": "All P5 Spot Instance Requests"}
    finding = about(findings_of(p6(), account, capacity), "spot vCPUs")
    assert finding.status is Status.UNCHECKED
    assert "list-aws-default-service-quotas --service-code ec2" in finding.detail


def test_a_quota_without_a_value_is_not_taken_for_a_pass() -> None:
    account = FakeAccount()
    reason = {"ErrorCode": "DEPENDENCY_SERVICE_ERROR", "ErrorMessage": "EC2 does not answer"}
    account.answers["GetServiceQuota"] = lambda ServiceCode, QuotaCode: {"Quota": {"ErrorReason": reason}}
    finding = about(findings_of(lab(), account, capacity), "spot vCPUs")
    assert finding.status is Status.UNCHECKED and "EC2 does not answer" in finding.detail


def test_a_quota_that_cannot_be_raised_has_no_command_that_would_fail() -> None:
    account = FakeAccount()
    account.answers["GetServiceQuota"] = lambda ServiceCode, QuotaCode: {
        "Quota": {"Value": 0.0, "Adjustable": False}
    }
    finding = about(findings_of(lab(), account, capacity), "spot vCPUs")
    assert finding.fix == "" and "does not raise this limit" in finding.detail


class TestZones:
    """Types in the zones of a group; an answer may repeat itself and come in pages."""

    def offer(self, offered: dict[str, list[str]]) -> FakeAccount:
        def answer(LocationType: str, Filters: Any, NextToken: str = "") -> dict[str, Any]:
            rows = [
                {"InstanceType": name, "Location": f"{REGION}{letter}"}
                for name in Filters[0]["Values"]
                for letter in offered.get(name, [])
            ]
            return (
                {"InstanceTypeOfferings": rows}
                if NextToken
                else {"InstanceTypeOfferings": [], "NextToken": "x"}
            )

        account = FakeAccount()
        account.answers["DescribeInstanceTypeOfferings"] = answer
        return account

    def test_a_type_that_no_zone_has_fails_and_the_zones_that_work_are_named(self) -> None:
        finding = about(findings_of(lab(), self.offer({"g5.12xlarge": ["c"]}), offerings), "g5.12xlarge for")
        assert finding.status is Status.FAILED
        assert "eu-central-1 offers it in eu-central-1c" in finding.detail
        assert finding.fix == (
            "pulumi config set --stack dev --path 'ai-platform:availabilityZones[2]' eu-central-1c"
        ), "zones are appended: networks name their parts by place"

    def test_a_type_that_some_zones_have_is_a_warning(self) -> None:
        finding = about(
            findings_of(lab(), self.offer({"g5.12xlarge": ["b", "c"]}), offerings), "g5.12xlarge for"
        )
        assert finding.status is Status.WARNING
        assert "starts none in eu-central-1a" in finding.detail

    def test_a_region_without_the_type_needs_another_type(self) -> None:
        finding = about(findings_of(lab(), self.offer({}), offerings), "g5.12xlarge for")
        assert finding.status is Status.FAILED and "take g5.12xlarge out" in finding.fix

    def test_a_local_zone_is_no_zone_that_would_work(self) -> None:
        finding = about(
            findings_of(lab(), self.offer({"g5.12xlarge": ["-ham-1a", "c"]}), offerings), "g5.12xlarge for"
        )
        assert finding.fix.endswith("'ai-platform:availabilityZones[2]' eu-central-1c"), (
            "a Local Zone sorts first, and a network here takes none"
        )
        only = findings_of(lab(), self.offer({"g5.12xlarge": ["-ham-1a"]}), offerings)
        assert "take g5.12xlarge out" in about(only, "g5.12xlarge for").fix

    def test_multi_node_jobs_need_the_type_in_their_one_zone(self) -> None:
        findings = findings_of(stack_of("prod"), self.offer({"p4d.24xlarge": ["b", "c"]}), offerings)
        assert about(findings, "p4d.24xlarge for training-capacity-multi-node").status is Status.FAILED
        assert about(findings, "p4d.24xlarge for training-capacity-spot").status is Status.WARNING

    def test_the_zones_of_an_existing_network_are_asked_for(self) -> None:
        subnets = [
            {"id": f"subnet-0000000{letter}", "zone": f"{REGION}{letter}", "tier": "public"}
            for letter in "ab"
        ]
        changes = {"availabilityZones": None, "existingVpcId": "vpc-0a1b2c3d", "existingVpcCidr": "10.0.0.0/16",
                   "existingSubnets": subnets, **fleet()}  # fmt: skip
        stack = stack_with("dev", changes)
        account = self.offer({"g5.12xlarge": ["c"]})
        findings = findings_of(stack, account, offerings)
        finding = about(findings, "g5.12xlarge for")
        assert finding.status is Status.FAILED and "existingSubnets" in finding.fix
        assert ("ec2", "DescribeSubnets") in account.called
        assert network.checks(stack) == [], "no VPC is made"


class TestCapacityBlocks:
    """A fleet on a Capacity Block needs no quota, but the block."""

    BLOCK = {
        "CapacityReservationId": "cr-0123456789abcdef0",
        "State": "active",
        "InstanceType": "p5.48xlarge",
        "TotalInstanceCount": 2,
        "AvailabilityZone": "us-east-1a",
        "EndDate": datetime(2026, 12, 24, tzinfo=UTC),
    }

    def stack(self) -> Stack:
        block = fleet(
            instanceTypes=["p5.48xlarge"], capacityBlockReservationId="cr-0123456789abcdef0", nodeImage="dlami",
            purpose="training", checkpointPath="/mnt/shared-data/checkpoints/lab",
        )  # fmt: skip
        place = {"region": "us-east-1", "availabilityZones": ["us-east-1a", "us-east-1b"]}
        model = {"answerModel": "us.anthropic.claude-haiku-4-5-20251001-v1:0"}
        return stack_with("dev", {**block, **place, **model})

    def test_it_takes_no_part_in_the_limits(self) -> None:
        assert capacity.checks(self.stack()) == []
        assert offerings.checks(self.stack()) == []

    @pytest.mark.parametrize(
        ("change", "good"),
        [
            ({}, True),
            ({"State": "scheduled"}, True),
            ({"State": "expired"}, False),
            ({"TotalInstanceCount": 1}, False),
            ({"InstanceType": "p4d.24xlarge"}, False),
            ({"AvailabilityZone": "us-east-1c"}, False),
            ({"CapacityReservationId": "cr-1"}, False),
        ],
    )
    def test_the_block_must_fit_the_fleet(self, change: dict[str, Any], good: bool) -> None:
        account = FakeAccount()
        account.answers["DescribeCapacityReservations"] = lambda Filters, NextToken="": (
            {"CapacityReservations": [{**self.BLOCK, **change}]}
            if NextToken
            else {"CapacityReservations": [], "NextToken": "x"}
        )
        finding = about(findings_of(self.stack(), account, blocks), "Capacity Block cr-0123456789abcdef0")
        assert (finding.status is Status.PASSED) is good
        assert finding.needed == "active or scheduled, 2 x p5.48xlarge in us-east-1a or us-east-1b"
        assert bool(finding.fix) is not good

    @pytest.mark.parametrize("operation", ["DescribeCapacityReservations"])
    def test_a_block_that_may_not_be_seen_is_not_checked(self, operation: str) -> None:
        account = FakeAccount()
        account.refused[operation] = "UnauthorizedOperation"
        finding = about(findings_of(self.stack(), account, blocks), "Capacity Block")
        assert (finding.status, finding.needed) == (Status.UNCHECKED, f"permission ec2:{operation}")
