"""Whether the account may start the nodes of a stack: vCPUs on spot and on demand, apart from each other."""

from collections.abc import Iterator
from typing import Any

from ops.preflight.account import Account
from ops.preflight.checks import Check
from ops.preflight.findings import Finding
from ops.preflight.nodes import VcpuDemand, all_nodes, vcpus_of
from ops.preflight.quota_codes import QuotaCode, vcpu_quota
from ops.preflight.quotas import FIND_QUOTA, READ_QUOTA, Demand, limit_findings
from ops.preflight.stack import Stack

# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-resource-limits.html counts running and pending.
COUNTED_STATES = ["pending", "running"]
# Instances in a Capacity Block or on a Dedicated Host have limits of their own.
COUNTED_MARKETS = {"spot": True, None: False, "scheduled": False}


def checks(stack: Stack) -> list[Check]:
    """One check for each limit that any group of nodes needs."""
    demands: dict[QuotaCode, list[VcpuDemand]] = {}
    for nodes in all_nodes(stack):
        for demand in nodes.demands():
            demands.setdefault(demand.code, []).append(demand)
    return [_check(stack, code, wanted) for code, wanted in demands.items()]


def _check(stack: Stack, code: QuotaCode, wanted: list[VcpuDemand]) -> Check:
    spot = wanted[0].spot
    what = f"{'spot' if spot else 'on-demand'} vCPUs" + (f" ({code.name})" if code.code else "")
    source = " and ".join(demand.words for demand in wanted)
    added = sum(demand.vcpus for demand in wanted)

    def ask(account: Account) -> Iterator[Finding]:
        used = vcpus_in_use(account, stack, code, spot=spot)
        yield from limit_findings(account, code, Demand(what=what, added=added, used=used, source=source))

    actions = (*(READ_QUOTA if code.code else FIND_QUOTA), "ec2:DescribeInstances")
    return Check(what=what, ask=ask, actions=actions)


def vcpus_in_use(account: Account, stack: Stack, code: QuotaCode, *, spot: bool) -> int:
    """The vCPUs of all other instances that count against a limit. The stack's own are in its maximum already."""
    counted = {
        instance["InstanceId"]: _vcpus(instance)
        for instance in _instances(account)
        if not stack.is_own(instance.get("Tags"))
        and instance.get("Placement", {}).get("Tenancy") != "host"
        and COUNTED_MARKETS.get(instance.get("InstanceLifecycle")) is spot
        and vcpu_quota(instance["InstanceType"], spot=spot) == code
    }
    return sum(counted.values())


def _vcpus(instance: Any) -> int:
    """As many as the instance was started with, which may be fewer than its type has."""
    options = instance.get("CpuOptions", {})
    if options.get("CoreCount"):
        return options["CoreCount"] * options.get("ThreadsPerCore", 1)
    return vcpus_of(instance["InstanceType"])


def _instances(account: Account) -> list[Any]:
    parameters = {"Filters": [{"Name": "instance-state-name", "Values": COUNTED_STATES}]}
    reservations = account.once(
        "instances", lambda: list(account.listed("ec2", "describe_instances", "Reservations", parameters))
    )
    return [instance for reservation in reservations for instance in reservation.get("Instances", ())]
