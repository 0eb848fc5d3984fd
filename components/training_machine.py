"""The Step Functions state machine that takes a training run from its first job to its end."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.aws_account import AwsAccount
from components.config_gpu_sections import TrainingConfig
from components.iam import allow, grant, trust_policy
from components.training_states import RunParts, run_definition

# Step Functions sets the delivery of its log up itself, with actions that know no resource.
# https://docs.aws.amazon.com/step-functions/latest/dg/cw-logs.html
LOG_DELIVERY_ACTIONS = (
    "logs:CreateLogDelivery",
    "logs:GetLogDelivery",
    "logs:UpdateLogDelivery",
    "logs:DeleteLogDelivery",
    "logs:ListLogDeliveries",
    "logs:PutResourcePolicy",
    "logs:DescribeResourcePolicies",
    "logs:DescribeLogGroups",
)
# By these of a job's tags the machine knows the jobs of its own stack.
OWN_TAGS = ("Project", "Stack")
# The policy that lets AWS write is one for all groups below this name, and does not grow with their number.
# https://docs.aws.amazon.com/step-functions/latest/dg/bp-cwl.html
LOG_GROUP_PREFIX = "/aws/vendedlogs/states/"


@dataclass(frozen=True, kw_only=True)
class TrainingMachineArgs:
    """`queue_arns` and `job_definition_prefixes` (ARNs without the revision) are all that a run may use, by any name.

    With a `progress_function_arn` that function looks into the log of a running job. Jobs carry the `tags`.
    """

    config: TrainingConfig
    account: AwsAccount
    queue_arns: Mapping[str, pulumi.Input[str]]
    job_definition_prefixes: Mapping[str, pulumi.Input[str]]
    tags: Mapping[str, str]
    progress_function_arn: pulumi.Input[str] | None
    log_retention_days: int


class TrainingMachine(pulumi.ComponentResource):
    """One execution is one run. It costs nothing while there is none, and keeps the history of a run for 90 days.

    Ending an execution leaves its job alone; `python -m ops train stop` ends both.
    """

    state_machine_arn: pulumi.Output[str]

    def __init__(
        self, name: str, args: TrainingMachineArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("aiplatform:index:TrainingMachine", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        role = aws.iam.Role(
            f"{name}-role", assume_role_policy=trust_policy("states.amazonaws.com"), opts=child
        )
        log_group = aws.cloudwatch.LogGroup(
            f"{name}-logs",
            name_prefix=f"{LOG_GROUP_PREFIX}{name}-",
            retention_in_days=args.log_retention_days,
            opts=child,
        )
        permission = grant(self, "run-jobs", role, _statements(args))
        parts = RunParts(
            partition=args.account.partition,
            tags=args.tags,
            progress_function_arn=args.progress_function_arn,
        )
        self.state_machine_arn = aws.sfn.StateMachine(
            f"{name}-runs",
            role_arn=role.arn,
            definition=pulumi.Output.json_dumps(run_definition(args.config, parts)),
            logging_configuration={
                "level": "ERROR",
                "include_execution_data": False,
                "log_destination": pulumi.Output.format("{0}:*", log_group.arn),
            },
            tracing_configuration={"enabled": False},
            # AWS refuses a machine whose role may not deliver its log.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[permission]),
        ).arn
        self.register_outputs({"state_machine_arn": self.state_machine_arn})


def _statements(args: TrainingMachineArgs) -> list[dict[str, Any]]:
    """A job has no ARN before it is submitted, and looking at jobs knows no resource.

    Batch lets a job be submitted with tags by whom may tag it, and has been seen to ask that of the definition.
    https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsbatch.html
    https://github.com/wri/gfw-data-api/pull/175
    """
    definitions = [pulumi.Output.format("{0}:*", prefix) for prefix in args.job_definition_prefixes.values()]
    jobs = args.account.arn("batch", "job/*")
    own = {f"aws:ResourceTag/{key}": args.tags[key] for key in OWN_TAGS}
    statements = [
        allow(["batch:SubmitJob"], [*args.queue_arns.values(), *definitions]),
        allow(["batch:TagResource"], [jobs, *definitions]),
        allow(["batch:TerminateJob"], [jobs], {"StringEquals": own}),
        allow(["batch:DescribeJobs", "batch:ListJobs"], ["*"]),
        allow(LOG_DELIVERY_ACTIONS, ["*"]),
    ]
    if args.progress_function_arn is not None:
        statements.append(allow(["lambda:InvokeFunction"], [args.progress_function_arn]))
    return statements
