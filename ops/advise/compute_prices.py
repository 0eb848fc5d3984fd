"""What units of Lambda, Fargate, a load balancer and an EKS cluster cost, each with its source and day.

All of x86, so that the three compare; Arm costs about a fifth less on each that takes it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import date

from ops.cost.prices import Price, Prices
from ops.price_table import MONTH_HOURS, PriceTableError

MONTH_SECONDS = MONTH_HOURS * 3600
EKS_CLUSTER = Price(
    service="EKS", what="cluster", region="", unit="hour", price_usd=0.10, read_on=date(2026, 3, 1),
    source="https://aws.amazon.com/blogs/containers/amazon-eks-extended-support-for-kubernetes-versions-pricing/, and for March 2026 https://cloudburn.io/blog/amazon-eks-pricing",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ComputePrices:
    """One price for each thing that is paid for."""

    lambda_million_requests: Price
    lambda_gb_second: Price
    fargate_vcpu_hour: Price
    fargate_gb_hour: Price
    load_balancer_hour: Price
    eks_cluster_hour: Price = EKS_CLUSTER

    def __iter__(self) -> Iterator[Price]:
        return (getattr(self, each.name) for each in fields(self))


def compute_prices(region: str) -> ComputePrices:
    """Those of this region, and of us-east-1 where the table has none of it; each tells its own."""
    table = Prices()

    def of(service: str, what: str) -> Price:
        price = table.of(service, what, region)
        if price is None:
            raise PriceTableError(f"The table of services has no price of {service} {what}. Take the file from version control again.")  # fmt: skip
        return price

    return ComputePrices(
        lambda_million_requests=of("Lambda", "requests"),
        lambda_gb_second=of("Lambda", "x86 compute"),
        fargate_vcpu_hour=of("Fargate", "x86 vCPU"),
        fargate_gb_hour=of("Fargate", "x86 memory"),
        load_balancer_hour=of("ELB", "application load balancer"),
    )
