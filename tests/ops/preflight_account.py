"""An AWS account in memory for `python -m ops preflight`: real clients, whose requests are answered on the wire.

The clients build, sign, retry and parse as ever, so parameters are validated and throttling is retried; answers are
held to AWS's own model of them.
"""

import io
import json
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.sax.saxutils import escape

import boto3
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.validate import validate_parameters

from components.bedrock import PROFILE_REGIONS

ACCOUNT_ID, REGION = "111122223333", "eu-central-1"
ZONES = tuple(f"{REGION}{letter}" for letter in "abc")
PLENTY = 100_000.0
ATTEMPTS = 5
AOSS_QUOTAS = {
    "L-AAAA0001": "Collections per account",
    "L-AAAA0002": "Collection groups per account",
    "L-AAAA0003": "Indexing OCUs per collection group",
    "L-AAAA0004": "Search OCUs per collection group",
}
EU = sorted(PROFILE_REGIONS["eu"])
THROTTLED = {"ec2": "RequestLimitExceeded", "iam": "Throttling", "sts": "Throttling"}
SESSION = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name=REGION)


class RefusedError(Exception):
    """What AWS answers instead: a code."""

    def __init__(self, code: str, message: str = "no") -> None:
        super().__init__(code)
        self.code, self.message = code, message


class FakeAccount:
    """Has everything, until a test takes something away: `answers` maps operations to functions of their parameters.

    `quotas` are values by code, None for a quota that only has a default, which `defaults` tells. `refused` maps
    operations to codes, and `throttled` to how often they are throttled first. `called` collects what was asked.
    """

    def __init__(self) -> None:
        self.quotas: dict[str, float | None] = {}
        self.defaults: dict[str, float] = {}
        self.quota_names: dict[str, dict[str, str]] = {"aoss": dict(AOSS_QUOTAS)}
        self.refused: dict[str, str] = {}
        self.throttled: dict[str, int] = {}
        self.called: set[tuple[str, str]] = set()
        self.answers: dict[str, Callable[..., Mapping[str, Any]]] = {**EVERYTHING}
        self.answers |= {
            "GetServiceQuota": self._quota,
            "GetAWSDefaultServiceQuota": self._default,
            "ListAWSDefaultServiceQuotas": self._listed_quotas,
        }
        self._asked = threading.local()
        self._lock = threading.Lock()

    def client(self, service: str, region: str, profile: str | None = None) -> Any:
        """A client with the retries of the operator's tools."""
        config = Config(retries={"mode": "standard", "total_max_attempts": ATTEMPTS})
        client = SESSION.client(service, region_name=region, config=config)
        client.meta.events.register("before-parameter-build", self._remember)
        client.meta.events.register("before-send", self._answer_for(client))
        return client

    def _remember(self, params: dict[str, Any], model: Any, **rest: Any) -> None:
        self._asked.params, self._asked.model = dict(params), model

    def _answer_for(self, client: Any) -> Callable[..., AWSResponse]:
        def answer(request: Any, **rest: Any) -> AWSResponse:
            model = self._asked.model
            service = model.service_model
            with self._lock:
                self.called.add((service.signing_name, model.name))
            try:
                found = self._found(service.service_name, model.name, client.meta.region_name)
            except RefusedError as error:
                return _error(service.resolved_protocol, error, request.url)
            report = validate_parameters(found, model.output_shape)
            assert report is None, report
            return _success(service.resolved_protocol, model, found, request.url)

        return answer

    def _found(self, service: str, operation: str, region: str) -> Mapping[str, Any]:
        with self._lock:
            left = self.throttled.get(operation, 0)
            self.throttled[operation] = left - 1
        if left > 0:
            raise RefusedError(THROTTLED.get(service, "ThrottlingException"))
        if operation in self.refused:
            raise RefusedError(self.refused[operation])
        return self.answers[operation](**self._asked.params)

    def _quota(self, ServiceCode: str, QuotaCode: str) -> Mapping[str, Any]:
        value = self.quotas.get(QuotaCode, PLENTY)
        if value is None:
            raise RefusedError("NoSuchResourceException")
        return {
            "Quota": {"QuotaCode": QuotaCode, "ServiceCode": ServiceCode, "Value": value, "Adjustable": True}
        }

    def _default(self, ServiceCode: str, QuotaCode: str) -> Mapping[str, Any]:
        return {"Quota": {"QuotaCode": QuotaCode, "Value": self.defaults[QuotaCode], "Adjustable": True}}

    def _listed_quotas(self, ServiceCode: str, NextToken: str = "") -> Mapping[str, Any]:
        """The first page is empty, and one quota is told twice."""
        if not NextToken:
            return {"Quotas": [], "NextToken": "more"}
        names = self.quota_names.get(ServiceCode, {})
        rows = [{"QuotaCode": code, "QuotaName": name} for code, name in names.items()]
        return {"Quotas": [*rows, *rows[:1]]}


