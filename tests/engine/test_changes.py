"""From one stack to the next by one changed value: what should change does, and nothing else."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from recordings import STACKS
from tests.engine.change_table import (
    CHANGES,
    ZONE_WITH_ITS_OWN_NAT_GATEWAY,
    ZONE_WITH_ONE_NAT_GATEWAY,
)
from tests.engine.changes import (
    Base,
    Change,
    Shown,
    Touched,
    components_around,
    in_few_previews,
    preview_with,
    shown_for_each,
    touched,
)
from tests.engine.engine import Engine
from tests.engine.events import Result
from tests.engine.life import AT_ONCE

HOLD_DATA = (
    "s3.Bucket",
    "efs.FileSystem",
    "opensearch.ServerlessCollection",
    "ecr.Repository",
    "secretsmanager.Secret",
)
# What others keep the ids of, or what takes minutes to come back.
STAY = ("ec2.Subnet", "ec2.Vpc", "efs.MountTarget", "efs.AccessPoint")


@dataclass(frozen=True, kw_only=True)
class Previewed:
    """One stack: every row of the table by its name, and the types of its components.

    `asleep` is a preview of sleep where the stack's data is protected.
    """

    rows: Mapping[str, Shown]
    components: frozenset[str]
    asleep: Result | None


@dataclass(frozen=True, kw_only=True)
class Night:
    """A stack that was sent to sleep and woken."""

    sleeping: Result
    waking: Result


def _preview_all(pulumi: Path, stack: str) -> Previewed:
    with Engine(pulumi, stack) as engine:
        up = engine.up()
        if not up.ok:
            raise RuntimeError(f"{stack} does not come up: {up.errors}")
        base = Base(engine=engine, resources={item["urn"]: item for item in engine.export()})
        groups = in_few_previews(base, [change for change in CHANGES if change.stack == stack])
        rows = {what: shown for group in groups for what, shown in shown_for_each(base, group).items()}
        return Previewed(
            rows=rows,
            components=frozenset(token for urn in base.resources for token in components_around(urn)),
            asleep=preview_with(engine, [{"asleep": True}]) if _is_protected(base) else None,
        )


def _is_protected(base: Base) -> bool:
    return any(item.get("protect") for item in base.resources.values())


def _sleep(pulumi: Path) -> Night:
    """With the prod stack, which has most of what sleeps; protection is what another test is about."""
    with Engine(pulumi, "prod", {"protectData": False}) as engine:
        engine.up()
        engine.configure({"asleep": True})
        sleeping = engine.up()
        engine.configure({"asleep": False})
        return Night(sleeping=sleeping, waking=engine.up())


@pytest.fixture(scope="module")
def runs(pulumi: Path) -> tuple[dict[str, Previewed], Night]:
    """All runs of this file, side by side."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        stacks = {stack: pool.submit(_preview_all, pulumi, stack) for stack in STACKS}
        night = pool.submit(_sleep, pulumi)
        return {stack: running.result() for stack, running in stacks.items()}, night.result()


@pytest.fixture
def previewed(runs: tuple[dict[str, Previewed], Night]) -> dict[str, Previewed]:
    return runs[0]


@pytest.fixture
def rows(previewed: dict[str, Previewed]) -> dict[str, Shown]:
    return {what: shown for stack in previewed.values() for what, shown in stack.rows.items()}


@pytest.fixture
def night(runs: tuple[dict[str, Previewed], Night]) -> Night:
    return runs[1]


def _lines(items: Iterable[Touched]) -> str:
    return "".join(f"\n  {item}" for item in sorted(items)) or " nothing"


def _losses(shown: Shown) -> list[Touched]:
    return [item for item in shown.touched if item.operation != "create" and _loses(item)]


def _loses(item: Touched) -> bool:
    return item.operation in ("replace", "delete") and item.type in HOLD_DATA


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.what)
def test_one_changed_value_changes_what_it_should_and_nothing_else(
    change: Change, rows: dict[str, Shown]
) -> None:
    shown = rows[change.what]
    assert not shown.errors, f"nobody can change this value: {shown.errors}"
    beyond, missing = shown.touched - shown.expected, shown.expected - shown.touched
    assert not beyond, f"whoever sets {list(change.values)} puts more at risk than that:{_lines(beyond)}"
    assert not missing, f"{list(change.values)} takes no effect on:{_lines(missing)}"


