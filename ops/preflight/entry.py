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

    place = f"--region {account.region}"
    try:
        secret = account.client("secretsmanager").describe_secret(SecretId=arn)
    except ClientError as error:
        if not error_code(error).startswith("ResourceNotFound"):
            raise
        # The new secret's ARN ends in other letters.
        command = f"aws secretsmanager create-secret --name {name} --secret-string file://value.txt {place}"
        return "none", f"{command}; then put its ARN into the stack file"
    if secret.get("DeletedDate"):
        return (
            f"scheduled for deletion on {secret['DeletedDate']:%Y-%m-%d}",
            f"aws secretsmanager restore-secret --secret-id {arn} {place}",
        )
    if not any(CURRENT in stages for stages in secret.get("VersionIdsToStages", {}).values()):
        command = (
            f"aws secretsmanager put-secret-value --secret-id {arn} --secret-string file://value.txt {place}"
        )
        return "a secret without a value", command
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

    place = f"--region {account.region}"
    request = f"aws acm request-certificate --domain-name DOMAIN --validation-method DNS {place}; then put its ARN into certificateArn"
    try:
        certificate = account.client("acm").describe_certificate(CertificateArn=arn)["Certificate"]
    except ClientError as error:
        if not error_code(error).startswith("ResourceNotFound"):
            raise
        return "none", request
    status = certificate["Status"]
    if status == "PENDING_VALIDATION":
        return status, _show_validation(arn, place)
    if status != "ISSUED":
        return status, request.replace("DOMAIN", certificate.get("DomainName", "DOMAIN"))
    return _expiry(certificate, arn, place)


def _expiry(certificate: Any, arn: str, place: str) -> tuple[str, str]:
    """ACM renews its own certificates 60 days before they end, so one that is near its end was not renewed.

    https://docs.aws.amazon.com/acm/latest/userguide/managed-renewal.html
    """
    ends = certificate["NotAfter"]
    found = f"ISSUED, valid until {ends:%Y-%m-%d}"
    if ends - datetime.now(UTC) > timedelta(days=CERTIFICATE_DAYS):
        return found, ""
    if certificate.get("Type") == "IMPORTED":
        files = "--certificate fileb://cert.pem --private-key fileb://key.pem"
        return found, f"aws acm import-certificate --certificate-arn {arn} {files} {place}"
    return found, _show_validation(arn, place)


def _show_validation(arn: str, place: str) -> str:
    query = "--query Certificate.DomainValidationOptions"
    return f"aws acm describe-certificate --certificate-arn {arn} {query} {place}; then make the DNS records that it shows"
