"""Whether Lambda can run the functions of a stack at once, and reserve what they reserve."""

from collections.abc import Iterator

from ops.aws_calls import error_code
from ops.preflight.account import Account
from ops.preflight.checks import Check
from ops.preflight.findings import Finding, amount, judged
from ops.preflight.quota_codes import CONCURRENCY
from ops.preflight.quota_increases import READ_REQUESTS, remedy
from ops.preflight.stack import Stack

FUNCTION = "aws:lambda/function:Function"
EVENT_SOURCE = "aws:lambda/eventSourceMapping:EventSourceMapping"
# What an account keeps for functions without a reservation.
# https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html
UNRESERVED_MINIMUM = 100
READ_OWN = ("tag:GetResources", "lambda:GetFunctionConcurrency")


def checks(stack: Stack) -> list[Check]:
    """One check for all functions, where there are any."""
    functions = stack.of_type(FUNCTION)
    if not functions:
        return []
    reservations = [int(item.inputs.get("reservedConcurrentExecutions") or 0) for item in functions]
    reserved = sum(reservations)
    most = [item.inputs.get("scalingConfig") for item in stack.of_type(EVENT_SOURCE)]
    from_queues = [int(config["maximumConcurrency"]) for config in most if config]
    # A function beside those that queues feed, or that reserve what they run, needs one execution at least.
    running = sum(from_queues) + reservations.count(0) - len(from_queues)

    def ask(account: Account) -> Iterator[Finding]:
        yield _finding(account, reserved, running, own_reservation(account, stack) if reserved else 0)

    actions = ("lambda:GetAccountSettings", *READ_REQUESTS, *(READ_OWN if reserved else ()))
    return [Check(what="Lambda concurrency", ask=ask, actions=actions)]


def own_reservation(account: Account, stack: Stack) -> int:
    """What the functions of the stack have reserved since an earlier `pulumi up`."""
    if not stack.own_tags:
        return 0
    filters = [{"Key": key, "Values": [value]} for key, value in stack.own_tags.items()]
    parameters = {"TagFilters": filters, "ResourceTypeFilters": ["lambda:function"]}
    found = account.listed("resourcegroupstaggingapi", "get_resources", "ResourceTagMappingList", parameters)
    return sum(_reserved(account, arn) for arn in {item["ResourceARN"] for item in found})


def _reserved(account: Account, arn: str) -> int:
    """Tags are told for a while after a function has gone."""
    from botocore.exceptions import ClientError

    try:
        answer = account.client("lambda").get_function_concurrency(FunctionName=arn)
    except ClientError as error:
        if error_code(error).startswith("ResourceNotFound"):
            return 0
        raise
    return int(answer.get("ReservedConcurrentExecutions", 0))


def _finding(account: Account, reserved: int, running: int, own: int) -> Finding:
    limits = account.client("lambda").get_account_settings()["AccountLimit"]
    limit, free = limits["ConcurrentExecutions"], limits["UnreservedConcurrentExecutions"] + own
    needed = reserved + max(running, UNRESERVED_MINIMUM if reserved else 0)
    note, fix = remedy(account, CONCURRENCY, limit + needed - free) if free < needed else ("", "")
    parts = f"the stack reserves {reserved}, and runs up to {running} more at once with a single caller"
    detail = f"The account's limit is {limit}, of which functions of others have reserved {limit - free}; {parts}. {note}"
    return judged(
        free >= needed,
        "Lambda concurrency that others have not reserved",
        needed=amount(needed),
        found=amount(free),
        quota=str(CONCURRENCY),
        detail=detail.rstrip(),
        fix=fix,
    )
