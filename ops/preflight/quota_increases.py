"""How a limit is raised: the command that asks for it, or the request that is open already."""

import math
from typing import Any

from ops.aws_calls import refusal
from ops.preflight.account import Account
from ops.preflight.findings import amount
from ops.preflight.quota_codes import QuotaCode

READ_REQUESTS = ("servicequotas:ListRequestedServiceQuotaChangeHistoryByQuota",)
# Service Quotas takes no second request for a limit while one has either state.
# https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_RequestedServiceQuotaChange.html
OPEN_STATES = ("PENDING", "CASE_OPENED")


def remedy(account: Account, code: QuotaCode, needed: float) -> tuple[str, str]:
    """What to know of a limit that is too small, "" if nothing, and the command that mends it.

    A refusal to list the requests is told: that the limit is too small stands all the same.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    increase = account.command(
        "service-quotas request-service-quota-increase "
        f"--service-code {code.service} --quota-code {code.code} --desired-value {math.ceil(needed)}"
    )
    try:
        request = account.once(f"requests {code.service} {code.code}", lambda: open_request(account, code))
    except ClientError as error:
        return f"Whether an increase has been requested already is not known: {refusal(error)}", increase
    except BotoCoreError as error:
        return (
            f"Whether an increase has been requested already is not known: {str(error).rstrip('.')}.",
            increase,
        )
    if request is None:
        return "", increase
    return _waiting(account, request, needed, increase)


def open_request(account: Account, code: QuotaCode) -> Any:
    """The open request for more of a limit, or None."""
    operation = "list_requested_service_quota_change_history_by_quota"
    parameters = {"ServiceCode": code.service, "QuotaCode": code.code}
    requests = account.listed("service-quotas", operation, "RequestedQuotas", parameters)
    return next((item for item in requests if item.get("Status") in OPEN_STATES), None)


def _waiting(account: Account, request: Any, needed: float, increase: str) -> tuple[str, str]:
    """AWS is asked for an answer first; a request that is too small must be closed before a larger one is taken."""
    when = f" on {request['Created']:%Y-%m-%d}" if request.get("Created") else ""
    note = f"An increase to {amount(request['DesiredValue'])} was asked for{when} and is open: {request['Status']}."
    look = account.command(f"service-quotas get-requested-service-quota-change --request-id {request['Id']}")
    if request["DesiredValue"] >= needed:
        return note, f"wait for AWS to grant it: {look}"
    return f"{note} That is too little.", f"{look}; once it is closed, {increase}"
