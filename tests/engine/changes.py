"""One value changed on a stack that is up: what should change then, written as text, and what the engine shows."""

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from ops.capture.program import PROJECT_ROOT
from tests.engine.engine import Engine
from tests.engine.events import Result, Step
from tests.engine.project import NAMESPACE

# The engine tells a replacement in three steps.
PARTS_OF_A_REPLACEMENT = ("create-replacement", "delete-replaced")


@dataclass(frozen=True, kw_only=True)
class Change:
    """One row: `values` by path in the stack file, such as `gpuFleets[0].maximum`; None takes a key out.

    Each line of `expected` is an operation, a type and names; `delete below NAME` stands for a component with all that
    hangs below it. `loses_data` says why a row may replace or delete what holds data. A row whose effect depends on
    other values is previewed `alone`.
    """

    what: str
    stack: str
    values: Mapping[str, Any]
    expected: str
    loses_data: str = ""
    alone: bool = False


@dataclass(frozen=True, order=True)
class Touched:
    """A resource that changes, with its type as Pulumi's Python SDK writes it, such as `ec2.Subnet`."""

    operation: str
    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.operation} {self.type} {self.name}"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What a preview of one row shows beside what it should, and the types of components that it reaches into."""

    expected: frozenset[Touched]
    touched: frozenset[Touched]
    components: frozenset[str]
    errors: str


@dataclass(frozen=True, kw_only=True)
class Base:
    """A stack that is up, with its resources by URN."""

    engine: Engine
    resources: Mapping[str, Mapping[str, Any]] = field(repr=False)

    def expected(self, change: Change) -> frozenset[Touched]:
        lines = [line.split() for line in change.expected.splitlines() if line.strip()]
        return frozenset(item for line in lines for item in self._meant(*line))

    def _meant(self, operation: str, kind: str, *names: str) -> Iterator[Touched]:
        if kind != "below":
            yield from (Touched(operation, kind, name) for name in names)
            return
        for urn in self.resources:
            if set(names) & set(self._around(urn)):
                yield Touched(operation, short_type(type_of(urn)), name_of(urn))

    def _around(self, urn: str) -> Iterator[str]:
        """The names of the components around a resource; a component is around itself."""
        while urn in self.resources:
            resource = self.resources[urn]
            if not resource["custom"]:
                yield name_of(urn)
            urn = resource.get("parent", "")


def in_few_previews(base: Base, changes: Iterable[Change]) -> list[list[Change]]:
    """Puts rows that touch different resources together, since each preview takes seconds."""
    groups: list[tuple[set[tuple[str, str]], list[Change]]] = []
    alone: list[list[Change]] = []
    for change in changes:
        if change.alone:
            alone.append([change])
            continue
        own = {(item.type, item.name) for item in base.expected(change)}
        fitting = next((group for group in groups if not group[0] & own), None)
        if fitting is None:
            groups.append((own, [change]))
        else:
            fitting[0].update(own)
            fitting[1].append(change)
    return [*(rows for _, rows in groups), *alone]


def shown_for_each(base: Base, changes: Sequence[Change]) -> dict[str, Shown]:
    """What each row changes. Rows that together change anything but what they should are previewed in halves."""
    result = preview_with(base.engine, [change.values for change in changes])
    expected = {change.what: base.expected(change) for change in changes}
    together = len(changes) > 1
    if together and not (result.ok and touched(result.changes) == frozenset().union(*expected.values())):
        middle = len(changes) // 2
        return shown_for_each(base, changes[:middle]) | shown_for_each(base, changes[middle:])
    return {what: _shown(result, own, only_own=together) for what, own in expected.items()}


def _shown(result: Result, expected: frozenset[Touched], only_own: bool) -> Shown:
    steps = [step for step in result.changes if not only_own or touched([step]) <= expected]
    return Shown(
        expected=expected,
        touched=touched(steps),
        components=frozenset(token for step in steps for token in components_around(step.urn)),
        errors=result.errors,
    )


def preview_with(engine: Engine, changes: Iterable[Mapping[str, Any]]) -> Result:
    """A preview with some values of the stack file changed, which are taken back afterwards."""
    changed = changed_keys(engine.stack, changes)
    before = _stack_values(engine.stack)
    engine.configure(changed)
    try:
        return engine.preview()
    finally:
        engine.configure({key: before.get(key) for key in changed})


def changed_keys(stack: str, changes: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The keys of the stack file that have another value with `changes`, and that value; None for no value."""
    before = _stack_values(stack)
    after = copy.deepcopy(before)
    for values in changes:
        for path, value in values.items():
            _set(after, path, value)
    return {key: after.get(key) for key in before | after if before.get(key) != after.get(key)}


def touched(steps: Iterable[Step]) -> frozenset[Touched]:
    return frozenset(
        Touched(
            "replace" if step.operation in PARTS_OF_A_REPLACEMENT else step.operation,
            short_type(step.type),
            step.name,
        )
        for step in steps
    )


def components_around(urn: str) -> list[str]:
    """The types of the program's own components on the way to a resource, its own type included."""
    types = urn.split("::")[2].split("$")
    return [short_type(token) for token in types if token.startswith("aiplatform:")]


def short_type(token: str) -> str:
    """`ec2.Subnet` for aws:ec2/subnet:Subnet, `Network` for a component of the program."""
    package, path, name = token.split(":")
    folder = path.split("/")[0]
    parts = [package] * (package not in ("aws", "aiplatform")) + [folder] * (folder != "index")
    return ".".join([*parts, name])


def type_of(urn: str) -> str:
    return urn.split("::")[2].rpartition("$")[2]


def name_of(urn: str) -> str:
    return urn.split("::", 3)[3]


def _stack_values(stack: str) -> dict[str, Any]:
    text = (PROJECT_ROOT / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")
    return {key.removeprefix(f"{NAMESPACE}:"): value for key, value in yaml.safe_load(text)["config"].items()}


def _set(values: dict[str, Any], path: str, value: Any) -> None:
    """Sets what `path` names; an index one beyond the end of a list appends."""
    *way, last = [int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", path)]
    place: Any = values
    for part in way:
        place = place[part]
    if isinstance(place, list) and last == len(place):
        place.append(value)
    else:
        place[last] = value
