"""The private way to an OpenSearch Serverless collection. It bills by the hour."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.function import HTTPS_PORT
from components.network import Network


@dataclass(frozen=True, kw_only=True)
class VectorEndpointArgs:
    collection_name: str
    network: Network


class VectorEndpoint(pulumi.ComponentResource):
    """An endpoint in each zone of the network, which any address of the VPC may reach by HTTPS.

    OpenSearch Serverless makes it and keeps the names of collections pointing to it: it is not an endpoint of EC2.
    """

    endpoint_id: pulumi.Output[str]

    def __init__(
        self, name: str, args: VectorEndpointArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("aiplatform:index:VectorEndpoint", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        network = args.network
        group = aws.ec2.SecurityGroup(
            f"{name}-group",
            description="Private endpoint of the vector store",
            vpc_id=network.vpc_id,
            opts=child,
        )
        aws.vpc.SecurityGroupIngressRule(
            f"{name}-https",
            security_group_id=group.id,
            description="HTTPS from the VPC: the role of a caller decides what it may do",
            cidr_ipv4=network.vpc_cidr,
            ip_protocol="tcp",
            from_port=HTTPS_PORT,
            to_port=HTTPS_PORT,
            opts=child,
        )
        endpoint = aws.opensearch.ServerlessVpcEndpoint(
            f"{name}-endpoint",
            name=args.collection_name,
            vpc_id=network.vpc_id,
            # Like a mount target, an endpoint takes one subnet of a zone.
            subnet_ids=list(network.mount_subnets.values()),
            security_group_ids=[group.id],
            opts=child,
        )
        self.endpoint_id = endpoint.id
        self.register_outputs({"endpoint_id": self.endpoint_id})
