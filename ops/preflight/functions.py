"""Whether Lambda can run the functions of a stack at once, and reserve what they reserve."""

from collections.abc import Iterator

from ops.preflight.account import Account
from ops.preflight.checks import Check
from ops.preflight.findings import Finding, amount, judged
from ops.preflight.quota_codes import CONCURRENCY
from ops.preflight.quotas import increase
from ops.preflight.stack import Stack

FUNCTION = "aws:lambda/function:Function"
EVENT_SOURCE = "aws:lambda/eventSourceMapping:EventSourceMapping"
# What an account keeps for functions without a reservation.
# https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html
UNRESERVED_MINIMUM = 100


def checks(stack: Stack) -> list[Check]:
    """One check for all functions, where there are any."""
    functions = stack.of_type(FUNCTION)
    if not functions:
        return []
    reserved = sum(int(item.inputs.get("reservedConcurrentExecutions") or 0) for item in functions)
    most = [item.inputs.get("scalingConfig") for item in stack.of_type(EVENT_SOURCE)]
    from_queues = sum(int(config["maximumConcurrency"]) for config in most if config)
    # A function beside the one that a queue feeds needs one execution at least.
    running = from_queues + len(functions) - len([config for config in most if config])

    def ask(account: Account) -> Iterator[Finding]:
        yield from _findings(account, reserved, running)

    return [Check(what="Lambda concurrency", ask=ask, actions=("lambda:GetAccountSettings",))]


def _findings(account: Account, reserved: int, running: int) -> Iterator[Finding]:
    limits = account.client("lambda").get_account_settings()["AccountLimit"]
    limit, unreserved = limits["ConcurrentExecutions"], limits["UnreservedConcurrentExecutions"]
    needed = max(running, reserved + UNRESERVED_MINIMUM if reserved else 0)
    parts = f"the stack reserves {reserved}, and runs up to {running} at once with a single caller"
    again = " A stack that is deployed already counts its reservation twice here." if reserved else ""
    yield judged(
        unreserved >= needed,
        "Lambda concurrency without a reservation",
        needed=amount(needed),
        found=amount(unreserved),
        quota=str(CONCURRENCY),
        detail=f"The account's limit is {limit}, of which functions have reserved {limit - unreserved}; {parts}.{again}",
        fix=increase(CONCURRENCY, limit + needed - unreserved, account.region),
    )
