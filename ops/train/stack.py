"""Where a stack's training runs: its state machine, queues and job definitions, and the clients to ask."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from ops.aws_calls import aws_client
from ops.stack_outputs import StackOutputs, StackOutputsError, stack_outputs, stack_region

OUTPUT = "training"


@dataclass(frozen=True, kw_only=True)
class TrainingStack:
    """ARNs, as the stack exports them; those for jobs over several nodes are "" where it has none.

    `stale_minutes` without a checkpoint raise the stack's alarm; 0 where it has none. `instance_types` are those that a
    node may be of, the first being that of jobs over several nodes; empty where the stack does not tell them yet.
    """

    state_machine_arn: str
    spot_queue_arn: str
    on_demand_queue_arn: str
    job_definition_arn: str
    multi_node_queue_arn: str = ""
    multi_node_job_definition_arn: str = ""
    stale_minutes: int = 0
    instance_types: tuple[str, ...] = ()

    @property
    def region(self) -> str:
        """That of its ARNs."""
        return self.state_machine_arn.split(":")[3]

    @property
    def queues(self) -> dict[str, str]:
        """The kind of capacity behind each queue's ARN."""
        kinds = {
            self.spot_queue_arn: "spot",
            self.on_demand_queue_arn: "on-demand",
            self.multi_node_queue_arn: "on-demand",
        }
        return {arn: kind for arn, kind in kinds.items() if arn}

    def execution_arn(self, run: str) -> str:
        """The execution of a run, which has the run's name."""
        return f"{self.state_machine_arn.replace(':stateMachine:', ':execution:')}:{run}"


class Clients:
    """Clients of what a run consists of, made when first asked for."""

    def __init__(self, region: str, profile: str | None = None) -> None:
        self._region, self._profile = region, profile

    @cached_property
    def step_functions(self) -> Any:
        return aws_client("stepfunctions", self._region, self._profile)

    @cached_property
    def batch(self) -> Any:
        return aws_client("batch", self._region, self._profile)

    @cached_property
    def logs(self) -> Any:
        return aws_client("logs", self._region, self._profile)


def connect(stack: str, profile: str | None) -> tuple[TrainingStack, Clients]:
    """Asks Pulumi for the stack's outputs. Raises StackFileError and StackOutputsError."""
    region = stack_region(stack)
    return training_stack(stack_outputs(stack)), Clients(region, profile)


def training_stack(outputs: StackOutputs) -> TrainingStack:
    """StackOutputsError where the stack has no training, or was deployed before it had a state machine."""
    values = outputs.values.get(OUTPUT)
    known = [item.name for item in fields(TrainingStack)]
    found = {name: values[name] for name in known if values.get(name)} if isinstance(values, dict) else {}
    found["stale_minutes"] = _minutes(found.get("stale_minutes"))
    found["instance_types"] = tuple(found.get("instance_types", ()))
    try:
        return TrainingStack(**found)
    except TypeError:
        raise StackOutputsError(
            f"Stack {outputs.stack} has no training jobs. Fix: set ai-platform:training to true with an image and "
            "instance types, and run `pulumi up`."
        ) from None


def _minutes(value: Any) -> int:
    """A number or its text; a stack that was deployed before there was such an alarm has none."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() else 0