def _offerings(LocationType: str, Filters: Any) -> Mapping[str, Any]:
    rows = [
        {"InstanceType": name, "LocationType": LocationType, "Location": zone}
        for name in Filters[0]["Values"]
        for zone in ZONES
    ]
    return {"InstanceTypeOfferings": [*rows, *rows]}


def model_details(**lifecycle: Any) -> Mapping[str, Any]:
    """An answer about a model with this life cycle."""
    arn = f"arn:aws:bedrock:{REGION}::foundation-model/amazon.titan-embed-text-v2:0"
    return {
        "modelDetails": {
            "modelArn": arn,
            "modelId": "amazon.titan-embed-text-v2:0",
            "modelLifecycle": {"status": "ACTIVE", **lifecycle},
        }
    }


def availability(agreement: str = "AVAILABLE", **parts: str) -> Mapping[str, Any]:
    """An answer about the access to a model."""
    return {
        "modelId": "amazon.titan-embed-text-v2:0",
        "agreementAvailability": {"status": agreement},
        "authorizationStatus": "AUTHORIZED",
        "entitlementAvailability": "AVAILABLE",
        "regionAvailability": "AVAILABLE",
        **parts,
    }


def profile(name: str, regions: list[str]) -> Mapping[str, Any]:
    """An answer about an inference profile that serves these regions."""
    model = name.partition(".")[2]
    return {
        "inferenceProfileName": "profile",
        "inferenceProfileArn": f"arn:aws:bedrock:{REGION}:{ACCOUNT_ID}:inference-profile/{name}",
        "models": [{"modelArn": f"arn:aws:bedrock:{region}::foundation-model/{model}"} for region in regions],
        "inferenceProfileId": name,
        "status": "ACTIVE",
        "type": "SYSTEM_DEFINED",
    }


def role(name: str) -> Mapping[str, Any]:
    """An answer about a service-linked role."""
    arn = f"arn:aws:iam::{ACCOUNT_ID}:role/aws-service-role/{name}"
    when = datetime(2026, 1, 1, tzinfo=UTC)
    return {
        "Role": {"Path": "/", "RoleName": name, "RoleId": "AROAEXAMPLEROLEID", "Arn": arn, "CreateDate": when}
    }


def secret(**values: Any) -> Mapping[str, Any]:
    """An answer about a secret that has a value."""
    return {"Name": "ai-platform/openai", "VersionIdsToStages": {"v" * 32: ["AWSCURRENT"]}, **values}


def certificate(days: float = 300, **values: Any) -> Mapping[str, Any]:
    """An answer about a certificate that ends in so many days."""
    ends = datetime.now(UTC) + timedelta(days=days)
    return {"Certificate": {"Status": "ISSUED", "Type": "AMAZON_ISSUED", "NotAfter": ends, **values}}


EVERYTHING: dict[str, Callable[..., Mapping[str, Any]]] = {
    "GetCallerIdentity": lambda: {"Account": ACCOUNT_ID},
    "GetRegionOptStatus": lambda RegionName: {
        "RegionName": RegionName,
        "RegionOptStatus": "ENABLED_BY_DEFAULT",
    },
    "ListRequestedServiceQuotaChangeHistoryByQuota": lambda ServiceCode, QuotaCode: {"RequestedQuotas": []},
    "GetResources": lambda TagFilters, ResourceTypeFilters: {"ResourceTagMappingList": []},
    "DescribeInstances": lambda Filters: {"Reservations": []},
    "DescribeInstanceTypeOfferings": _offerings,
    "DescribeCapacityReservations": lambda Filters: {"CapacityReservations": []},
    "DescribeVpcs": lambda: {"Vpcs": []},
    "DescribeAddresses": lambda: {"Addresses": []},
    "DescribeNatGateways": lambda Filter: {
        "NatGateways": [{"NatGatewayId": "nat-1", "SubnetId": "subnet-9", "State": "available"}]
    },
    "DescribeSubnets": lambda SubnetIds: {
        "Subnets": [{"SubnetId": name, "AvailabilityZone": ZONES[0]} for name in SubnetIds]
    },
    "GetParameters": lambda Names: {"Parameters": [{"Name": name, "Value": "ami-1"} for name in Names]},
    "ListClusters": lambda: {"clusterArns": [f"arn:aws:ecs:{REGION}:{ACCOUNT_ID}:cluster/other"]},
    "ListTasks": lambda cluster: {"taskArns": [f"{cluster}/1"]},
    "DescribeTasks": lambda cluster, tasks: {
        "tasks": [{"taskArn": task, "cpu": "512", "launchType": "FARGATE"} for task in tasks]
    },
    "ListCollections": lambda: {"collectionSummaries": []},
    "ListCollectionGroups": lambda: {"collectionGroupSummaries": []},
    "GetAccountSettings": lambda: {
        "AccountLimit": {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 1000}
    },
    "GetInferenceProfile": lambda inferenceProfileIdentifier: profile(inferenceProfileIdentifier, EU),
    "GetFoundationModel": lambda modelIdentifier: model_details(),
    "GetFoundationModelAvailability": lambda modelId: availability(),
    "DescribeSecret": lambda SecretId: secret(),
    "DescribeCertificate": lambda CertificateArn: certificate(),
    "GetRole": lambda RoleName: role(RoleName),
}


