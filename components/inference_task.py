"""What runs when a model is served: the task definition `inference`, its log, and the task's two roles."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws_account import AwsAccount
from components.config_gpu_sections import GpuFleetConfig, InferenceConfig
from components.iam import document, trust_policy
from components.image_reference import repository_arn_of
from components.inference_containers import containers
from components.inference_server import SCRATCH, image
from components.naming import typed_name
from components.shared_files import SharedFiles
from components.task_execution import TASKS_SERVICE, execution_statements

FAMILY = "inference"


@dataclass(frozen=True, kw_only=True)
class InferenceTaskArgs:
    config: InferenceConfig
    fleet: GpuFleetConfig
    account: AwsAccount
    shared_files: SharedFiles
    bucket_name: pulumi.Input[str]
    name_suffix: str
    log_retention_days: int


class InferenceTask(pulumi.ComponentResource):
    """A task for nodes of one fleet, in their bridge network: nodes without NAT give tasks no address of their own.

    ECS itself uses the execution role. The containers use `role`, which starts with nothing: it must be granted the
    shared files, and the folder of the lake where the model comes from there.
    """

    role: aws.iam.Role
    execution_policy: aws.iam.RolePolicy
    definition_arn: pulumi.Output[str]

    def __init__(
        self, name: str, args: InferenceTaskArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("aiplatform:index:InferenceTask", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        family = typed_name(FAMILY, args.name_suffix)
        log_group = aws.cloudwatch.LogGroup(
            f"{name}-logs", name=f"/ecs/{family}", retention_in_days=args.log_retention_days, opts=child
        )
        trust = trust_policy(TASKS_SERVICE)
        self.role = aws.iam.Role(f"{name}-role", assume_role_policy=trust, opts=child)
        execution_role = aws.iam.Role(f"{name}-execution", assume_role_policy=trust, opts=child)
        token = args.config.hugging_face_token_secret_arn
        repository_arn = repository_arn_of(image(args.config, args.fleet), args.account.partition)
        statements = execution_statements(log_group.arn, repository_arn, [token] if token else [])
        self.execution_policy = aws.iam.RolePolicy(
            f"{name}-execution-policy",
            role=execution_role.name,
            policy=pulumi.Output.json_dumps(document(statements)),
            opts=child,
        )
        definition = aws.ecs.TaskDefinition(
            f"{name}-definition",
            family=family,
            requires_compatibilities=["EC2"],
            network_mode="bridge",
            runtime_platform={"operating_system_family": "LINUX", "cpu_architecture": "X86_64"},
            task_role_arn=self.role.arn,
            execution_role_arn=execution_role.arn,
            container_definitions=pulumi.Output.json_dumps(
                containers(
                    args.config,
                    args.fleet,
                    service=family,
                    region=args.account.region,
                    bucket_name=args.bucket_name,
                    log_group_name=log_group.name,
                )
            ),
            volumes=[cache_volume(args.shared_files), {"name": "scratch", "host_path": SCRATCH}],
            # An update does not wait for the model to load, so that ECS may still have to go back to the revision before.
            skip_destroy=True,
            opts=child,
        )
        self.definition_arn = definition.arn
        self.register_outputs({"definition_arn": self.definition_arn})


def cache_volume(shared_files: SharedFiles) -> aws.ecs.TaskDefinitionVolumeArgsDict:
    """The shared model cache, mounted with the task's role: a failed mount fails the task."""
    return {
        "name": "cache",
        "efs_volume_configuration": {
            "file_system_id": shared_files.file_system_id,
            "transit_encryption": "ENABLED",
            "authorization_config": {
                "access_point_id": shared_files.access_points["cache"].id,
                "iam": "ENABLED",
            },
        },
    }
