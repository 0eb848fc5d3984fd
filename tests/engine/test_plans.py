"""What `deploy-stack` and `drift` rely on: a plan is applied and nothing else, holds no secret, and drift has its exit code."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.engine.engine import Engine

SECRET = "correct-horse-battery-staple"
QUEUE = "aws:sqs/queue:Queue"
EXPECTED_NO_CHANGES = 7


@pytest.fixture(scope="module")
def deployed(pulumi: Path) -> Generator[Engine]:
    """The dev stack; each test leaves it as it is deployed, or deploys."""
    with Engine(pulumi, "dev") as engine:
        engine.configure_secret("another-tool:token", SECRET)
        assert engine.up().ok
        yield engine


def test_the_plan_is_applied_when_nothing_else_has_changed(deployed: Engine) -> None:
    deployed.configure({"logRetentionDays": 30})
    planned = deployed.preview("--save-plan", "plan.json")
    applied = deployed.up("--plan", "plan.json")
    assert planned.ok and applied.ok, applied.errors
    assert applied.changed() == planned.changed() != set()


def test_another_configuration_than_the_planned_one_is_refused(deployed: Engine) -> None:
    deployed.configure({"logRetentionDays": 90})
    assert deployed.preview("--save-plan", "plan.json").ok
    deployed.configure({"logRetentionDays": 60})
    refused = deployed.up("--plan", "plan.json")
    deployed.configure({"logRetentionDays": 30})
    assert not refused.ok, "what nobody approved would be deployed"
    assert "violates plan" in refused.errors
    assert not refused.changed()


def test_a_plan_shows_no_secret(deployed: Engine) -> None:
    assert deployed.preview("--save-plan", "plan.json").ok
    text = (deployed.project / "plan.json").read_text(encoding="utf-8")
    assert json.loads(text)["resourcePlans"]
    assert SECRET not in text


def test_drift_has_an_exit_code_of_its_own_and_changes_nothing(deployed: Engine) -> None:
    before = deployed.export()
    assert deployed.drift().exit_code == 0
    queue = deployed.account.of_type(QUEUE)[0]
    kept = queue.outputs["messageRetentionSeconds"]
    deployed.account.change(QUEUE, queue.name, messageRetentionSeconds=60)
    drifted = deployed.drift()
    deployed.account.change(QUEUE, queue.name, messageRetentionSeconds=kept)
    assert drifted.exit_code == EXPECTED_NO_CHANGES, (
        "the workflow could not tell drift from a failure to look"
    )
    assert deployed.export() == before
