"""The alarms of training runs: no checkpoint for too long, no output for too long, and a run that failed."""

from dataclasses import dataclass
from math import ceil

import pulumi
import pulumi_aws as aws

from components.config_gpu_sections import TrainingConfig
from components.training_pace import check_seconds

# What lambda_src/training_progress measures, and why anybody is told.
NAMESPACE = "AiPlatform/Training"
PROGRESS_METRICS = (
    (
        "no-checkpoint",
        "MinutesWithoutCheckpoint",
        "A running training job has saved no checkpoint for {minutes} minutes: a lost node would cost all of it.",
    ),
    (
        "no-output",
        "MinutesWithoutOutput",
        "A running training job has written nothing for {minutes} minutes: it may hang, and is paid for.",
    ),
)
# With a period that holds two checks, one that comes late leaves no gap in which the alarm would be over.
CHECKS_IN_A_PERIOD = 2
FAILURE_PERIOD_SECONDS = 300


@dataclass(frozen=True, kw_only=True)
class TrainingAlarmsArgs:
    """Without a `topic_arn` the alarms are raised in CloudWatch only."""

    config: TrainingConfig
    state_machine_arn: pulumi.Input[str]
    log_group_name: pulumi.Input[str]
    topic_arn: pulumi.Input[str] | None


class TrainingAlarms(pulumi.ComponentResource):
    """An alarm for the whole stack, by the worst of its running jobs; the progress function's log names the run.

    An alarm is over once no running job is beyond the bound, or none runs.
    """

    failure_alarm_arn: pulumi.Output[str]

    def __init__(
        self, name: str, args: TrainingAlarmsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("aiplatform:index:TrainingAlarms", name, None, opts)
        self._actions = [args.topic_arn] if args.topic_arn is not None else []
        self.failure_alarm_arn = aws.cloudwatch.MetricAlarm(
            f"{name}-run-failed",
            alarm_description="A training run failed: `python -m ops train list` shows which, `train status` why.",
            namespace="AWS/States",
            metric_name="ExecutionsFailed",
            dimensions={"StateMachineArn": args.state_machine_arn},
            statistic="Sum",
            period=FAILURE_PERIOD_SECONDS,
            evaluation_periods=1,
            comparison_operator="GreaterThanOrEqualToThreshold",
            threshold=1,
            treat_missing_data="notBreaching",
            alarm_actions=self._actions,
            opts=pulumi.ResourceOptions(parent=self),
        ).arn
        if args.config.stale_minutes:
            for role, metric, description in PROGRESS_METRICS:
                self._progress_alarm(role, metric, description, args)
        self.register_outputs({"failure_alarm_arn": self.failure_alarm_arn})

    def _progress_alarm(self, role: str, metric: str, description: str, args: TrainingAlarmsArgs) -> None:
        minutes = args.config.stale_minutes
        aws.cloudwatch.MetricAlarm(
            f"{self.pulumi_resource_name}-{role}",
            alarm_description=description.format(minutes=minutes),
            namespace=NAMESPACE,
            metric_name=metric,
            dimensions={"LogGroup": args.log_group_name},
            statistic="Maximum",
            # CloudWatch takes whole minutes.
            period=ceil(CHECKS_IN_A_PERIOD * check_seconds(args.config) / 60) * 60,
            evaluation_periods=1,
            comparison_operator="GreaterThanOrEqualToThreshold",
            threshold=minutes,
            treat_missing_data="notBreaching",
            alarm_actions=self._actions,
            ok_actions=self._actions,
            opts=pulumi.ResourceOptions(parent=self),
        )
