"""What goes wrong outside of the program is mended by the next run: calls that fail, resources that vanish, counts that
others change."""

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.engine.engine import Engine
from tests.engine.events import Result
from tests.engine.stub.account import Existing
from tests.engine.stub.faults import Fault

COMPUTE = "aws:batch/computeEnvironment:ComputeEnvironment"
GROUP = "aws:autoscaling/group:Group"
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
QUEUE = "aws:sqs/queue:Queue"
ROLE = "aws:iam/role:Role"
SERVICE = "aws:ecs/service:Service"
SUBNET = "aws:ec2/subnet:Subnet"

# Met one after the other: the service waits for the role.
FAULTS = (
    Fault(operation="create", type=ROLE, name="rag-task-execution", message="AccessDenied: not authorized"),
    Fault(operation="create", type=SERVICE, times=2),
)


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """A stack in which calls fail. `failed` are the runs of `up` that met the faults, in their order."""

    failed: list[tuple[Fault, Result]]
    repaired: Result
    second_preview: Result
    made: list[Existing]
    failed_destroy: Result
    destroy: Result
    left: list[Existing]


@pytest.fixture(scope="module")
def recovery(pulumi: Path) -> Recovery:
    with Engine(pulumi, "dev") as engine:
        for fault in FAULTS:
            engine.account.faults.add(fault)
        failed = [(fault, engine.up()) for fault in FAULTS for _ in range(fault.times)]
        repaired, second_preview = engine.up(), engine.preview_is_empty()
        made = list(engine.account)
        engine.account.faults.add(Fault(operation="delete", type=SUBNET, nth=2))
        return Recovery(
            failed=failed,
            repaired=repaired,
            second_preview=second_preview,
            made=made,
            failed_destroy=engine.destroy(),
            destroy=engine.destroy(),
            left=list(engine.account),
        )


def test_a_failed_up_tells_what_failed_and_why(recovery: Recovery) -> None:
    for fault, result in recovery.failed:
        assert not result.ok
        assert fault.message in result.output
        assert {step.type for step in result.changes if step.failed} == {fault.type}


def test_a_failed_up_keeps_what_it_made(recovery: Recovery) -> None:
    runs = [result for _, result in recovery.failed] + [recovery.repaired]
    made = [
        (step.type, step.name)
        for result in runs
        for step in result.changes
        if step.operation == "create" and not step.failed
    ]
    assert len(made) == len(set(made)), "a resource that exists is made a second time"
    assert len(recovery.failed[0][1].changes) > len(recovery.repaired.changes), "nothing was half done"


def test_the_next_up_finishes_what_a_failed_one_began(recovery: Recovery) -> None:
    assert recovery.repaired.ok, recovery.repaired.errors
    assert recovery.second_preview.ok, recovery.second_preview.output[-2000:]


def test_what_a_failed_up_made_is_not_made_again(recovery: Recovery) -> None:
    made = [(item.type, item.name) for item in recovery.made]
    assert len(made) == len(set(made)), "the first try is left behind, and billed"


def test_a_failed_destroy_is_finished_by_the_next_one(recovery: Recovery) -> None:
    assert not recovery.failed_destroy.ok
    assert recovery.destroy.ok, recovery.destroy.errors
    assert not recovery.left, "what stays behind is billed, and nobody knows of it"


@pytest.fixture(scope="module")
def staging(pulumi: Path) -> Generator[Engine]:
    """The staging stack, deployed: each test leaves it as the program wants it."""
    with Engine(pulumi, "staging") as engine:
        engine.up()
        yield engine


def test_what_vanished_is_found_by_a_refresh_and_made_again(staging: Engine) -> None:
    vanished = {(LOG_GROUP, "ingestion-index-logs"), (QUEUE, "ingestion-dead-letters")}
    for kind, name in vanished:
        staging.account.remove(staging.account.one(kind, name))
    refreshed = staging.refresh()
    assert refreshed.changed() == {("delete", *item) for item in vanished}, "the state lists what is gone"
    repaired = staging.up()
    assert repaired.ok, repaired.errors
    made = {(step.type, step.name) for step in repaired.changes if step.operation == "create"}
    assert made == vanished
    assert staging.preview_is_empty().ok


def test_counts_that_scaling_changed_are_not_reset(staging: Engine) -> None:
    compute = staging.account.one(COMPUTE, "training-capacity-spot")
    staging.account.change(SERVICE, desiredCount=3)
    staging.account.change(GROUP, desiredCapacity=2)
    staging.account.change(
        COMPUTE, compute.name, computeResources={**compute.outputs["computeResources"], "desiredVcpus": 8}
    )
    _check_counts_stay(staging)
    assert staging.refresh().changed() >= {("update", SERVICE, "rag-service")}, (
        "the refresh did not see the count, so the rest proves nothing"
    )
    _check_counts_stay(staging)
    staging.configure({"ragMemoryMib": 4096})
    updated = staging.up()
    assert ("update", SERVICE, "rag-service") in updated.changed(), updated.errors
    assert _counts(staging) == (3, 2, 8), "a deployment would end tasks in the middle of an answer"


def _check_counts_stay(engine: Engine) -> None:
    preview = engine.preview_is_empty()
    assert preview.ok, f"a preview would reset what scaling decided: {preview.changed() or preview.errors}"


def _counts(engine: Engine) -> tuple[int, int, int]:
    compute = engine.account.one(COMPUTE, "training-capacity-spot").outputs["computeResources"]
    return (
        engine.account.one(SERVICE).outputs["desiredCount"],
        engine.account.one(GROUP).outputs["desiredCapacity"],
        compute["desiredVcpus"],
    )
