"""Checks a request's Signature Version 4 by making it again with the one pair of keys that exists here."""

import hashlib
import hmac
import re
from datetime import UTC, datetime

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.standins.loopback import Request

ACCESS_KEY_ID = "AKIALOCALSTANDIN0000"
SECRET_ACCESS_KEY = "local-stand-in-and-no-secret-at-all"
# AWS takes a signature for five minutes.
LONGEST_AGE_SECONDS = 300
AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, "
    r"SignedHeaders=([^,]+), Signature=([0-9a-f]{64})"
)


def signature_fault(request: Request, service: str) -> str | None:
    """Why AWS would refuse the signature, or None when it is right for `service`."""
    match = AUTHORIZATION.fullmatch(request.headers.get("authorization", ""))
    if match is None:
        return "Missing Authentication Token"
    key, day, region, signed_service, signed_headers, signature = match.groups()
    if key != ACCESS_KEY_ID:
        return "The security token included in the request is invalid."
    if signed_service != service:
        return f"Credential should be scoped to correct service: '{service}'."
    stamp = request.headers.get("x-amz-date", "")
    if not stamp.startswith(day) or _age_seconds(stamp) > LONGEST_AGE_SECONDS:
        return "Signature expired."
    if not hmac.compare_digest(_signature(request, service, region, signed_headers, stamp), signature):
        return "The request signature we calculated does not match the signature you provided."
    return None


def body_hash_fault(request: Request) -> str | None:
    """Why the header with the hash of the body would be refused."""
    stated = request.headers.get("x-amz-content-sha256")
    if stated is None:
        return "The header x-amz-content-sha256 is missing."
    if stated != hashlib.sha256(request.body).hexdigest():
        return "The header x-amz-content-sha256 is not the hash of the body."
    return None


def _age_seconds(stamp: str) -> float:
    try:
        signed_at = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return float("inf")
    return abs((datetime.now(UTC) - signed_at).total_seconds())


def _signature(request: Request, service: str, region: str, signed_headers: str, stamp: str) -> str:
    signed = AWSRequest(
        request.method, f"http://{request.headers.get('host', '')}{request.target}", data=request.body
    )
    for name in signed_headers.split(";"):
        signed.headers[name] = request.headers.get(name, "")
    signed.context["timestamp"] = stamp
    auth = SigV4Auth(Credentials(ACCESS_KEY_ID, SECRET_ACCESS_KEY), service, region)
    to_sign = auth.string_to_sign(signed, auth.canonical_request(signed))
    return auth.signature(to_sign, signed)
