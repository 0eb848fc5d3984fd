"""Limits as Service Quotas tells them, and what they leave for a stack."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ops.aws_calls import error_code
from ops.preflight.account import Account, UnansweredError
from ops.preflight.findings import Finding, amount, judged
from ops.preflight.quota_codes import QuotaCode
from ops.preflight.quota_increases import READ_REQUESTS, remedy

READ_QUOTA = ("servicequotas:GetServiceQuota", "servicequotas:GetAWSDefaultServiceQuota", *READ_REQUESTS)
FIND_QUOTA = (*READ_QUOTA, "servicequotas:ListAWSDefaultServiceQuotas")


@dataclass(frozen=True, kw_only=True)
class Quota:
    """A limit as it holds for the account, or AWS's default where the account has none of its own."""

    code: QuotaCode
    value: float
    adjustable: bool
    is_default: bool


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What is wanted of a limit: `added` by the stack at its largest, `used` by others. `source` says who wants it.

    `largest` is the largest need of several that share the limit, so that all ask AWS for the same.
    """

    what: str
    added: float
    used: float
    source: str
    largest: float = 0


def read_quota(account: Account, code: QuotaCode) -> Quota:
    """The limit of the account. Raises UnansweredError where AWS does not tell its value."""
    return account.once(f"quota {code.service} {code.code}", lambda: _read(account, code))


def codes_of(account: Account, code: QuotaCode) -> list[QuotaCode]:
    """The limit itself, or all whose names match where its code is not known; none where AWS lists no such limit."""
    if code.code:
        return [code]
    listed = account.once(f"quotas of {code.service}", lambda: _default_quotas(account, code.service))
    found = {
        item["QuotaCode"]: item["QuotaName"] for item in listed if re.search(code.name, item["QuotaName"])
    }
    return [replace(code, code=key, name=found[key]) for key in sorted(found)]


def limit_findings(account: Account, code: QuotaCode, demand: Demand) -> Iterator[Finding]:
    """A finding for each limit that is meant. Raises UnansweredError where AWS lists none."""
    codes = codes_of(account, code)
    if not codes:
        listing = account.command(
            f"service-quotas list-aws-default-service-quotas --service-code {code.service}"
        )
        raise UnansweredError(
            f"Service Quotas lists no limit of {code.service} whose name matches {code.name!r}. Look for it with `{listing}`."
        )
    for known in codes:
        what = demand.what if code.code else f"{demand.what} ({known.name})"
        yield limit_finding(account, known, replace(demand, what=what))


def limit_finding(account: Account, code: QuotaCode, demand: Demand) -> Finding:
    """Whether the limit holds what others use and what the stack adds."""
    quota = read_quota(account, code)
    needed = demand.used + demand.added
    parts = [f"{demand.source}: {amount(demand.added)}", f"in use by others: {amount(demand.used)}"]
    notes = ["The limit is AWS's default."] if quota.is_default else []
    good, fix = quota.value >= needed, ""
    if not quota.adjustable:
        notes.append("AWS does not raise this limit: make the stack smaller, or use another region.")
    elif not good:
        note, fix = remedy(account, quota.code, max(needed, demand.largest))
        notes += [note] if note else []
    return judged(
        good,
        demand.what,
        needed=amount(needed),
        found=amount(quota.value),
        quota=str(quota.code),
        detail=" ".join([f"{'; '.join(parts)}.", *notes]),
        fix=fix,
    )


def _read(account: Account, code: QuotaCode) -> Quota:
    """GetServiceQuota knows no limit that was never changed for the account; then its default holds."""
    from botocore.exceptions import ClientError

    client = account.client("service-quotas")
    names = {"ServiceCode": code.service, "QuotaCode": code.code}
    try:
        return _quota(code, client.get_service_quota(**names), is_default=False)
    except ClientError as error:
        if not error_code(error).startswith("NoSuchResource"):
            raise
    return _quota(code, client.get_aws_default_service_quota(**names), is_default=True)


def _default_quotas(account: Account, service: str) -> list[Any]:
    """Defaults are listed, since an account need not have a value of its own."""
    from botocore.exceptions import ClientError

    operation, parameters = "list_aws_default_service_quotas", {"ServiceCode": service}
    try:
        return list(account.listed("service-quotas", operation, "Quotas", parameters))
    except ClientError as error:
        if error_code(error).startswith("NoSuchResource"):
            return []
        raise


def _quota(code: QuotaCode, answer: Any, *, is_default: bool) -> Quota:
    told = answer.get("Quota", {})
    if "Value" not in told:
        reason = told.get("ErrorReason", {}).get("ErrorMessage", "it gave no reason").rstrip(".")
        raise UnansweredError(f"Service Quotas gives no value for {code.service} {code.code}: {reason}.")
    return Quota(
        code=code, value=told["Value"], adjustable=told.get("Adjustable", True), is_default=is_default
    )
