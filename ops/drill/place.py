"""Where a stack's drill is: its experiment, the tags of what it may interrupt, and the clients to ask."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from ops.aws_calls import aws_client
from ops.stack_outputs import StackOutputs, StackOutputsError, stack_outputs, stack_region
from ops.train.stack import Clients, TrainingStack, training_stack

OUTPUT = "interruption_drill"


class DrillRefused(Exception):
    """The drill cannot begin, or came to nothing; the message says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Drill:
    """As the stack exports it. The experiment takes what has the tag `mark`, and may take only what has `node_tags` too."""

    experiment_template_id: str
    mark: Mapping[str, str]
    node_tags: Mapping[str, str]


class DrillClients(Clients):
    """Clients of what a run consists of, and of what it takes to interrupt one of its nodes."""

    @cached_property
    def fis(self) -> Any:
        return aws_client("fis", self._region, self._profile)

    @cached_property
    def ec2(self) -> Any:
        return aws_client("ec2", self._region, self._profile)

    @cached_property
    def ecs(self) -> Any:
        return aws_client("ecs", self._region, self._profile)


def connect(stack: str, profile: str | None) -> tuple[Drill, TrainingStack, DrillClients]:
    """Asks Pulumi for the stack's outputs. Raises StackFileError and StackOutputsError."""
    region = stack_region(stack)
    outputs = stack_outputs(stack)
    return drill_of(outputs), training_stack(outputs), DrillClients(region, profile)


def drill_of(outputs: StackOutputs) -> Drill:
    """StackOutputsError where the drill is not switched on in the stack."""
    values = outputs.values.get(OUTPUT)
    known = [item.name for item in fields(Drill)]
    found = {name: values[name] for name in known if values.get(name)} if isinstance(values, dict) else {}
    try:
        return Drill(**found)
    except TypeError:
        raise StackOutputsError(
            f"Stack {outputs.stack} has no interruption drill. Fix: set ai-platform:interruptionDrill to true, and run "
            "`pulumi up`. It costs nothing until a drill runs."
        ) from None
