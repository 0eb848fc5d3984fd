"""Fargate, network, OpenSearch Serverless and Lambda against an account's limits."""

from typing import Any

import pytest

from ops.preflight import fargate, functions, network, vectors
from ops.preflight.findings import Status
from ops.preflight.stack import Stack
from tests.ops.preflight_account import ACCOUNT_ID, REGION, FakeAccount, RefusedError, refuse
from tests.ops.preflight_runs import about, findings_of, stack_of, stack_with


class TestFargate:
    """Tasks at their most against the vCPUs of Fargate and of Fargate Spot."""

    def test_each_provider_needs_its_part_of_the_most_tasks(self) -> None:
        account = FakeAccount()
        account.answers["ListClusters"] = lambda: {}
        findings = findings_of(stack_of("staging"), account, fargate)
        assert about(findings, "Fargate On-Demand").needed == "3", (
            "four tasks of 1 vCPU, half on spot, one as base"
        )
        assert about(findings, "Fargate Spot").needed == "2"

    def test_tasks_of_other_clusters_count_and_own_ones_do_not(self) -> None:
        arn = f"arn:aws:ecs:{REGION}:{ACCOUNT_ID}:cluster"
        account = FakeAccount()
        account.quotas["L-3032A538"] = 200.0
        account.answers["ListClusters"] = lambda nextToken="": (
            {"clusterArns": [f"{arn}/other", f"{arn}/ai-cluster", f"{arn}/other"]}
            if nextToken
            else {"clusterArns": [], "nextToken": "x"}
        )
        account.answers["ListTasks"] = lambda cluster: {"taskArns": [f"{cluster}/{n}" for n in range(120)]}
        kinds = [{"launchType": "FARGATE"}, {"launchType": "EC2"}, {"capacityProviderName": "FARGATE_SPOT"}]
        account.answers["DescribeTasks"] = lambda cluster, tasks: {
            "tasks": [
                {"taskArn": task, "cpu": "256", **kinds[int(task.rpartition("/")[2]) % 3]} for task in tasks
            ]
        }
        finding = about(findings_of(stack_of("prod"), account, fargate), "Fargate On-Demand")
        assert finding.needed == "50", "forty of the stack, and ten that others run"
        assert "in use by others: 10" in finding.detail

    @pytest.mark.parametrize(("limit", "status"), [(39.0, "failed"), (40.0, "warning"), (80.0, "passed")])
    def test_a_deployment_needs_room_for_twice_the_tasks(self, limit: float, status: str) -> None:
        account = FakeAccount()
        account.answers["ListClusters"] = lambda: {}
        account.quotas["L-3032A538"] = limit
        assert about(findings_of(stack_of("prod"), account, fargate), "Fargate On-Demand").status == status


