"""One value changed on a stack that is up: what should change then, written as text, and what the engine shows."""

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from ops.capture.program import PROJECT_ROOT
from tests.engine.engine import Engine
from tests.engine.events import Result
from tests.engine.project import NAMESPACE

# The engine tells a replacement in three steps.
PARTS_OF_A_REPLACEMENT = ("create-replacement", "delete-replaced")


@dataclass(frozen=True, kw_only=True)
class Change:
    """One row: `values` by path in the stack file, such as `gpuFleets[0].maximum`; None takes a key out.

    Each line of `expected` is an operation, a type and names. `delete below NAME` stands for a component with all that
    hangs below it. `loses_data` says why a row may replace or delete what holds data.
    """

    what: str
    stack: str
    values: Mapping[str, Any]
    expected: str
    loses_data: str = ""


@dataclass(frozen=True, order=True)
class Touched:
    """A resource that changes, with its type as Pulumi's Python SDK writes it, such as `ec2.Subnet`."""

    operation: str
    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.operation} {self.type} {self.name}"


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the engine shows for one row, and the components in which the touched resources lie."""

    touched: frozenset[Touched]
    components: frozenset[str] = frozenset()
    errors: str = ""


@dataclass(kw_only=True)
class Base:
    """A stack that is up; its resources by URN, for what `below` stands for."""

    engine: Engine
    resources: Mapping[str, Mapping[str, Any]] = field(repr=False)

    def expected(self, change: Change) -> frozenset[Touched]:
        lines = [line.split() for line in change.expected.splitlines() if line.strip()]
        return frozenset(item for line in lines for item in self._meant(*line))

    def _meant(self, operation: str, kind: str, *names: str) -> Iterable[Touched]:
        if kind != "below":
            return [Touched(operation, kind, name) for name in names]
        below = [urn for urn in self.resources if set(names) & set(self._owners(urn))]
        if not below:
            raise ValueError(f"nothing lies below {names}")
        return [Touched(operation, short_type(type_of(urn)), name_of(urn)) for urn in below]

    def _owners(self, urn: str) -> Iterable[str]:
        """The names of the components around a resource, its own when it is one."""
        while urn in self.resources:
            resource = self.resources[urn]
            if not resource["custom"]:
                yield name_of(urn)
            urn = resource.get("parent", "")


def in_few_previews(base: Base, changes: Sequence[Change]) -> list[list[Change]]:
    """Puts rows that touch different resources together, since a preview takes seconds."""
    groups: list[tuple[set[tuple[str, str]], list[Change]]] = []
    for change in changes:
        own = {(item.type, item.name) for item in base.expected(change)}
        taken, rows = next((group for group in groups if not group[0] & own), (set(), []))
        if not rows:
            groups.append((taken, rows))
        taken |= own
        rows.append(change)
    return [rows for _, rows in groups]


def preview_each(base: Base, changes: Sequence[Change]) -> dict[str, Seen]:
    """What each row changes. Rows that together show anything but what they should are previewed one by one."""
    result = preview_with(base.engine, changes)
    touched, expected = touched_by(result), [base.expected(change) for change in changes]
    if len(changes) == 1:
        return {changes[0].what: Seen(touched=touched, components=_components(result), errors=result.errors)}
    if not result.ok or touched != frozenset().union(*expected):
        return {what: seen for change in changes for what, seen in preview_each(base, [change]).items()}
    return {
        change.what: Seen(touched=touched & own, components=_components(result, own))
        for change, own in zip(changes, expected, strict=True)
    }


def preview_with(engine: Engine, changes: Iterable[Change]) -> Result:
    """A preview with the values of `changes`, which are taken back afterwards."""
    before = _stack_values(engine.stack)
    after = copy.deepcopy(before)
    for change in changes:
        for path, value in change.values.items():
            _set(after, path, value)
    differing = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    engine.configure({key: after.get(key) for key in differing})
    try:
        return engine.preview()
    finally:
        engine.configure({key: before.get(key) for key in differing})


def touched_by(result: Result) -> frozenset[Touched]:
    return frozenset(
        Touched(_operation(step.operation), short_type(step.type), step.name) for step in result.changes
    )


def short_type(token: str) -> str:
    package, path, name = token.split(":")
    folder = path.split("/")[0]
    parts = [package] * (package not in ("aws", "aiplatform")) + [folder] * (folder != "index")
    return ".".join([*parts, name])


def type_of(urn: str) -> str:
    return urn.split("::")[2].rpartition("$")[2]


def name_of(urn: str) -> str:
    return urn.split("::", 3)[3]


def _operation(operation: str) -> str:
    return "replace" if operation in PARTS_OF_A_REPLACEMENT else operation


def _components(result: Result, only: frozenset[Touched] | None = None) -> frozenset[str]:
    steps = [
        step
        for step in result.changes
        if only is None or Touched(_operation(step.operation), short_type(step.type), step.name) in only
    ]
    return frozenset(token for step in steps for token in components_around(step.urn))


def components_around(urn: str) -> list[str]:
    """The types of the program's own components on the way to a resource, its own included."""
    return [token for token in urn.split("::")[2].split("$") if token.startswith("aiplatform:")]


def _stack_values(stack: str) -> dict[str, Any]:
    text = (PROJECT_ROOT / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")
    return {key.removeprefix(f"{NAMESPACE}:"): value for key, value in yaml.safe_load(text)["config"].items()}


def _set(values: dict[str, Any], path: str, value: Any) -> None:
    """Sets what `path` names; an index that is one too high appends."""
    *way, last = [int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", path)]
    place: Any = values
    for part in way:
        place = place[part]
    if isinstance(place, list) and last == len(place):
        place.append(value)
    else:
        place[last] = value
