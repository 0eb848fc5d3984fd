"""Whether the account has room for the VPC, the addresses and the NAT gateways that a stack adds."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from ops.preflight.account import Account
from ops.preflight.checks import Check
from ops.preflight.findings import Finding
from ops.preflight.offerings import subnet_zones
from ops.preflight.quota_codes import ELASTIC_IPS, NAT_GATEWAYS, VPCS, QuotaCode
from ops.preflight.quotas import READ_QUOTA, Demand, limit_finding
from ops.preflight.stack import Stack

VPC = "aws:ec2/vpc:Vpc"
ELASTIC_IP = "aws:ec2/eip:Eip"
NAT_GATEWAY = "aws:ec2/natGateway:NatGateway"
# https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html counts these.
NAT_STATES = ["pending", "available", "deleting"]


def checks(stack: Stack) -> list[Check]:
    """A check for each kind of thing that the stack makes; none for an existing VPC."""
    return [
        *_counted(stack, VPC, VPCS, "ec2:DescribeVpcs", vpcs),
        *_counted(stack, ELASTIC_IP, ELASTIC_IPS, "ec2:DescribeAddresses", addresses),
        *_nat_checks(stack),
    ]


def _counted(
    stack: Stack, type_token: str, code: QuotaCode, action: str, existing: Callable[[Account], dict[str, Any]]
) -> list[Check]:
    added = len(stack.of_type(type_token))

    def ask(account: Account) -> Iterator[Finding]:
        others = [item for item in existing(account).values() if not stack.is_own(item.get("Tags"))]
        demand = Demand(what=code.name, added=added, used=len(others), source="the network")
        yield limit_finding(account, code, demand)

    return [Check(what=code.name, ask=ask, actions=(*READ_QUOTA, action))] if added else []


def vpcs(account: Account) -> dict[str, Any]:
    """Every VPC by its id."""
    return {item["VpcId"]: item for item in account.listed("ec2", "describe_vpcs", "Vpcs")}


def addresses(account: Account) -> dict[str, Any]:
    """Every Elastic IP of the account by its id; those that a service manages for itself do not count."""
    found = account.client("ec2").describe_addresses().get("Addresses", ())
    return {item["AllocationId"]: item for item in found if not item.get("ServiceManaged")}


def _nat_checks(stack: Stack) -> list[Check]:
    """NAT gateways are limited in each zone."""
    added = Counter(stack.zones[str(item.inputs["subnetId"])] for item in stack.of_type(NAT_GATEWAY))

    def ask(account: Account) -> Iterator[Finding]:
        used = nat_gateways_by_zone(account, stack)
        largest = max(added[zone] + used[zone] for zone in added)
        for zone in sorted(added):
            what = f"{NAT_GATEWAYS.name}, {zone}"
            demand = Demand(
                what=what, added=added[zone], used=used[zone], source="the network", largest=largest
            )
            yield limit_finding(account, NAT_GATEWAYS, demand)

    actions = (*READ_QUOTA, "ec2:DescribeNatGateways", "ec2:DescribeSubnets")
    return [Check(what=NAT_GATEWAYS.name, ask=ask, actions=actions)] if added else []


def nat_gateways_by_zone(account: Account, stack: Stack) -> Counter[str]:
    """How many NAT gateways of others each zone has."""
    parameters = {"Filter": [{"Name": "state", "Values": NAT_STATES}]}
    found = account.listed("ec2", "describe_nat_gateways", "NatGateways", parameters)
    others = {item["NatGatewayId"]: item for item in found if not stack.is_own(item.get("Tags"))}
    # A regional gateway spans zones and lies in no subnet.
    subnets = [item["SubnetId"] for item in others.values() if item.get("SubnetId")]
    zones = subnet_zones(account, subnets) if subnets else {}
    return Counter(zones[subnet_id] for subnet_id in subnets if subnet_id in zones)