def test_every_row_has_a_name_of_its_own() -> None:
    assert len({change.what for change in CHANGES}) == len(CHANGES), "one of two rows is never looked at"


def test_no_value_replaces_or_deletes_what_holds_data_without_a_listed_reason(rows: dict[str, Shown]) -> None:
    lost = {change.what: _losses(rows[change.what]) for change in CHANGES if not change.loses_data}
    assert not any(lost.values()), f"a changed value must cost no data: {lost}"


def test_a_reason_for_losing_data_is_listed_where_data_is_lost_only(rows: dict[str, Shown]) -> None:
    idle = [change.what for change in CHANGES if change.loses_data and not _losses(rows[change.what])]
    assert not idle, f"these rows would hide a loss to come: {idle}"


@pytest.mark.parametrize("what", [ZONE_WITH_ONE_NAT_GATEWAY, ZONE_WITH_ITS_OWN_NAT_GATEWAY])
def test_a_zone_at_the_end_touches_no_subnet_nat_gateway_or_mount_target_that_is_there(
    what: str, rows: dict[str, Shown]
) -> None:
    kept = ("ec2.Subnet", "ec2.NatGateway", "ec2.Eip", "efs.MountTarget")
    disturbed = [item for item in rows[what].touched if item.type in kept and item.operation != "create"]
    assert not disturbed, f"a third zone must not interrupt the other two:{_lines(disturbed)}"


def test_every_component_is_touched_by_a_row(previewed: dict[str, Previewed], rows: dict[str, Shown]) -> None:
    of_the_program = frozenset().union(*(stack.components for stack in previewed.values()))
    reached = frozenset().union(*(shown.components for shown in rows.values()))
    assert not of_the_program - reached, "nobody knows what a change does to these components"


def test_sleeping_and_waking_work(night: Night) -> None:
    assert night.sleeping.ok, f"the stack cannot be sent to sleep: {night.sleeping.errors}"
    assert night.waking.ok, f"the stack cannot be woken: {night.waking.errors}"


def test_sleeping_takes_what_bills_by_the_hour(night: Night) -> None:
    taken = {item.type for item in touched(night.sleeping.changes) if item.operation == "delete"}
    billed = {
        "autoscaling.Group",
        "ec2.NatGateway",
        "ec2.VpcEndpoint",
        "ecs.Service",
        "lb.LoadBalancer",
        "opensearch.ServerlessVpcEndpoint",
    }
    assert billed <= taken, f"a sleeping stack is billed for {billed - taken}"


@pytest.mark.parametrize("kind", (*HOLD_DATA, *STAY))
def test_sleeping_and_waking_leave_what_holds_data_and_what_others_point_to(kind: str, night: Night) -> None:
    changes = touched([*night.sleeping.changes, *night.waking.changes])
    disturbed = [item for item in changes if item.type == kind]
    assert not disturbed, f"people would not dare to let a stack sleep:{_lines(disturbed)}"


def test_waking_makes_what_sleeping_took_and_nothing_else(night: Night) -> None:
    opposite = {"delete": "create", "update": "update", "replace": "replace"}
    taken = {(opposite[item.operation], item.type, item.name) for item in touched(night.sleeping.changes)}
    made = {(item.operation, item.type, item.name) for item in touched(night.waking.changes)}
    assert taken == made, f"a stack that slept is another one afterwards: {taken ^ made}"


def test_a_stack_with_protected_data_can_sleep(previewed: dict[str, Previewed]) -> None:
    protected = [stack.asleep for stack in previewed.values() if stack.asleep]
    assert protected, "no stack protects its data, so nothing is tried here"
    refused = [result.errors for result in protected if not result.ok]
    assert not refused, f"production is billed day and night: {refused}"