class TestNetwork:
    """VPCs, addresses and NAT gateways beside those of others."""

    OWN = [{"Key": "Project", "Value": "ai-platform"}, {"Key": "Stack", "Value": "prod"}]

    @pytest.mark.parametrize(("others", "status"), [(4, "passed"), (5, "failed")])
    def test_one_more_vpc_must_fit_and_the_stacks_own_is_not_one_more(self, others: int, status: str) -> None:
        account = FakeAccount()
        account.quotas["L-F678F1CE"] = 5.0
        rows: list[dict[str, Any]] = [{"VpcId": f"vpc-{number}"} for number in range(others)]
        rows += [rows[0], {"VpcId": "vpc-own", "Tags": self.OWN}]
        account.answers["DescribeVpcs"] = lambda NextToken="": (
            {"Vpcs": rows} if NextToken else {"Vpcs": [], "NextToken": "x"}
        )
        finding = about(findings_of(stack_of("prod"), account, network), "VPCs per Region")
        assert (finding.status, finding.needed) == (status, str(others + 1))

    def test_addresses_count_but_not_those_that_a_service_manages(self) -> None:
        account = FakeAccount()
        account.quotas["L-0263D0A3"] = 5.0
        rows = [{"AllocationId": f"eipalloc-{number}"} for number in range(3)]
        managed = {"AllocationId": "eipalloc-9", "ServiceManaged": "alb"}
        account.answers["DescribeAddresses"] = lambda: {"Addresses": [*rows, rows[0], managed]}
        finding = about(findings_of(stack_of("prod"), account, network), "Elastic IPs")
        assert (finding.status, finding.needed, finding.found) == (Status.FAILED, "6", "5")

    def test_nat_gateways_are_limited_in_each_zone(self) -> None:
        account = FakeAccount()
        account.quotas["L-FE5A380F"] = 2.0
        rows = [{"NatGatewayId": f"nat-{number}", "SubnetId": "subnet-b"} for number in range(2)]
        rows += [rows[0], {"NatGatewayId": "nat-regional"}]
        account.answers["DescribeNatGateways"] = lambda Filter: {"NatGateways": rows}
        account.answers["DescribeSubnets"] = lambda SubnetIds: {
            "Subnets": [{"SubnetId": name, "AvailabilityZone": f"{REGION}b"} for name in SubnetIds]
        }
        findings = findings_of(stack_of("prod"), account, network)
        assert about(findings, "NAT gateways per Availability Zone, eu-central-1b").status is Status.FAILED
        assert about(findings, "NAT gateways per Availability Zone, eu-central-1a").status is Status.PASSED

    def test_zones_that_share_a_limit_ask_for_the_same(self) -> None:
        account = FakeAccount()
        account.quotas["L-FE5A380F"] = 0.0
        findings = findings_of(stack_of("prod"), account, network)
        fixes = [item.fix for item in findings if "NAT gateways" in item.what]
        assert len(fixes) == 3 and len(set(fixes)) == 1, (
            "the second command would ask for less than the first"
        )
        assert "--desired-value 2 " in fixes[0], "one of others and one of the stack, in the fullest zone"

    def test_a_stack_without_nat_needs_no_address(self) -> None:
        findings = findings_of(stack_of("dev"), FakeAccount(), network)
        assert [item.what for item in findings] == ["VPCs per Region"]


class TestVectors:
    """Limits of OpenSearch Serverless, which are known by their names only."""

    def test_collections_of_others_count_and_the_stacks_own_does_not(self) -> None:
        account = FakeAccount()
        account.quotas["L-AAAA0001"] = 2.0
        names = ["one", "two", "ai-platform-prod", "one"]
        account.answers["ListCollections"] = lambda nextToken="": (
            {"collectionSummaries": [{"name": name} for name in names]}
            if nextToken
            else {"collectionSummaries": [], "nextToken": "x"}
        )
        finding = about(findings_of(stack_of("prod"), account, vectors), "Serverless collections")
        assert (finding.status, finding.needed, finding.quota) == (Status.FAILED, "3", "aoss L-AAAA0001")

    def test_a_group_may_not_be_larger_than_allowed(self) -> None:
        account = FakeAccount()
        account.quotas["L-AAAA0003"] = 4.0
        findings = findings_of(stack_of("prod"), account, vectors)
        assert about(findings, "Indexing OCUs").status is Status.FAILED
        assert about(findings, "Search OCUs").status is Status.PASSED

    @pytest.mark.parametrize("unknown", [True, False])
    def test_limits_that_aws_does_not_list_are_a_warning(self, unknown: bool) -> None:
        account = FakeAccount()
        account.quota_names["aoss"] = {}
        if unknown:
            account.answers["ListAWSDefaultServiceQuotas"] = refuse("NoSuchResourceException")
        findings = [
            item
            for item in findings_of(stack_of("prod"), account, vectors)
            if "OpenSearch Serverless c" in item.what
        ]
        assert [item.status for item in findings] == [Status.WARNING] * 3
        assert all("list-service-quotas --service-code aoss" in item.fix for item in findings)


def test_an_answer_that_lacks_a_part_is_not_taken_for_a_pass() -> None:
    account = FakeAccount()
    account.answers["GetAccountSettings"] = lambda: {}
    finding = about(findings_of(stack_of("prod"), account, functions), "Lambda")
    assert (finding.status, finding.detail) == (Status.UNCHECKED, "AWS's answer has no AccountLimit.")


