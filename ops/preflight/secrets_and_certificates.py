"""Whether the secrets and certificates that a stack names exist and are in force. No secret's value is read."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from ops.aws_calls import error_code
from ops.preflight.account import Account
from ops.preflight.checks import Check
from ops.preflight.findings import Finding, judged
from ops.preflight.stack import Stack

LISTENER = "aws:lb/listener:Listener"
CERTIFICATE_DAYS = 30
# The stage of the value that is in force.
# https://docs.aws.amazon.com/secretsmanager/latest/userguide/getting-started.html
CURRENT = "AWSCURRENT"


def checks(stack: Stack) -> list[Check]:
    """One check for each secret that a role may read, and for each certificate of a listener."""
    secrets = [arn for arn in stack.allowed_resources("secretsmanager:GetSecretValue") if "*" not in arn]
    certificates = {str(item.inputs.get("certificateArn") or "") for item in stack.of_type(LISTENER)} - {""}
    return [
        *(_secret_check(arn) for arn in secrets),
        *(_certificate_check(arn) for arn in sorted(certificates)),
    ]


def _secret_check(arn: str) -> Check:
    name = secret_name(arn)
    what = f"secret {name}"

    def ask(account: Account) -> Iterator[Finding]:
        found, fix = _secret_state(account, arn, name)
        yield judged(not fix, what, needed="a secret with a value", found=found, detail=arn, fix=fix)

    return Check(what=what, ask=ask, actions=("secretsmanager:DescribeSecret",), resources=(arn,))


def _secret_state(account: Account, arn: str, name: str) -> tuple[str, str]:
    """What there is, and the command that mends it: none for a secret that can be used."""
    from botocore.exceptions import ClientError

    try:
        secret = account.client("secretsmanager").describe_secret(SecretId=arn)
    except ClientError as error:
        if not error_code(error).startswith("ResourceNotFound"):
            raise
        # The new secret's ARN ends in other letters.
        command = account.command(
            f"secretsmanager create-secret --name {name} --secret-string file://value.txt"
        )
        return "none", f"{command}; then put its ARN into the stack file"
    if secret.get("DeletedDate"):
        return (
            f"scheduled for deletion on {secret['DeletedDate']:%Y-%m-%d}",
            account.command(f"secretsmanager restore-secret --secret-id {arn}"),
        )
    if not any(CURRENT in stages for stages in secret.get("VersionIdsToStages", {}).values()):
        command = f"secretsmanager put-secret-value --secret-id {arn} --secret-string file://value.txt"
        return "a secret without a value", account.command(command)
    return "there", ""


def secret_name(arn: str) -> str:
    """The name inside a secret's ARN, without the six letters that AWS adds."""
    return arn.partition(":secret:")[2].rpartition("-")[0]


def _certificate_check(arn: str) -> Check:
    what = f"certificate {arn.rpartition('/')[2]}"

    def ask(account: Account) -> Iterator[Finding]:
        found, fix = _certificate_state(account, arn)
        needed = f"ISSUED, valid for {CERTIFICATE_DAYS} days more"
        yield judged(not fix, what, needed=needed, found=found, detail=arn, fix=fix)

    return Check(what=what, ask=ask, actions=("acm:DescribeCertificate",), resources=(arn,))


def _certificate_state(account: Account, arn: str) -> tuple[str, str]:
    """What there is, and the command that mends it: none for a certificate that can be used."""
    from botocore.exceptions import ClientError

    try:
        certificate = account.client("acm").describe_certificate(CertificateArn=arn)["Certificate"]
    except ClientError as error:
        if not error_code(error).startswith("ResourceNotFound"):
            raise
        return "none", _request(account, "DOMAIN")
    status = certificate["Status"]
    if status == "PENDING_VALIDATION":
        return status, _show_validation(account, arn)
    if status != "ISSUED":
        return status, _request(account, certificate.get("DomainName", "DOMAIN"))
    return _expiry(account, certificate, arn)


def _expiry(account: Account, certificate: Any, arn: str) -> tuple[str, str]:
    """ACM renews its own certificates 60 days before they end, so one that is near its end was not renewed.

    https://docs.aws.amazon.com/acm/latest/userguide/managed-renewal.html
    """
    ends = certificate["NotAfter"]
    found = f"ISSUED, valid until {ends:%Y-%m-%d}"
    if ends - datetime.now(UTC) > timedelta(days=CERTIFICATE_DAYS):
        return found, ""
    if certificate.get("Type") == "IMPORTED":
        files = "--certificate fileb://cert.pem --private-key fileb://key.pem"
        return found, account.command(f"acm import-certificate --certificate-arn {arn} {files}")
    return found, _show_validation(account, arn)


def _request(account: Account, domain: str) -> str:
    command = account.command(f"acm request-certificate --domain-name {domain} --validation-method DNS")
    return f"{command}; then put its ARN into certificateArn"


def _show_validation(account: Account, arn: str) -> str:
    query = "--query Certificate.DomainValidationOptions"
    command = account.command(f"acm describe-certificate --certificate-arn {arn} {query}")
    return f"{command}; then make the DNS records that it shows"
