"""Models, images, secrets, certificates and service-linked roles: what must exist before a stack is built."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from components.machine_images import IMAGE_PARAMETERS
from ops.preflight import images, models, roles, secrets_and_certificates
from ops.preflight.findings import Status
from ops.preflight.model_calls import calls
from tests.ops.preflight_account import (
    EU,
    FakeAccount,
    availability,
    certificate,
    model_details,
    profile,
    refuse,
    secret,
)
from tests.ops.preflight_runs import about, findings_of, stack_of, stack_with

TITAN, CLAUDE = "amazon.titan-embed-text-v2:0", "anthropic.claude-sonnet-4-5-20250929-v1:0"


def in_days(days: float) -> datetime:
    return datetime.now(UTC) + timedelta(days=days)


class TestModels:
    """What the roles of a stack may call, against what the account may."""

    def test_the_models_are_those_in_the_policies_of_the_roles(self) -> None:
        assert [(call.name, call.config_key) for call in calls(stack_of("prod"))] == [
            (TITAN, "embeddingModel"),
            (f"eu.{CLAUDE}", "answerModel"),
        ]

    def test_a_stack_whose_containers_alone_call_models_names_the_right_settings(self) -> None:
        stack = stack_with("dev", {"orchestrator": False, "ingestion": False})
        assert {call.config_key for call in calls(stack) if call.name == TITAN} == {"embeddingModel"}, (
            "the fix would put an embedding model's successor into answerModel"
        )

    def test_a_model_that_the_region_lacks_fails(self) -> None:
        account = FakeAccount()
        account.answers["GetFoundationModel"] = refuse("ResourceNotFoundException")
        finding = about(findings_of(stack_of("dev"), account, models), f"model {TITAN}")
        assert (finding.status, finding.found) == (Status.FAILED, "none")
        assert (
            "pulumi config set --stack dev ai-platform:embeddingModel MODEL, and python -m ops reindex"
            in finding.fix
        )

    @pytest.mark.parametrize("code", ["ResourceNotFoundException", "ValidationException"])
    def test_a_profile_that_the_region_lacks_fails(self, code: str) -> None:
        account = FakeAccount()
        account.answers["GetInferenceProfile"] = refuse(code)
        finding = about(findings_of(stack_of("prod"), account, models), f"inference profile eu.{CLAUDE}")
        assert (finding.status, finding.found) == (Status.FAILED, "none")
        assert finding.fix.startswith("aws bedrock list-inference-profiles --region eu-central-1")
        assert "ai-platform:answerModel" in finding.fix

    def test_a_profile_that_sends_calls_where_no_role_may_use_the_model_fails(self) -> None:
        account = FakeAccount()
        account.answers["GetInferenceProfile"] = lambda inferenceProfileIdentifier: profile(
            inferenceProfileIdentifier, [*EU, "eu-west-2"]
        )
        finding = about(findings_of(stack_of("prod"), account, models), "inference profile")
        assert finding.status is Status.FAILED
        assert finding.fix == "add eu-west-2 to PROFILE_REGIONS in components/bedrock.py"

    def test_a_profile_that_serves_fewer_regions_passes(self) -> None:
        account = FakeAccount()
        account.answers["GetInferenceProfile"] = lambda inferenceProfileIdentifier: profile(
            inferenceProfileIdentifier, ["eu-central-1"]
        )
        assert (
            about(findings_of(stack_of("prod"), account, models), "inference profile").status is Status.PASSED
        )

    def test_a_global_profile_may_send_calls_anywhere(self) -> None:
        stack = stack_with("dev", {"answerModel": "global.anthropic.claude-haiku-4-5-20251001-v1:0"})
        account = FakeAccount()
        account.answers["GetInferenceProfile"] = lambda inferenceProfileIdentifier: profile(
            inferenceProfileIdentifier, ["", "eu-central-1", "us-east-1"]
        )
        assert about(findings_of(stack, account, models), "inference profile global").status is Status.PASSED

    def test_a_model_that_only_another_region_of_the_profile_serves_is_asked_for_there(self) -> None:
        account, asked = FakeAccount(), []

        def client(service: str, region: str, profile: str | None = None) -> Any:
            asked.append((service, region))
            return original(service, region, profile)

        original = account.client
        account.client = client  # type: ignore[method-assign]
        account.answers["GetInferenceProfile"] = lambda inferenceProfileIdentifier: profile(
            inferenceProfileIdentifier, ["ap-northeast-3"]
        )
        changes = {
            "region": "ap-northeast-1",
            "availabilityZones": ["ap-northeast-1a", "ap-northeast-1c"],
            "gpuFleets": [],
            "answerModel": "jp.anthropic.claude-sonnet-4-6",
        }
        findings = findings_of(stack_with("dev", changes), account, models)
        assert about(findings, "life of model anthropic.claude-sonnet-4-6").status is Status.PASSED
        assert ("bedrock", "ap-northeast-3") in asked

    @pytest.mark.parametrize(
        ("lifecycle", "status"),
        [
            ({}, "passed"),
            ({"endOfLifeTime": in_days(400)}, "passed"),
            ({"endOfLifeTime": in_days(179)}, "failed"),
            ({"endOfLifeTime": in_days(-1)}, "failed"),
            ({"legacyTime": in_days(181), "endOfLifeTime": in_days(400)}, "passed"),
            ({"legacyTime": in_days(179), "endOfLifeTime": in_days(400)}, "failed"),
            ({"status": "LEGACY"}, "failed"),
            ({"status": "LEGACY", "endOfLifeTime": in_days(400)}, "failed"),
        ],
    )
    def test_a_model_at_the_end_of_its_life_fails(self, lifecycle: dict[str, Any], status: str) -> None:
        account = FakeAccount()
        account.answers["GetFoundationModel"] = lambda modelIdentifier: model_details(**lifecycle)
        finding = about(findings_of(stack_of("prod"), account, models), f"life of model {CLAUDE}")
        assert finding.status == status
        assert bool(finding.fix) is (status == "failed")

    def test_a_model_without_a_life_cycle_is_not_taken_for_a_pass(self) -> None:
        account = FakeAccount()
        details = {
            key: value for key, value in model_details()["modelDetails"].items() if key != "modelLifecycle"
        }
        account.answers["GetFoundationModel"] = lambda modelIdentifier: {"modelDetails": details}
        assert (
            about(findings_of(stack_of("prod"), account, models), f"life of model {CLAUDE}").status
            is Status.UNCHECKED
        )

    @pytest.mark.parametrize(
        ("answer", "lacking", "fix"),
        [
            (availability(regionAvailability="NOT_AVAILABLE"), "region", "choose a model"),
            (availability(authorizationStatus="NOT_AUTHORIZED"), "authorization", "service control policies"),
            (availability("NOT_AVAILABLE"), "agreement", "put-use-case-for-model-access"),
            (availability("PENDING"), "agreement", "put-use-case-for-model-access"),
            (
                availability(entitlementAvailability="NOT_AVAILABLE"),
                "entitlement",
                "put-use-case-for-model-access",
            ),
        ],
    )
    def test_every_part_of_the_access_must_be_granted(self, answer: Any, lacking: str, fix: str) -> None:
        account = FakeAccount()
        account.answers["GetFoundationModelAvailability"] = lambda modelId: answer
        finding = about(findings_of(stack_of("prod"), account, models), f"access to model {CLAUDE}")
        assert (finding.status, finding.found) == (Status.FAILED, f"lacking: {lacking}")
        assert fix in finding.fix

    def test_other_models_than_anthropics_need_an_agreement(self) -> None:
        account = FakeAccount()
        account.answers["GetFoundationModelAvailability"] = lambda modelId: availability("NOT_AVAILABLE")
        finding = about(findings_of(stack_of("prod"), account, models), f"access to model {TITAN}")
        assert f"create-foundation-model-agreement --model-id {TITAN}" in finding.fix

    def test_a_refusal_midway_leaves_what_was_found(self) -> None:
        account = FakeAccount()
        account.answers["GetFoundationModelAvailability"] = refuse("AccessDeniedException")
        findings = findings_of(stack_of("prod"), account, models)
        assert about(findings, f"life of model {CLAUDE}").status is Status.PASSED
        denied = [
            item for item in findings if item.needed == "permission bedrock:GetFoundationModelAvailability"
        ]
        assert len(denied) == 2


class TestImages:
    """The public parameters that a stack looks up."""

    def test_an_image_that_the_region_lacks_is_named(self) -> None:
        missing = IMAGE_PARAMETERS["ecs-gpu"]
        account = FakeAccount()
        account.answers["GetParameters"] = lambda Names: {
            "Parameters": [{"Name": name, "Value": "ami-1"} for name in Names if name != missing],
            "InvalidParameters": [missing],
        }
        findings = findings_of(stack_of("prod"), account, images)
        assert about(findings, f"machine image {missing}").status is Status.FAILED
        assert about(findings, f"machine image {IMAGE_PARAMETERS['dlami']}").status is Status.PASSED

    def test_pinned_images_are_not_looked_up(self) -> None:
        stack = stack_with("dev", {"machineImages": {"dlami": "ami-0aaaaaaaaaaaaaaaa"}})
        account = FakeAccount()
        findings_of(stack, account, images)
        assert ("ssm", "GetParameters") not in account.called


class TestSecrets:
    """Secrets that containers are given: there, with a value, and not about to go."""

    @pytest.mark.parametrize(
        ("answer", "found", "fix"),
        [
            (lambda SecretId: secret(), "there", ""),
            (refuse("ResourceNotFoundException"), "none", "aws secretsmanager create-secret --name ai-platform/openai"),
            (
                lambda SecretId: secret(DeletedDate=datetime(2026, 12, 24, tzinfo=UTC)),
                "scheduled for deletion on 2026-12-24",
                "aws secretsmanager restore-secret --secret-id arn:aws:secretsmanager:eu-central-1:111122223333:secret:ai-platform/openai-AbCdEf --region eu-central-1",
            ),
            (lambda SecretId: {"Name": "x"}, "a secret without a value", "aws secretsmanager put-secret-value"),
            (
                lambda SecretId: secret(VersionIdsToStages={"v" * 32: ["AWSPENDING"]}),
                "a secret without a value",
                "aws secretsmanager put-secret-value",
            ),
        ],
    )  # fmt: skip
    def test_a_secret_must_be_usable(self, answer: Any, found: str, fix: str) -> None:
        account = FakeAccount()
        account.answers["DescribeSecret"] = answer
        finding = about(
            findings_of(stack_of("prod"), account, secrets_and_certificates), "secret ai-platform/openai"
        )
        assert (finding.status is Status.PASSED, finding.found) == (not fix, found)
        assert finding.fix.startswith(fix) and bool(finding.fix) is bool(fix)
        assert ("secretsmanager", "GetSecretValue") not in account.called

    def test_a_stack_without_secrets_asks_for_none(self) -> None:
        account = FakeAccount()
        findings_of(stack_of("dev"), account, secrets_and_certificates)
        assert ("secretsmanager", "DescribeSecret") not in account.called


class TestCertificates:
    """The certificate of a public API."""

    @pytest.mark.parametrize(
        ("answer", "good", "fix"),
        [
            (certificate(31), True, ""),
            (certificate(29), False, "aws acm describe-certificate"),
            (certificate(29, Type="IMPORTED"), False, "aws acm import-certificate --certificate-arn arn:aws:acm"),
            (certificate(-1, Status="EXPIRED", DomainName="api.example.com"), False, "aws acm request-certificate --domain-name api.example.com"),
            ({"Certificate": {"Status": "PENDING_VALIDATION"}}, False, "aws acm describe-certificate"),
            ({"Certificate": {"Status": "REVOKED"}}, False, "aws acm request-certificate"),
        ],
    )  # fmt: skip
    def test_a_certificate_must_be_in_force(self, answer: Any, good: bool, fix: str) -> None:
        account = FakeAccount()
        account.answers["DescribeCertificate"] = lambda CertificateArn: answer
        finding = about(
            findings_of(stack_of("prod"), account, secrets_and_certificates), "certificate 12345678"
        )
        assert (finding.status is Status.PASSED) is good
        assert finding.fix.startswith(fix) and bool(finding.fix) is not good

    def test_a_certificate_that_is_not_there_fails(self) -> None:
        account = FakeAccount()
        account.answers["DescribeCertificate"] = refuse("ResourceNotFoundException")
        assert (
            about(
                findings_of(stack_of("prod"), account, secrets_and_certificates), "certificate 12345678"
            ).found
            == "none"
        )


class TestRoles:
    """Roles through which services act: spot's must be there, the others make themselves."""

    def test_a_missing_role_for_spot_fails_with_its_command(self) -> None:
        account = FakeAccount()
        account.answers["GetRole"] = refuse("NoSuchEntity")
        findings = findings_of(stack_of("prod"), account, roles)
        spot = about(findings, "AWSServiceRoleForEC2Spot")
        assert spot.status is Status.FAILED
        create = "aws iam create-service-linked-role --aws-service-name {} --region eu-central-1"
        assert spot.fix == create.format("spot.amazonaws.com")
        batch = about(findings, "AWSServiceRoleForBatch")
        assert (batch.status, batch.fix) == (Status.WARNING, create.format("batch.amazonaws.com"))

    def test_a_stack_on_demand_needs_no_role_for_spot(self) -> None:
        fleet = {"name": "lab", "purpose": "inference", "instanceTypes": ["g5.xlarge"], "nodeImage": "ecs-gpu",
                 "maximum": 1, "onDemandPercentage": 100}  # fmt: skip
        stack = stack_with("dev", {"gpuFleets": [fleet], "training": False})
        names = [finding.what for finding in findings_of(stack, FakeAccount(), roles)]
        assert "service-linked role AWSServiceRoleForAutoScaling" in names
        assert "service-linked role AWSServiceRoleForEC2Spot" not in names
