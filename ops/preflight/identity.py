"""Whose account it is, and whether the stack's region is switched on in it."""

from collections.abc import Iterator

from ops.aws_calls import AwsCallError, told
from ops.preflight.account import Account
from ops.preflight.checks import Check
from ops.preflight.findings import Finding, judged
from ops.preflight.stack import Stack

ENABLED = ("ENABLED", "ENABLED_BY_DEFAULT")


def account_id(account: Account) -> str:
    """The id of the account. Raises AwsCallError without usable credentials: nothing else can be asked then."""
    try:
        with told("asking whose credentials these are"):
            return account.client("sts").get_caller_identity()["Account"]
    except AwsCallError as error:
        reason = str(error).rstrip(".")
        raise AwsCallError(
            f"{reason}. Fix: log in, as with `aws sso login`, or name a profile with --profile."
        ) from error


def account_finding(stack: Stack, found: str) -> Finding:
    """Whether the stack may go into this account."""
    allowed = stack.allowed_account_ids
    return judged(
        not allowed or found in allowed,
        "account",
        needed=" or ".join(allowed) or "any",
        found=found,
        detail="" if allowed else "allowedAccountIds is not set.",
        fix=f"use credentials of {' or '.join(allowed)}, or pulumi config set --stack {stack.name} --path 'ai-platform:allowedAccountIds[0]' {found}",
    )


def checks(stack: Stack) -> list[Check]:
    """One check: the region."""
    region = stack.region

    def ask(account: Account) -> Iterator[Finding]:
        status = account.client("account").get_region_opt_status(RegionName=region)["RegionOptStatus"]
        yield judged(
            status in ENABLED,
            f"region {region}",
            needed="ENABLED",
            found=status,
            fix=f"aws account enable-region --region-name {region}",
        )

    return [Check(what=f"region {region}", ask=ask, actions=("account:GetRegionOptStatus",))]
