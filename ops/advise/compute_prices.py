"""Prices of Lambda, Fargate, a load balancer and an EKS cluster in us-east-1, USD.

Lambda arm64, Fargate x86 and the load balancer: the Price List API as kept in infracost's tests, 2024-07 to 2025-07.
EKS: https://aws.amazon.com/blogs/containers/amazon-eks-extended-support-for-kubernetes-versions-pricing/, confirmed by
https://cloudburn.io/blog/amazon-eks-pricing for March 2026. Regions differ by some tenths: for a decision, not a bill.
"""

from datetime import date

READ_ON = date(2026, 12, 1)
REGION = "us-east-1"
LAMBDA_USD_REQUEST = 0.20 / 1_000_000
LAMBDA_USD_GB_SECOND = 0.0000133334
FARGATE_USD_VCPU_HOUR = 0.04048
FARGATE_USD_GB_HOUR = 0.004445
LOAD_BALANCER_USD_HOUR = 0.0225
EKS_CLUSTER_USD_HOUR = 0.10
MONTH_HOURS = 730
MONTH_SECONDS = MONTH_HOURS * 3600
