"""The way in to a service: an application load balancer, inside the network unless the service is published."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.network import Network

HTTP_PORT = 80
HTTPS_PORT = 443
ANYWHERE = "0.0.0.0/0"
# TLS 1.2 and 1.3, forward secrecy only.
# https://docs.aws.amazon.com/elasticloadbalancing/latest/application/describe-ssl-policies.html
TLS_POLICY = "ELBSecurityPolicy-TLS13-1-2-2021-06"

REDIRECT_TO_HTTPS: aws.lb.ListenerDefaultActionArgsDict = {
    "type": "redirect",
    "redirect": {"protocol": "HTTPS", "port": str(HTTPS_PORT), "status_code": "HTTP_301"},
}


@dataclass(frozen=True, kw_only=True)
class LoadBalancerArgs:
    """`target_type` is `ip` for tasks with addresses of their own, `instance` for ports of a node.

    `target_ports` are the first and the last port on which targets may listen. `algorithm` is AWS's word for who gets
    the next request; empty takes turns.
    """

    description: str
    network: Network
    public: bool
    certificate_arn: str
    idle_timeout_seconds: int
    target_type: str
    port: int
    target_ports: tuple[int, int]
    health_path: str
    deregistration_delay_seconds: int
    algorithm: str = ""


class LoadBalancer(pulumi.ComponentResource):
    """The balancer, its listeners and one target group; `connect` joins tasks to it.

    With a certificate it speaks HTTPS and redirects HTTP; without one, which only an internal balancer may be, plain
    HTTP. Callers come from the VPC's own addresses, or from anywhere when it is public.
    """

    listener: aws.lb.Listener
    target_group: aws.lb.TargetGroup
    security_group_id: pulumi.Output[str]
    arn_suffix: pulumi.Output[str]
    request_label: pulumi.Output[str]
    url: pulumi.Output[str]

    def __init__(self, name: str, args: LoadBalancerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:LoadBalancer", name, None, opts)
        self._target_ports = args.target_ports
        self.security_group_id = self._security_group(args)
        balancer = self._balancer(args)
        self.target_group = self._target_group(args)
        self.listener = self._listeners(args.certificate_arn, balancer)
        self.arn_suffix = balancer.arn_suffix
        # https://docs.aws.amazon.com/autoscaling/application/APIReference/API_PredefinedMetricSpecification.html
        self.request_label = pulumi.Output.format("{0}/{1}", self.arn_suffix, self.target_group.arn_suffix)
        scheme = "https" if args.certificate_arn else "http"
        self.url = pulumi.Output.format("{0}://{1}", scheme, balancer.dns_name)
        self.register_outputs({"url": self.url})

    def connect(self, security_group_id: pulumi.Input[str]) -> None:
        """Lets the balancer, and nobody else, reach the targets of a security group on their ports."""
        first, last = self._target_ports
        aws.vpc.SecurityGroupEgressRule(
            f"{self.pulumi_resource_name}-to-tasks",
            security_group_id=self.security_group_id,
            description="To the tasks behind the balancer",
            referenced_security_group_id=security_group_id,
            ip_protocol="tcp",
            from_port=first,
            to_port=last,
            opts=pulumi.ResourceOptions(parent=self),
        )
        aws.vpc.SecurityGroupIngressRule(
            f"{self.pulumi_resource_name}-into-tasks",
            security_group_id=security_group_id,
            description="From the balancer alone",
            referenced_security_group_id=self.security_group_id,
            ip_protocol="tcp",
            from_port=first,
            to_port=last,
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _security_group(self, args: LoadBalancerArgs) -> pulumi.Output[str]:
        name, child = self.pulumi_resource_name, pulumi.ResourceOptions(parent=self)
        group = aws.ec2.SecurityGroup(
            f"{name}-group",
            description=args.description,
            vpc_id=args.network.vpc_id,
            opts=child,
        )
        for port in listening_ports(args.certificate_arn):
            aws.vpc.SecurityGroupIngressRule(
                f"{name}-port-{port}",
                security_group_id=group.id,
                description="Everybody: the bearer token says who may call"
                if args.public
                else "Callers in the VPC",
                cidr_ipv4=ANYWHERE if args.public else args.network.vpc_cidr,
                ip_protocol="tcp",
                from_port=port,
                to_port=port,
                opts=child,
            )
        return group.id

    def _balancer(self, args: LoadBalancerArgs) -> aws.lb.LoadBalancer:
        network, public = args.network, args.public
        return aws.lb.LoadBalancer(
            # AWS allows 32 characters, and auto-naming adds 8 to this name.
            self.pulumi_resource_name,
            load_balancer_type="application",
            internal=not public,
            subnets=network.public_subnet_ids if public else network.workload_subnet_ids,
            security_groups=[self.security_group_id],
            idle_timeout=args.idle_timeout_seconds,
            drop_invalid_header_fields=True,
            # It holds no data, and a stack that goes to sleep must be able to delete it.
            enable_deletion_protection=False,
            # A target group serves one balancer: a new one, as another exposure needs, must wait for the old to go.
            # https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-target-groups.html
            opts=pulumi.ResourceOptions(parent=self, delete_before_replace=True),
        )

    def _target_group(self, args: LoadBalancerArgs) -> aws.lb.TargetGroup:
        return aws.lb.TargetGroup(
            # Auto-named: a changed port makes a new group while the old one still has its name.
            f"{self.pulumi_resource_name}-tasks",
            vpc_id=args.network.vpc_id,
            target_type=args.target_type,
            protocol="HTTP",
            port=args.port,
            load_balancing_algorithm_type=args.algorithm or None,
            # A task that leaves may finish the request it works on.
            deregistration_delay=args.deregistration_delay_seconds,
            health_check={
                "path": args.health_path,
                "protocol": "HTTP",
                "matcher": "200",
                "interval": 15,
                "timeout": 5,
                "healthy_threshold": 2,
                "unhealthy_threshold": 3,
            },
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _listeners(self, certificate_arn: str, balancer: aws.lb.LoadBalancer) -> aws.lb.Listener:
        """The listener that forwards to the tasks; with a certificate, the one for plain HTTP redirects to it.

        A listener is known by its port, since AWS refuses two on one: a certificate that comes or goes changes what
        the plain one does, in place.
        """
        forward: aws.lb.ListenerDefaultActionArgsDict = {
            "type": "forward",
            "target_group_arn": self.target_group.arn,
        }
        if not certificate_arn:
            return self._listener("http", balancer, forward, port=HTTP_PORT, protocol="HTTP")
        self._listener("http", balancer, REDIRECT_TO_HTTPS, port=HTTP_PORT, protocol="HTTP")
        return self._listener(
            "https", balancer, forward, port=HTTPS_PORT, protocol="HTTPS", certificate_arn=certificate_arn
        )

    def _listener(
        self,
        role: str,
        balancer: aws.lb.LoadBalancer,
        action: aws.lb.ListenerDefaultActionArgsDict,
        *,
        port: int,
        protocol: str,
        certificate_arn: str | None = None,
    ) -> aws.lb.Listener:
        return aws.lb.Listener(
            f"{self.pulumi_resource_name}-{role}",
            load_balancer_arn=balancer.arn,
            port=port,
            protocol=protocol,
            certificate_arn=certificate_arn,
            ssl_policy=TLS_POLICY if certificate_arn else None,
            default_actions=[action],
            opts=pulumi.ResourceOptions(parent=self),
        )


def listening_ports(certificate_arn: str) -> tuple[int, ...]:
    """The ports that callers may reach."""
    return (HTTPS_PORT, HTTP_PORT) if certificate_arn else (HTTP_PORT,)
