"""A section of the screen: its lines, each with how that part is, and what becomes of a part that cannot be read."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from ops.aws_calls import AwsCallError, is_denied, refusal
from ops.preflight.account import Account, UnansweredError
from ops.stack_outputs import StackOutputs, StackOutputsError

# A sleeping stack's outputs are those of a stack without these parts.
NOT_THERE = "not in this stack, or the stack is asleep"


class State(StrEnum):
    """How a part is, the most urgent first. What could not be read is never well."""

    UNHEALTHY = "unhealthy"
    UNREAD = "unread"
    OK = "ok"
    ABSENT = "absent"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing that was read. `facts` are the figures in it, for machines."""

    state: State
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """Lines that are read by themselves: what refuses them refuses no others."""

    read: Callable[[], Iterable["Line | Part"]]


@dataclass(frozen=True)
class Section:
    title: str
    lines: tuple[Line, ...]

    @property
    def state(self) -> State:
        """That of its most urgent line."""
        ranks = list(State)
        return min((line.state for line in self.lines), key=ranks.index, default=State.ABSENT)


@dataclass(frozen=True)
class Deployed:
    """A deployed stack as it is asked about: what it told Pulumi, and the account in which it lies.

    Whether it is `asleep` is what its file says.
    """

    outputs: StackOutputs
    project: str
    account: Account
    now: datetime
    asleep: bool = False

    @property
    def stack(self) -> str:
        """Its name without organisation and project, as in its tags."""
        return self.outputs.stack.rpartition("/")[2]

    def has(self, output: str) -> bool:
        return bool(self.outputs.values.get(output))

    def client(self, service: str, region: str = "") -> Any:
        return self.account.client(service, region)


@dataclass(frozen=True, kw_only=True)
class Area:
    """What one section reads. `actions` are the IAM actions that it takes."""

    title: str
    actions: tuple[str, ...]
    read: Callable[[Deployed], Iterable[Line | Part]]


def ok(text: str, **facts: Any) -> Line:
    return Line(state=State.OK, text=text, facts=facts)


def unhealthy(text: str, **facts: Any) -> Line:
    return Line(state=State.UNHEALTHY, text=text, facts=facts)


def absent(text: str) -> Line:
    return Line(state=State.ABSENT, text=text)


def judged(good: bool, text: str, **facts: Any) -> Line:
    return ok(text, **facts) if good else unhealthy(text, **facts)


def read_section(area: Area, deployed: Deployed) -> Section:
    """The section, whatever AWS answers, each line without breaks; the same refusal is told once."""
    lines: list[Line] = []
    for line in _lines(area, Part(lambda: area.read(deployed))):
        if line.state is not State.UNREAD or line not in lines:
            lines.append(replace(line, text=" ".join(line.text.split())))
    return Section(area.title, tuple(lines))


def _lines(area: Area, part: Part) -> Iterator[Line]:
    """What was read before a refusal stands."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        for item in part.read():
            if isinstance(item, Part):
                yield from _lines(area, item)
            else:
                yield item
    except ClientError as error:
        yield _unread(_refused(area, error))
    except (AwsCallError, BotoCoreError, StackOutputsError, UnansweredError) as error:
        cause = error.__cause__
        if isinstance(cause, ClientError) and is_denied(cause):
            yield _unread(_refused(area, cause))
        else:
            yield _unread(f"{str(error).rstrip('.')}.")
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        yield _unread(f"AWS's answer is not what was expected ({type(error).__name__}: {error}).")


def _refused(area: Area, error: Any) -> str:
    operation = error.operation_name
    if not is_denied(error):
        return f"AWS refused {operation}: {refusal(error)}"
    # A few actions are not named after the operation.
    named = [each for each in area.actions if each.endswith(f":{operation}")]
    return f"access denied to {operation}. Fix: allow {' and '.join(named or area.actions)}."


def _unread(text: str) -> Line:
    return Line(state=State.UNREAD, text=f"cannot be read: {text}")