class TestLambda:
    """Concurrency: what is reserved, and what stays for all."""

    def limited(self, limit: int, unreserved: int) -> FakeAccount:
        account = FakeAccount()
        limits = {"ConcurrentExecutions": limit, "UnreservedConcurrentExecutions": unreserved}
        account.answers["GetAccountSettings"] = lambda: {"AccountLimit": limits}
        return account

    @pytest.mark.parametrize(("unreserved", "status"), [(149, "failed"), (150, "passed")])
    def test_a_reservation_leaves_a_hundred_to_the_others(self, unreserved: int, status: str) -> None:
        stack = self.reserving()
        finding = about(findings_of(stack, self.limited(200, unreserved), functions), "Lambda concurrency")
        assert (finding.status, finding.needed) == (status, "150")

    def reserving(self) -> Stack:
        return stack_with("dev", {"orchestratorReservedConcurrency": 50})

    def test_what_the_stack_has_reserved_itself_counts_once(self) -> None:
        arn = f"arn:aws:lambda:{REGION}:{ACCOUNT_ID}:function:"

        def resources(TagFilters: Any, ResourceTypeFilters: Any, PaginationToken: str = "") -> dict[str, Any]:
            assert TagFilters == [
                {"Key": "Project", "Values": ["ai-platform"]},
                {"Key": "Stack", "Values": ["dev"]},
            ]
            names = ("answer", "index", "gone", "answer") if PaginationToken else ()
            more = {} if PaginationToken else {"PaginationToken": "x"}
            return {"ResourceTagMappingList": [{"ResourceARN": arn + name} for name in names], **more}

        def concurrency(FunctionName: str) -> dict[str, Any]:
            if FunctionName.endswith("gone"):
                raise RefusedError("ResourceNotFoundException")
            return {"ReservedConcurrentExecutions": 50} if FunctionName.endswith("answer") else {}

        account = self.limited(150, 100)
        account.answers |= {"GetResources": resources, "GetFunctionConcurrency": concurrency}
        finding = about(findings_of(self.reserving(), account, functions), "Lambda concurrency")
        assert (finding.status, finding.needed, finding.found) == (Status.PASSED, "150", "150")

    @pytest.mark.parametrize("operation", ["GetResources", "GetFunctionConcurrency"])
    def test_a_reservation_that_may_not_be_seen_is_not_checked(self, operation: str) -> None:
        account = self.limited(150, 100)
        account.answers["GetResources"] = lambda TagFilters, ResourceTypeFilters: {
            "ResourceTagMappingList": [{"ResourceARN": f"arn:aws:lambda:{REGION}:{ACCOUNT_ID}:function:a"}]
        }
        account.refused[operation] = "AccessDeniedException"
        finding = about(findings_of(self.reserving(), account, functions), "Lambda concurrency")
        assert finding.status is Status.UNCHECKED
        assert finding.needed in ("permission tag:GetResources", "permission lambda:GetFunctionConcurrency")

    def test_a_reservation_and_a_hundred_runs_of_queues_add_up(self) -> None:
        stack = stack_with("dev", {"orchestratorReservedConcurrency": 50, "ingestionMaximumConcurrency": 200})
        finding = about(findings_of(stack, self.limited(1000, 1000), functions), "Lambda concurrency")
        assert finding.needed == "251", "50 reserved, 200 of ingestion, and one function that makes the index"

    def test_a_new_account_must_hold_the_runs_of_ingestion(self) -> None:
        finding = about(findings_of(stack_of("prod"), self.limited(10, 10), functions), "Lambda concurrency")
        assert (finding.status, finding.needed) == (Status.FAILED, "13"), (
            "10 of ingestion, and three other functions"
        )
        assert "--service-code lambda --quota-code L-B99A9384 --desired-value 13" in finding.fix

    def test_a_stack_without_functions_asks_nothing(self) -> None:
        stack = stack_with(
            "dev", {"vectorStore": False, "ingestion": False, "orchestrator": False, "ragService": False}
        )
        assert [
            item.what for item in findings_of(stack, FakeAccount(), functions) if "Lambda" in item.what
        ] == []
