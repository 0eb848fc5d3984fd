"""The limits that a stack can run into, with their codes in Service Quotas, and which instances count against which."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class QuotaCode:
    """`code` is empty where sources disagree: the limit is then looked up by `name`, a regular expression."""

    service: str
    code: str
    name: str

    def __str__(self) -> str:
        return f"{self.service} {self.code}".rstrip()


@dataclass(frozen=True, kw_only=True)
class VcpuClass:
    """Instance families, such as `g` or `p5`, whose vCPUs count together."""

    families: tuple[str, ...]
    on_demand: QuotaCode
    spot: QuotaCode


def _ec2(code: str, name: str) -> QuotaCode:
    return QuotaCode(service="ec2", code=code, name=name)


_P_ON_DEMAND = _ec2("L-417A185B", "Running On-Demand P instances")
# Codes: skypilot-org/skypilot-catalog, catalogs/v5/aws/accelerator_quota_mapping.csv, and listings of
# `aws service-quotas list-service-quotas` in public repositories, read 2026-12-01. For P6 on spot two sources name
# two codes, so its limit is found by its name.
VCPU_CLASSES = (
    VcpuClass(
        families=("g", "gr", "vt"),
        on_demand=_ec2("L-DB2E81BA", "Running On-Demand G and VT instances"),
        spot=_ec2("L-3819A6DF", "All G and VT Spot Instance Requests"),
    ),
    VcpuClass(
        families=("p2", "p3", "p4"),
        on_demand=_P_ON_DEMAND,
        spot=_ec2("L-7212CCBC", "All P4, P3 and P2 Spot Instance Requests"),
    ),
    VcpuClass(
        families=("p5",),
        on_demand=_P_ON_DEMAND,
        spot=_ec2("L-C4BD4855", "All P5 Spot Instance Requests"),
    ),
    VcpuClass(families=("p6",), on_demand=_P_ON_DEMAND, spot=_ec2("", r"All .*\bP6\b.* Spot")),
    VcpuClass(
        families=("inf",),
        on_demand=_ec2("L-1945791B", "Running On-Demand Inf instances"),
        spot=_ec2("L-B5D1601B", "All Inf Spot Instance Requests"),
    ),
    VcpuClass(
        families=("trn",),
        on_demand=_ec2("L-2C3B7624", "Running On-Demand Trn instances"),
        spot=_ec2("L-6B0D517C", "All Trn Spot Instance Requests"),
    ),
)

# The names of these are AWS's own, in the listings named above.
FARGATE_ON_DEMAND = QuotaCode(
    service="fargate", code="L-3032A538", name="Fargate On-Demand vCPU resource count"
)
FARGATE_SPOT = QuotaCode(service="fargate", code="L-36FBB829", name="Fargate Spot vCPU resource count")
VPCS = QuotaCode(service="vpc", code="L-F678F1CE", name="VPCs per Region")
ELASTIC_IPS = _ec2("L-0263D0A3", "EC2-VPC Elastic IPs")
NAT_GATEWAYS = QuotaCode(service="vpc", code="L-FE5A380F", name="NAT gateways per Availability Zone")
CONCURRENCY = QuotaCode(service="lambda", code="L-B99A9384", name="Concurrent executions")
# No listing read had a quota of OpenSearch Serverless, so these are found by their names.
COLLECTIONS = QuotaCode(service="aoss", code="", name=r"(?i)\bcollections\b(?!.*\bgroup)(?!.*\bOCU)")
COLLECTION_GROUPS = QuotaCode(service="aoss", code="", name=r"(?i)\bcollection groups\b(?!.*\bOCU)")
GROUP_OCUS = QuotaCode(service="aoss", code="", name=r"(?i)(?=.*\bgroup)(?=.*(\bOCUs?\b|Compute Units))")


def vcpu_quota(instance_type: str, *, spot: bool) -> QuotaCode | None:
    """The limit that an instance counts against, or None for a family that no fleet can have."""
    found = re.match(r"([a-z]+)\d", instance_type)
    if not found:
        return None
    family = (found[1], found[0])
    for group in VCPU_CLASSES:
        if any(name in family for name in group.families):
            return group.spot if spot else group.on_demand
    return None
