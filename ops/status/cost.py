"""What the month has cost so far, against the stack's budget. Budgets are free to read, other than the cost explorer."""

import math
from collections.abc import Iterator
from typing import Any

from ops.aws_calls import error_code
from ops.preflight.account import UnansweredError
from ops.status.sections import Area, Deployed, Line, absent, judged, ok, unhealthy

OUTPUT = "budget"


def area() -> Area:
    # One permission is behind every question about a budget.
    # https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsbudgetservice.html
    return Area(title="Cost", actions=("budgets:ViewBudget", "sts:GetCallerIdentity"), read=_read)


def _read(deployed: Deployed) -> Iterator[Line]:
    if not deployed.has(OUTPUT):
        yield absent("no budget in this stack: set budgetEmail and budgetMonthlyUsd, and run `pulumi up`")
        return
    budget = _budget(deployed)
    spend = budget.get("CalculatedSpend") or {}
    limit, actual = _usd(budget.get("BudgetLimit")), _usd(spend.get("ActualSpend"))
    if actual is None or not limit:
        yield ok(
            "AWS has not counted anything yet: it does so some times a day", spent_usd=None, limit_usd=limit
        )
        return
    yield judged(
        actual <= limit,
        f"{actual:,.2f} of {limit:,.2f} USD this month ({actual / limit:.0%})",
        spent_usd=actual,
        limit_usd=limit,
    )
    yield from _outlook(actual, _usd(spend.get("ForecastedSpend")), limit)


def _outlook(actual: float, forecast: float | None, limit: float) -> Iterator[Line]:
    if actual == 0:
        yield ok(
            "Nothing is counted until the tag Stack is activated as a cost allocation tag in the billing console"
        )
    if forecast is None:
        return
    text = f"AWS expects {forecast:,.2f} USD by the end of the month"
    if forecast > limit >= actual:
        yield unhealthy(f"{text}, {forecast / limit - 1:.0%} above the budget", forecast_usd=forecast)
    else:
        yield ok(text, forecast_usd=forecast)


def _budget(deployed: Deployed) -> Any:
    from botocore.exceptions import ClientError

    name = deployed.outputs.text(OUTPUT)
    account_id = deployed.account.once(
        "account id", lambda: deployed.client("sts").get_caller_identity()["Account"]
    )
    try:
        return deployed.client("budgets").describe_budget(AccountId=account_id, BudgetName=name)["Budget"]
    except ClientError as error:
        if error_code(error) == "NotFoundException":
            raise UnansweredError(
                f"Account {account_id} has no budget {name}. Fix: use the credentials of the stack's account, or run `pulumi up`"
            ) from error
        raise


def _usd(spend: Any) -> float | None:
    """An amount that Budgets gives as text; None for none, another currency or no number."""
    if not spend or spend.get("Unit") != "USD":
        return None
    try:
        amount = float(spend["Amount"])
    except (KeyError, ValueError):
        return None
    return amount if math.isfinite(amount) else None
