"""Where the Price List has what `ops/cost/prices.csv` holds: service code, usage type, and what tells products apart."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# The attribute that names a product's region; of traffic it is where the traffic comes from.
REGION, FROM_REGION = "regionCode", "fromRegionCode"


@dataclass(frozen=True, kw_only=True)
class Query:
    """A usage type without its region's prefix; `factor` turns AWS's unit into the table's, such as a request into a million."""

    service_code: str
    usage_type: str
    unit: str
    factor: float = 1
    filters: Mapping[str, str] = field(default_factory=dict)
    region_field: str = REGION


def _query(service_code: str, usage_type: str, unit: str, factor: float = 1, **filters: str) -> Query:
    return Query(service_code=service_code, usage_type=usage_type, unit=unit, factor=factor, filters=filters)


def _fargate(usage_type: str, unit: str) -> Query:
    return _query("AmazonECS", usage_type, unit, productFamily="Compute")


# By the table's service and words. Usage types as AWS's bills show them.
QUERIES: Mapping[tuple[str, str], Query] = {
    ("VPC", "NAT gateway"): _query("AmazonEC2", "NatGateway-Hours", "hour", productFamily="NAT Gateway"),
    ("VPC", "NAT gateway data"): _query("AmazonEC2", "NatGateway-Bytes", "GB", productFamily="NAT Gateway"),
    ("VPC", "public IPv4 address"): _query("AmazonVPC", "PublicIPv4:InUseAddress", "hour", group="VPCPublicIPv4Address"),
    ("VPC", "interface endpoint"): _query("AmazonVPC", "VpcEndpoint-Hours", "zone-hour", endpointType="PrivateLink"),
    ("VPC", "interface endpoint data"): _query("AmazonVPC", "VpcEndpoint-Bytes", "GB", endpointType="PrivateLink"),
    ("VPC", "data out to the internet"): Query(
        service_code="AWSDataTransfer", usage_type="DataTransfer-Out-Bytes", unit="GB",
        filters={"transferType": "AWS Outbound"}, region_field=FROM_REGION,
    ),
    ("ELB", "application load balancer"): _query("AWSELB", "LoadBalancerUsage", "hour", productFamily="Load Balancer-Application"),
    ("ELB", "capacity unit"): _query("AWSELB", "LCUUsage", "LCU-hour", productFamily="Load Balancer-Application"),
    ("Fargate", "x86 vCPU"): _fargate("Fargate-vCPU-Hours:perCPU", "vCPU-hour"),
    ("Fargate", "x86 memory"): _fargate("Fargate-GB-Hours", "GB-hour"),
    ("Fargate", "arm64 vCPU"): _fargate("Fargate-ARM-vCPU-Hours:perCPU", "vCPU-hour"),
    ("Fargate", "arm64 memory"): _fargate("Fargate-ARM-GB-Hours", "GB-hour"),
    ("Fargate", "spot x86 vCPU"): _fargate("SpotUsage-Fargate-vCPU-Hours:perCPU", "vCPU-hour"),
    ("Fargate", "spot x86 memory"): _fargate("SpotUsage-Fargate-GB-Hours", "GB-hour"),
    ("Fargate", "spot arm64 vCPU"): _fargate("SpotUsage-Fargate-ARM-vCPU-Hours:perCPU", "vCPU-hour"),
    ("Fargate", "spot arm64 memory"): _fargate("SpotUsage-Fargate-ARM-GB-Hours", "GB-hour"),
    ("Lambda", "x86 compute"): _query("AWSLambda", "Lambda-GB-Second", "GB-second", group="AWS-Lambda-Duration"),
    ("Lambda", "arm64 compute"): _query("AWSLambda", "Lambda-GB-Second-ARM", "GB-second", group="AWS-Lambda-Duration-ARM"),
    ("Lambda", "requests"): _query("AWSLambda", "Request", "million", 1e6, group="AWS-Lambda-Requests"),
    ("S3", "STANDARD"): _query("AmazonS3", "TimedStorage-ByteHrs", "GB-month", productFamily="Storage"),
    ("S3", "STANDARD_IA"): _query("AmazonS3", "TimedStorage-SIA-ByteHrs", "GB-month", productFamily="Storage"),
    ("S3", "ONEZONE_IA"): _query("AmazonS3", "TimedStorage-ZIA-ByteHrs", "GB-month", productFamily="Storage"),
    ("S3", "GLACIER"): _query("AmazonS3", "TimedStorage-GlacierByteHrs", "GB-month", productFamily="Storage"),
    ("S3", "GLACIER_IR"): _query("AmazonS3", "TimedStorage-GIR-ByteHrs", "GB-month", productFamily="Storage"),
    ("S3", "DEEP_ARCHIVE"): _query("AmazonS3", "TimedStorage-GDA-ByteHrs", "GB-month", productFamily="Storage"),
    ("S3", "writes"): _query("AmazonS3", "Requests-Tier1", "thousand", 1000, group="S3-API-Tier1"),
    ("S3", "reads"): _query("AmazonS3", "Requests-Tier2", "thousand", 1000, group="S3-API-Tier2"),
    ("EFS", "Standard"): _query("AmazonEFS", "TimedStorage-ByteHrs", "GB-month", productFamily="Storage"),
    ("EFS", "Standard One Zone"): _query("AmazonEFS", "TimedStorage-Z-ByteHrs", "GB-month", productFamily="Storage"),
    ("EFS", "Infrequent Access"): _query("AmazonEFS", "IATimedStorage-ByteHrs", "GB-month", productFamily="Storage"),
    ("EFS", "elastic reads"): _query("AmazonEFS", "ETDataAccess-Bytes", "GB", accessType="Read"),
    ("EFS", "elastic writes"): _query("AmazonEFS", "ETDataAccess-Bytes", "GB", accessType="Write"),
    ("Backup", "file systems"): _query("AWSBackup", "WarmStorage-ByteHrs-EFS", "GB-month", productFamily="AWS Backup Storage"),
    ("EBS", "gp3"): _query("AmazonEC2", "EBS:VolumeUsage.gp3", "GB-month", volumeApiName="gp3", productFamily="Storage"),
    ("ECR", "images"): _query("AmazonECR", "TimedStorage-ByteHrs", "GB-month"),
    ("OpenSearch Serverless", "OCU"): _query("AmazonES", "SearchOCU", "OCU-hour"),
    ("CloudWatch", "logs taken in"): _query("AmazonCloudWatch", "DataProcessing-Bytes", "GB"),
    ("CloudWatch", "logs kept"): _query("AmazonCloudWatch", "TimedStorage-ByteHrs", "GB-month"),
    ("CloudWatch", "alarm"): _query("AmazonCloudWatch", "CW:AlarmMonitorUsage", "alarm-month"),
    ("CloudWatch", "metric"): _query("AmazonCloudWatch", "CW:MetricMonitorUsage", "metric-month"),
    ("KMS", "key"): _query("awskms", "KMS-Keys", "key-month"),
    ("Step Functions", "transitions"): _query("AmazonStates", "StateTransition", "thousand", 1000),
    ("SQS", "requests"): _query("AWSQueueService", "Requests-Tier1", "million", 1e6, queueType="Standard"),
    ("SNS", "emails"): _query("AmazonSNS", "DeliveryAttempts-SMTP", "hundred thousand", 100_000),
}  # fmt: skip
# Rows that no query renews: their sources are pages, and each keeps its own date.
BY_HAND = {
    ("Fargate", "storage above 20 GiB"): "no usage type of it is known to us",
    ("OpenSearch Serverless", "storage"): "no usage type of it is known to us",
    ("FIS", "action"): "one price for all regions, on its page",
}
