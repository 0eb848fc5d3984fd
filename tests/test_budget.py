from collections.abc import Callable, Mapping
from typing import Any

import pytest

from components.aws_account import AwsAccount, default_tags
from components.budget import Budget, BudgetArgs
from components.config import PlatformConfig
from ops.capture.recording import Recording

BUDGET = "aws:budgets/budget:Budget"
CHANGES = {"budgetEmail": "costs@example.com", "budgetMonthlyUsd": 250}

Register = Callable[..., Recording]


def build() -> None:
    config = PlatformConfig.load()
    account = AwsAccount.connect(config)
    assert config.budget is not None
    Budget("budget", BudgetArgs(config=config.budget, tags=default_tags(config)), account.options)


@pytest.fixture
def inputs(register: Register) -> Mapping[str, Any]:
    return register(build, changes=CHANGES).one(BUDGET).inputs


def test_the_limit_is_a_monthly_cost_in_dollars(inputs: Mapping[str, Any]) -> None:
    limit = {key: inputs[key] for key in ("budgetType", "timeUnit", "limitAmount", "limitUnit")}
    assert limit == {"budgetType": "COST", "timeUnit": "MONTHLY", "limitAmount": "250", "limitUnit": "USD"}


def test_the_owner_hears_before_at_and_ahead_of_the_limit(inputs: Mapping[str, Any]) -> None:
    told = [(item["notificationType"], item["threshold"]) for item in inputs["notifications"]]
    assert told == [("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 100)], "the money would be gone first"


def test_notifications_go_to_the_configured_address_above_the_threshold(inputs: Mapping[str, Any]) -> None:
    for item in inputs["notifications"]:
        assert item["subscriberEmailAddresses"] == ["costs@example.com"], "nobody would be told"
        assert item["comparisonOperator"] == "GREATER_THAN"
        assert item["thresholdType"] == "PERCENTAGE", "80 would mean dollars"


def test_a_budget_counts_its_own_stack_only(inputs: Mapping[str, Any]) -> None:
    assert inputs["costFilters"] == [{"name": "TagKeyValue", "values": ["user:Stack$dev"]}], (
        "one stack would be blamed for the whole account, or for nothing"
    )


def test_a_stacks_own_value_of_its_tag_is_what_counts(register: Register) -> None:
    changes = {**CHANGES, "tags": {"Stack": "research"}}
    filters = register(build, changes=changes).one(BUDGET).inputs["costFilters"]
    assert filters[0]["values"] == ["user:Stack$research"], "resources carry another value than the filter"
