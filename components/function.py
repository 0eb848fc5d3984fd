"""A Lambda function made of one package of `lambda_src/`, the pipeline in `lambda_src/rag` and locked libraries."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.iam import LOG_ACTIONS, allow, document, trust_policy
from components.library_bundle import library_folder
from components.network import Network
from components.source_bundle import SOURCE_FOLDER, source_files

SHARED_PACKAGE = "rag"
REQUIREMENTS = "requirements.txt"
HTTPS_PORT = 443
# The interfaces of a function in a VPC have no names before they exist, so AWS's own policy allows their five actions
# on any resource. The better known AWSLambdaVPCAccessExecutionRole also allows writing to every log group.
# https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AWSLambdaENIManagementAccess.html
INTERFACE_POLICY = "service-role/AWSLambdaENIManagementAccess"


@dataclass(frozen=True, kw_only=True)
class PackagedFunctionArgs:
    """`package` is a folder of `lambda_src` that holds `handler.py` with `lambda_handler`.

    With a `network` the function sits in its workload subnets. Without `reserved_concurrency` it shares what the
    account has; 0 switches the function off.
    """

    package: str
    environment: Mapping[str, pulumi.Input[str]]
    timeout_seconds: int
    memory_mib: int
    log_retention_days: int
    partition: str
    network: Network | None = None
    reserved_concurrency: int | None = None


class PackagedFunction(pulumi.ComponentResource):
    """The function, its log group, and `role`, which may write that log and nothing else until it is granted more.

    `security_group_id` is None outside of a network; inside, the group lets HTTPS out and nothing in.
    """

    role: aws.iam.Role
    function: aws.lambda_.Function
    function_name: pulumi.Output[str]
    function_arn: pulumi.Output[str]
    security_group_id: pulumi.Output[str] | None

    def __init__(
        self, name: str, args: PackagedFunctionArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("aiplatform:index:PackagedFunction", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        trust = trust_policy("lambda.amazonaws.com")
        self.role = aws.iam.Role(f"{name}-role", assume_role_policy=trust, opts=child)
        log_group = aws.cloudwatch.LogGroup(
            f"{name}-logs",
            # The function's own name is not known before it exists, and it must find its log group there already.
            name_prefix=f"/aws/lambda/{name}-",
            retention_in_days=args.log_retention_days,
            opts=child,
        )
        permissions: list[pulumi.Resource] = [self._log_permission(log_group)]
        self.security_group_id = None
        if args.network:
            permissions.append(self._interface_permission(args.partition))
            self.security_group_id = self._security_group(args.network)
        self.function = self._function(args, log_group, permissions)
        self.function_name = self.function.name
        self.function_arn = self.function.arn
        self.register_outputs({"function_name": self.function_name, "function_arn": self.function_arn})

    def _function(
        self, args: PackagedFunctionArgs, log_group: aws.cloudwatch.LogGroup, needs: list[pulumi.Resource]
    ) -> aws.lambda_.Function:
        return aws.lambda_.Function(
            f"{self.pulumi_resource_name}-function",
            runtime=aws.lambda_.Runtime.PYTHON3D13,
            architectures=["arm64"],
            handler=f"{args.package}.handler.lambda_handler",
            code=archive(args.package),
            role=self.role.arn,
            timeout=args.timeout_seconds,
            memory_size=args.memory_mib,
            reserved_concurrent_executions=args.reserved_concurrency,
            environment={"variables": args.environment},
            logging_config={"log_format": "JSON", "log_group": log_group.name},
            vpc_config=self._vpc_config(args.network),
            # No output carries the permissions, and a function in a VPC is refused without them.
            opts=pulumi.ResourceOptions(parent=self, depends_on=needs),
        )

    def _vpc_config(self, network: Network | None) -> aws.lambda_.FunctionVpcConfigArgsDict | None:
        if network is None or self.security_group_id is None:
            return None
        return {"subnet_ids": network.workload_subnet_ids, "security_group_ids": [self.security_group_id]}

    def _log_permission(self, log_group: aws.cloudwatch.LogGroup) -> aws.iam.RolePolicy:
        # Lambda names the streams.
        streams = pulumi.Output.format("{0}:log-stream:*", log_group.arn)
        return aws.iam.RolePolicy(
            f"{self.pulumi_resource_name}-write-log",
            role=self.role.name,
            policy=pulumi.Output.json_dumps(document([allow(LOG_ACTIONS, [streams])])),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _interface_permission(self, partition: str) -> aws.iam.RolePolicyAttachment:
        return aws.iam.RolePolicyAttachment(
            f"{self.pulumi_resource_name}-interfaces",
            role=self.role.name,
            policy_arn=f"arn:{partition}:iam::aws:policy/{INTERFACE_POLICY}",
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _security_group(self, network: Network) -> pulumi.Output[str]:
        name, child = self.pulumi_resource_name, pulumi.ResourceOptions(parent=self)
        group = aws.ec2.SecurityGroup(
            f"{name}-group", description=f"Lambda function {name}", vpc_id=network.vpc_id, opts=child
        )
        aws.vpc.SecurityGroupEgressRule(
            f"{name}-https",
            security_group_id=group.id,
            description="HTTPS to AWS, whose addresses are many and change",
            cidr_ipv4="0.0.0.0/0",
            ip_protocol="tcp",
            from_port=HTTPS_PORT,
            to_port=HTTPS_PORT,
            opts=child,
        )
        return group.id


def archive(package: str) -> pulumi.AssetArchive:
    """The function's code, and the libraries that its requirements.txt locks.

    The engine sorts the files and sets one date, so only their content counts.
    """
    files = source_files([package, SHARED_PACKAGE])
    content: dict[str, pulumi.Asset | pulumi.Archive] = {
        path: pulumi.FileAsset(str(file)) for path, file in files.items()
    }
    requirements = SOURCE_FOLDER / package / REQUIREMENTS
    if requirements.is_file():
        for entry in sorted(library_folder(requirements).iterdir()):
            kind = pulumi.FileArchive if entry.is_dir() else pulumi.FileAsset
            content[entry.name] = kind(str(entry))
    return pulumi.AssetArchive(content)
