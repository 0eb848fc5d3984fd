"""Whose account it is, and whether the stack's region is switched on in it."""

from collections.abc import Iterator

from ops.aws_calls import AwsCallError, error_code, told
from ops.preflight.account import Account
from ops.preflight.checks import Check
from ops.preflight.findings import Finding, judged
from ops.preflight.stack import Stack

ENABLED = ("ENABLED", "ENABLED_BY_DEFAULT")
# What a region answers to good credentials while it is not switched on.
# https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_temp_enable-regions.html
UNKNOWN_TOKEN = "InvalidClientTokenId"


def account_id(account: Account) -> str:
    """The id of the account. Raises AwsCallError without usable credentials: nothing else can be asked then."""
    try:
        with told("asking whose credentials these are"):
            return account.client("sts").get_caller_identity()["Account"]
    except AwsCallError as error:
        _tell_of_region(account, error)
        raise


def _tell_of_region(account: Account, refused: AwsCallError) -> None:
    """Raises AwsCallError where the region is why credentials were refused: another region tells its state."""
    from botocore.exceptions import BotoCoreError, ClientError

    cause = refused.__cause__
    if not isinstance(cause, ClientError) or error_code(cause) != UNKNOWN_TOKEN:
        return
    try:
        status = _region_status(account)
    except (BotoCoreError, ClientError):
        return
    if status not in ENABLED:
        raise AwsCallError(
            f"The region {account.region} is {status} in this account, so nothing in it can be asked. Fix: {_switch_on(account)}"
        ) from refused


def _region_status(account: Account) -> str:
    """The account service has one endpoint for all regions of a partition."""
    return account.client("account").get_region_opt_status(RegionName=account.region)["RegionOptStatus"]


def _switch_on(account: Account) -> str:
    return account.command(f"account enable-region --region-name {account.region}")


def account_finding(stack: Stack, found: str) -> Finding:
    """Whether the stack may go into this account."""
    allowed = stack.allowed_account_ids
    good = not allowed or found in allowed
    wrong = "Nothing else was asked: the answers would be those of another account."
    return judged(
        good,
        "account",
        needed=" or ".join(allowed) or "any",
        found=found,
        detail="allowedAccountIds is not set." if not allowed else "" if good else wrong,
        fix=f"use credentials of {' or '.join(allowed)}, or pulumi config set --stack {stack.name} --path 'ai-platform:allowedAccountIds[0]' {found}",
    )


def checks(stack: Stack) -> list[Check]:
    """One check: the region."""
    region = stack.region

    def ask(account: Account) -> Iterator[Finding]:
        status = _region_status(account)
        yield judged(
            status in ENABLED,
            f"region {region}",
            needed="ENABLED",
            found=status,
            fix=_switch_on(account),
        )

    return [Check(what=f"region {region}", ask=ask, actions=("account:GetRegionOptStatus",))]
