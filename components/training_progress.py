"""The Lambda function that tells from a training job's log how long it has made no progress."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.function import PackagedFunction, PackagedFunctionArgs
from components.iam import allow, grant

PACKAGE = "training_progress"
# GetLogEvents reads a stream, FilterLogEvents a group.
# https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudwatchlogs.html
READ_ACTIONS = ("logs:FilterLogEvents", "logs:GetLogEvents")
TIMEOUT_SECONDS = 60
MEMORY_MIB = 256


@dataclass(frozen=True, kw_only=True)
class TrainingProgressArgs:
    """`log_group` is that of the jobs; what lies further back than `stale_minutes` is not searched for."""

    log_group: aws.cloudwatch.LogGroup
    stale_minutes: int
    log_retention_days: int
    partition: str


class TrainingProgress(pulumi.ComponentResource):
    """Called by the state machine for a running job; reads that one log group, and counts as two metrics."""

    function_arn: pulumi.Output[str]

    def __init__(
        self, name: str, args: TrainingProgressArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("aiplatform:index:TrainingProgress", name, None, opts)
        packaged = PackagedFunction(
            f"{name}-check",
            PackagedFunctionArgs(
                package=PACKAGE,
                environment={
                    "LOG_GROUP": args.log_group.name,
                    "STALE_MINUTES": str(args.stale_minutes),
                },
                timeout_seconds=TIMEOUT_SECONDS,
                memory_mib=MEMORY_MIB,
                log_retention_days=args.log_retention_days,
                partition=args.partition,
            ),
            pulumi.ResourceOptions(parent=self),
        )
        streams = pulumi.Output.format("{0}:*", args.log_group.arn)
        grant(self, "read-job-log", packaged.role, [allow(READ_ACTIONS, [streams])])
        self.function_arn = packaged.function_arn
        self.register_outputs({"function_arn": self.function_arn})