def refuse(code: str) -> Callable[..., Mapping[str, Any]]:
    """An answer that is a refusal."""

    def answer(**parameters: Any) -> Mapping[str, Any]:
        raise RefusedError(code)

    return answer


def account_without_anything() -> FakeAccount:
    """A new account: every limit is 0 and nothing exists."""
    account = FakeAccount()
    account.answers |= {
        "GetServiceQuota": refuse("NoSuchResourceException"),
        "GetAWSDefaultServiceQuota": lambda ServiceCode, QuotaCode: {"Quota": {"Value": 0.0}},
        "GetRegionOptStatus": lambda RegionName: {"RegionOptStatus": "DISABLED"},
        "DescribeInstanceTypeOfferings": lambda LocationType, Filters: {},
        "GetParameters": lambda Names: {"InvalidParameters": Names},
        "GetAccountSettings": lambda: {
            "AccountLimit": {"ConcurrentExecutions": 1, "UnreservedConcurrentExecutions": 1}
        },
        "GetInferenceProfile": refuse("ResourceNotFoundException"),
        "GetFoundationModel": refuse("ResourceNotFoundException"),
        "DescribeSecret": refuse("ResourceNotFoundException"),
        "DescribeCertificate": refuse("ResourceNotFoundException"),
        "GetRole": refuse("NoSuchEntity"),
    }
    return account


class _Raw(io.BytesIO):
    def stream(self, **options: Any) -> Any:
        yield self.read()


def _response(url: str, status: int, body: str) -> AWSResponse:
    return AWSResponse(url, status, {}, _Raw(body.encode()))


def _error(protocol: str, error: RefusedError, url: str) -> AWSResponse:
    if protocol in ("json", "rest-json"):
        return _response(url, 400, json.dumps({"__type": error.code, "message": error.message}))
    inner = f"<Error><Code>{error.code}</Code><Message>{error.message}</Message></Error>"
    outer = ("Response", "Errors") if protocol == "ec2" else ("ErrorResponse",)
    for name in reversed(outer):
        inner = f"<{name}>{inner}</{name}>"
    return _response(url, 400, inner)


def _success(protocol: str, model: Any, answer: Mapping[str, Any], url: str) -> AWSResponse:
    if protocol in ("json", "rest-json"):
        return _response(url, 200, json.dumps(answer, default=lambda value: value.isoformat()))
    body = "".join(_members(model.output_shape, answer))
    wrapper = model.output_shape.serialization.get("resultWrapper")
    body = f"<{wrapper}>{body}</{wrapper}>" if wrapper else body
    return _response(url, 200, f"<{model.name}Response>{body}</{model.name}Response>")


def _members(shape: Any, value: Mapping[str, Any]) -> Any:
    for key, item in value.items():
        member = shape.members[key]
        yield _element(member, member.serialization.get("name", key), item)


def _element(shape: Any, name: str, value: Any) -> str:
    """One element of AWS's XML; no list that is asked for here is flattened."""
    if shape.type_name == "structure":
        inner = "".join(_members(shape, value))
    elif shape.type_name == "list":
        inner_name = shape.member.serialization.get("name", "member")
        inner = "".join(_element(shape.member, inner_name, item) for item in value)
    else:
        inner = escape(value.isoformat() if isinstance(value, datetime) else str(value))
    return f"<{name}>{inner}</{name}>"
