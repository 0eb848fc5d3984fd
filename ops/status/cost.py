"""What the month has cost so far, against the stack's budget. Unlike Cost Explorer's API, a budget is free to read."""

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
    yield from _fault(budget.get("HealthStatus") or {})
    limit, actual = _usd("limit", budget.get("BudgetLimit")), _usd("spend", spend.get("ActualSpend"))
    if actual is None:
        yield ok("AWS has no figures yet: it updates them a few times a day", spent_usd=None, limit_usd=limit)
        return
    if not limit:
        raise UnansweredError(
            f"AWS reports {actual:,.2f} USD this month, but the budget has no limit. Fix: run `pulumi up`"
        )
    yield judged(
        actual <= limit,
        f"{actual:,.2f} of {limit:,.2f} USD this month ({actual / limit:.0%}); AWS updates this a few times a day",
        spent_usd=actual,
        limit_usd=limit,
    )
    yield from _outlook(actual, _usd("forecast", spend.get("ForecastedSpend")), limit)


def _fault(health: Any) -> Iterator[Line]:
    """A budget that AWS itself calls unhealthy, such as one whose filter it no longer takes."""
    if health.get("Status") == "UNHEALTHY":
        yield unhealthy(f"AWS cannot count this budget ({health.get('StatusReason') or 'no reason given'})")


def _outlook(actual: float, forecast: float | None, limit: float) -> Iterator[Line]:
    if actual == 0:
        # https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_budgets_UpdateBudget.html
        yield ok(
            "Nothing is counted until the tag Stack is activated as a cost allocation tag in the billing console, "
            "or in the first hours after a change of the budget"
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


def _usd(what: str, spend: Any) -> float | None:
    """An amount that Budgets gives as text; None where it gives none. Another currency is never taken for USD."""
    if not spend:
        return None
    amount, unit = float(spend["Amount"]), spend.get("Unit")
    if unit != "USD" or not math.isfinite(amount):
        raise UnansweredError(
            f"The budget's {what} is {spend['Amount']} {unit}, which is not an amount in USD"
        )
    return amount
