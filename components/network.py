"""The network: one of our own, or an existing VPC whose ids, zones and block are told rather than looked up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_awsx as awsx

from components.address_plan import subnet_blocks
from components.config_network_rules import reaches_internet_privately, zones_of
from components.config_sections import ExistingSubnet, NetworkConfig
from components.iam import allow, grant, trust_policy

NAT_STRATEGIES = {
    "none": awsx.ec2.NatGatewayStrategy.NONE,
    "single": awsx.ec2.NatGatewayStrategy.SINGLE,
    "onePerZone": awsx.ec2.NatGatewayStrategy.ONE_PER_AZ,
}
GATEWAY_ENDPOINTS = ("s3", "dynamodb")
# Services whose endpoint has another prefix there than com.amazonaws, by the prefix of the regions.
# aws/aws-cdk at 000a9eb6, packages/aws-cdk-lib/aws-ec2/lib/vpc-endpoint.ts, getDefaultEndpointPrefix.
ENDPOINT_PREFIXES = {
    "cn-": (
        "cn.com.amazonaws",
        {"autoscaling", "ecr.api", "ecr.dkr", "elasticfilesystem", "monitoring", "sqs", "sts"},
    ),
    "eusc-": ("eu.amazonaws", {"ecr.api", "ecr.dkr"}),
}
# What aws/aws-cdk at 000a9eb6 gives a flow log's role (aws-ec2/lib/vpc-flow-logs.ts); the log group is ours already.
FLOW_LOG_ACTIONS = ("logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams")


@dataclass(frozen=True, kw_only=True)
class NetworkArgs:
    config: NetworkConfig
    region: str
    asleep: bool
    log_retention_days: int


@dataclass(frozen=True, kw_only=True)
class _Subnets:
    """A VPC and its subnets, whoever made them."""

    vpc_id: pulumi.Output[str]
    public_subnet_ids: pulumi.Output[Sequence[str]]
    private_subnet_ids: pulumi.Output[Sequence[str]]
    mount_subnets: dict[str, pulumi.Output[str]]


class Network(pulumi.ComponentResource):
    """Where everything runs. S3 and DynamoDB are reached without NAT, and nothing moves when the stack sleeps.

    A list of subnets holds at most one per zone, since load balancers and endpoints refuse two. `workload_subnet_ids`
    are the private ones where these reach the internet, else the public ones. `mount_subnets` has one subnet for each
    zone, a private one where there is one, whatever NAT does. In an existing VPC only interface endpoints are made.
    """

    vpc_id: pulumi.Output[str]
    vpc_cidr: str
    zones: tuple[str, ...]
    places_privately: bool
    public_subnet_ids: pulumi.Output[Sequence[str]]
    private_subnet_ids: pulumi.Output[Sequence[str]]
    workload_subnet_ids: pulumi.Output[Sequence[str]]
    mount_subnets: dict[str, pulumi.Output[str]]

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:Network", name, None, opts)
        config = args.config
        self.vpc_cidr = config.existing_vpc_cidr if config.existing_vpc_id else config.vpc_cidr
        self.zones = zones_of(config)
        self.places_privately = reaches_internet_privately(config)

        subnets = self._existing(config) if config.existing_vpc_id else self._own(name, args)
        self.vpc_id = subnets.vpc_id
        self.public_subnet_ids = subnets.public_subnet_ids
        self.private_subnet_ids = subnets.private_subnet_ids
        self.workload_subnet_ids = (
            self.private_subnet_ids if self.places_privately else self.public_subnet_ids
        )
        self.mount_subnets = subnets.mount_subnets

        if config.flow_logs:
            self._add_flow_logs(name, args.log_retention_days)
        if config.interface_endpoints and not args.asleep:
            self._add_interface_endpoints(name, args.region, config.interface_endpoints)
        self.register_outputs(
            {
                "vpc_id": self.vpc_id,
                "workload_subnet_ids": self.workload_subnet_ids,
                "mount_subnets": self.mount_subnets,
            }
        )

    def _own(self, name: str, args: NetworkArgs) -> _Subnets:
        config = args.config
        child, layer = pulumi.ResourceOptions(parent=self), awsx.ec2.SubnetType
        zones = config.availability_zones
        blocks = subnet_blocks(config.vpc_cidr, len(zones))
        strategy = NAT_STRATEGIES["none" if args.asleep else config.nat_gateways]
        # Both strategies are said, because the defaults ignore the blocks and give the endpoints no route tables.
        vpc = awsx.ec2.Vpc(
            f"{name}-vpc",
            cidr_block=config.vpc_cidr,
            availability_zone_names=list(zones),
            nat_gateways={"strategy": strategy},
            subnet_strategy=awsx.ec2.SubnetAllocationStrategy.AUTO,
            subnet_specs=[
                {"type": layer.PUBLIC, "name": "public", "cidr_blocks": list(blocks.public)},
                {"type": layer.PRIVATE, "name": "private", "cidr_blocks": list(blocks.private)},
            ],
            enable_dns_hostnames=True,
            enable_dns_support=True,
            vpc_endpoint_strategy=awsx.ec2.VpcEndpointStrategy.AUTO,
            vpc_endpoint_specs=[
                {"service_name": endpoint_service(args.region, service), "vpc_endpoint_type": "Gateway"}
                for service in GATEWAY_ENDPOINTS
            ],
            opts=child,
        )
        # AWS opens this group among its members; whatever forgets its own group must not join that.
        aws.ec2.DefaultSecurityGroup(f"{name}-default", vpc_id=vpc.vpc_id, ingress=[], egress=[], opts=child)
        return _Subnets(
            vpc_id=vpc.vpc_id,
            public_subnet_ids=vpc.public_subnet_ids,
            private_subnet_ids=vpc.private_subnet_ids,
            mount_subnets={zone: _at(vpc.private_subnet_ids, place) for place, zone in enumerate(zones)},
        )

    def _existing(self, config: NetworkConfig) -> _Subnets:
        used, spare = one_per_zone_and_tier(config.existing_subnets)
        if spare:
            pulumi.log.warn(
                f"Not used, since the platform takes one subnet per zone and tier: {', '.join(spare)}.", self
            )
        public = [subnet for subnet in used if subnet.tier == "public"]
        private = [subnet for subnet in used if subnet.tier == "private"]
        for_mounts = {subnet.zone: subnet.subnet_id for subnet in [*public, *private]}
        return _Subnets(
            vpc_id=pulumi.Output.from_input(config.existing_vpc_id),
            public_subnet_ids=pulumi.Output.from_input([subnet.subnet_id for subnet in public]),
            private_subnet_ids=pulumi.Output.from_input([subnet.subnet_id for subnet in private]),
            mount_subnets={zone: pulumi.Output.from_input(for_mounts[zone]) for zone in self.zones},
        )

    def _add_flow_logs(self, name: str, retention_days: int) -> None:
        child = pulumi.ResourceOptions(parent=self)
        log_group = aws.cloudwatch.LogGroup(f"{name}-flow-logs", retention_in_days=retention_days, opts=child)
        role = aws.iam.Role(
            f"{name}-flow-logs", assume_role_policy=trust_policy("vpc-flow-logs.amazonaws.com"), opts=child
        )
        streams = pulumi.Output.format("{0}:*", log_group.arn)
        policy = grant(self, "log", role, [allow(FLOW_LOG_ACTIONS, [streams])])
        aws.ec2.FlowLog(
            f"{name}-flow-logs",
            vpc_id=self.vpc_id,
            traffic_type="ALL",
            log_destination=log_group.arn,
            iam_role_arn=role.arn,
            # The role's ARN is there before its permission is.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
        )

    def _add_interface_endpoints(self, name: str, region: str, services: Sequence[str]) -> None:
        child = pulumi.ResourceOptions(parent=self)
        group = aws.ec2.SecurityGroup(
            f"{name}-endpoints",
            description="HTTPS from the VPC to AWS services",
            vpc_id=self.vpc_id,
            opts=child,
        )
        aws.vpc.SecurityGroupIngressRule(
            f"{name}-endpoints",
            security_group_id=group.id,
            description="HTTPS from the VPC",
            cidr_ipv4=self.vpc_cidr,
            ip_protocol="tcp",
            from_port=443,
            to_port=443,
            opts=child,
        )
        for service in services:
            aws.ec2.VpcEndpoint(
                f"{name}-{service}",
                vpc_id=self.vpc_id,
                service_name=endpoint_service(region, service),
                vpc_endpoint_type="Interface",
                private_dns_enabled=True,
                subnet_ids=list(self.mount_subnets.values()),
                security_group_ids=[group.id],
                opts=child,
            )


def endpoint_service(region: str, service: str) -> str:
    """The name of a service's VPC endpoint, such as `com.amazonaws.eu-central-1.sqs`."""
    for start, (prefix, services) in ENDPOINT_PREFIXES.items():
        if region.startswith(start) and service in services:
            return f"{prefix}.{region}.{service}"
    return f"com.amazonaws.{region}.{service}"


def one_per_zone_and_tier(subnets: Sequence[ExistingSubnet]) -> tuple[list[ExistingSubnet], list[str]]:
    """The first subnet of each zone and tier, and the ids of the others."""
    used = {(subnet.zone, subnet.tier): subnet for subnet in reversed(subnets)}
    kept = [subnet for subnet in subnets if used[subnet.zone, subnet.tier] is subnet]
    return kept, [subnet.subnet_id for subnet in subnets if subnet not in kept]


def _at(ids: pulumi.Output[Sequence[str]], place: int) -> pulumi.Output[str]:
    """One id of a list. The others may be unknown yet, as when a zone is added: it is there all the same.

    Otherwise a preview would show every mount target as replaced.
    """

    def chosen(known: Any) -> Any:
        return known[place] if isinstance(known, list) else known

    return ids.apply(chosen, run_with_unknowns=True)
