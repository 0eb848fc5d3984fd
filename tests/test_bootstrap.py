"""What the bootstrap program makes, read from its recording: who is trusted, with what, and what nobody may touch."""

import fnmatch
import json
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from bootstrap import permissions
from bootstrap.settings import BootstrapSettings, SettingsError
from ops import bootstrap
from ops.capture.program import PROJECT_ROOT
from ops.capture.recording import Recording
from ops.status.command import AREAS
from recordings import STACKS, recorded
from walk import as_list, policy_documents

ROLE = "aws:iam/role:Role"
NAMED = BootstrapSettings(repository="octo-org/ai-platform", region="eu-central-1")
NUMBERED = BootstrapSettings(
    repository="octo-org/ai-platform", region="eu-central-1", owner_id="12", repository_id="34"
)
BUCKET = "aws:s3/bucket:Bucket"
# What IAM calls the services of the SDK's modules, where it has another name.
IAM_NAMES = {
    "appautoscaling": "application-autoscaling", "efs": "elasticfilesystem", "lb": "elasticloadbalancing",
    "opensearch": "aoss", "sfn": "states", "vpc": "ec2",
}  # fmt: skip
# Made by other modules than their own: log groups and ECR's images.
MODULES_OF_LOGS = {"aws:cloudwatch/logGroup:LogGroup": "logs"}


@cache
def made(settings: BootstrapSettings = NAMED) -> Recording:
    return bootstrap.recorded(settings)


def _trust(recording: Recording, role: str) -> dict[str, Any]:
    (statement,) = json.loads(recording.one(ROLE, role).inputs["assumeRolePolicy"])["Statement"]
    return statement


def _statements(recording: Recording, name: str) -> list[dict[str, Any]]:
    (resource,) = [each for each in recording.resources if each.name == name]
    (document,) = policy_documents(resource)
    return document["Statement"]


def _decides(statements: Sequence[Mapping[str, Any]], action: str, resource: str) -> str:
    """Allow, Deny or nothing, as IAM decides for one action on one resource; conditions count as met."""
    answers = {
        statement["Effect"]
        for statement in statements
        if _covers(statement, "Action", action, ignore_case=True) and _covers(statement, "Resource", resource)
    }
    return "Deny" if "Deny" in answers else "Allow" if "Allow" in answers else ""


def _covers(statement: Mapping[str, Any], key: str, value: str, *, ignore_case: bool = False) -> bool:
    turned = f"Not{key}" in statement
    patterns = as_list(statement[f"Not{key}" if turned else key])
    if ignore_case:
        value, patterns = value.lower(), [pattern.lower() for pattern in patterns]
    return any(fnmatch.fnmatchcase(value, pattern) for pattern in patterns) != turned


@pytest.mark.parametrize(
    ("settings", "repository"),
    [(NAMED, "octo-org/ai-platform"), (NUMBERED, "octo-org@12/ai-platform@34")],
    ids=["names", "numbers"],
)
def test_each_role_trusts_exact_subjects_of_one_repository(
    settings: BootstrapSettings, repository: str
) -> None:
    expected = {
        "github-preview": ["pull_request"],
        "github-plan": ["ref:refs/heads/main"],
        "github-deploy": ["environment:dev", "environment:staging", "environment:prod"],
    }
    assert {role.name for role in made(settings).of_type(ROLE)} == set(expected)
    for role, claims in expected.items():
        statement = _trust(made(settings), role)
        assert statement["Action"] == "sts:AssumeRoleWithWebIdentity"
        assert statement["Condition"] == {
            "StringEquals": {
                "token.actions.githubusercontent.com:aud": "sts.amazonaws.com",
                "token.actions.githubusercontent.com:sub": [f"repo:{repository}:{claim}" for claim in claims],
            }
        }, "a looser condition lets another repository, branch or job in"


def test_only_github_is_trusted_and_its_provider_can_be_one_that_exists() -> None:
    arn = "arn:aws:iam::111122223333:oidc-provider/token.actions.githubusercontent.com"
    provider = made().one("aws:iam/openIdConnectProvider:OpenIdConnectProvider")
    assert provider.inputs["url"] == "https://token.actions.githubusercontent.com"
    assert provider.inputs["clientIdLists"] == ["sts.amazonaws.com"]
    existing = made(
        BootstrapSettings(repository="octo-org/x", region="eu-central-1", identity_provider_arn=arn)
    )
    assert not existing.of_type("aws:iam/openIdConnectProvider:OpenIdConnectProvider"), (
        "an account takes only one, and the second would fail"
    )
    for recording in (made(), existing):
        assert {
            _trust(recording, role.name)["Principal"]["Federated"] for role in recording.of_type(ROLE)
        } == {arn}


def test_there_is_no_user_and_no_key_that_lasts() -> None:
    types = {resource.type for resource in made().resources}
    assert not {type_ for type_ in types if "/user" in type_ or "accessKey" in type_}
    assert {role.inputs["maxSessionDuration"] for role in made().of_type(ROLE)} == {3600}


def test_the_state_is_private_versioned_encrypted_and_kept() -> None:
    recording = made()
    key = recording.one("aws:kms/key:Key")
    assert key.inputs["enableKeyRotation"] is True
    (rule,) = recording.one(
        "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
    ).inputs["rules"]
    assert rule["applyServerSideEncryptionByDefault"] == {
        "sseAlgorithm": "aws:kms", "kmsMasterKeyId": key.outputs["arn"],
    }  # fmt: skip
    block = recording.one("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock").inputs
    assert all(
        block[name]
        for name in ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
    )
    versioning = recording.one("aws:s3/bucketVersioning:BucketVersioning")
    assert versioning.inputs["versioningConfiguration"] == {"status": "Enabled"}
    (plain_http,) = _statements(recording, "state-tls-only")
    assert plain_http["Effect"] == "Deny" and plain_http["Condition"] == {
        "Bool": {"aws:SecureTransport": "false"}
    }
    for resource in recording.resources:
        if resource.name.startswith("state-"):
            assert resource.protect and resource.retain_on_delete, f"{resource.name} is every stack's memory"


def test_only_plans_expire() -> None:
    rules = made().one("aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration").inputs["rules"]
    expiring = {rule["filter"]["prefix"] for rule in rules if "expiration" in rule}
    assert expiring == {"plans/"}, "a state that nobody changed for long would be deleted"


@pytest.mark.parametrize("role", ["preview", "plan", "deploy"])
def test_no_role_reads_what_people_put_in(role: str) -> None:
    statements = _statements(made(), f"github-{role}-limits")
    for action, resource in (
        ("s3:GetObject", "arn:aws:s3:::lake/raw/contract.pdf"),
        ("kms:Decrypt", "arn:aws:kms:eu-central-1:111122223333:key/another"),
        ("sqs:ReceiveMessage", "arn:aws:sqs:eu-central-1:111122223333:ingestion"),
        ("logs:GetLogEvents", "arn:aws:logs:eu-central-1:111122223333:log-group:/ecs/rag-api"),
        ("secretsmanager:GetSecretValue", "arn:aws:secretsmanager:eu-central-1:111122223333:secret:openai"),
        ("aoss:APIAccessAll", "arn:aws:aoss:eu-central-1:111122223333:collection/abc"),
    ):
        assert _decides(statements, action, resource) == "Deny", f"{role} reads data with {action}"


@pytest.mark.parametrize("role", ["preview", "plan", "deploy"])
def test_every_role_reads_the_state(role: str) -> None:
    statements = _statements(made(), f"github-{role}-limits")
    bucket, key = made().one(BUCKET).outputs["arn"], made().one("aws:kms/key:Key").outputs["arn"]
    assert _decides(statements, "s3:ListBucket", bucket) == "Allow"
    assert _decides(statements, "s3:GetObject", f"{bucket}/.pulumi/stacks/ai-platform/dev.json") == "Allow"
    assert _decides(statements, "kms:Decrypt", key) == "Allow"


@pytest.mark.parametrize("role", ["preview", "plan"])
def test_reading_ends_where_the_platform_does(role: str) -> None:
    """Of what ReadOnlyAccess allows, as https://docs.aws.amazon.com/aws-managed-policy/latest/reference/ReadOnlyAccess.html."""
    statements = _statements(made(), f"github-{role}-limits")
    for action in (
        "cassandra:Select", "codecommit:GitPull", "cognito-identity:GetCredentialsForIdentity",
        "ssm:GetCommandInvocation", "workmail:ListMailboxExportJobs",
    ):  # fmt: skip
        assert _decides(statements, action, "arn:aws:any:::thing") == "Deny", f"{role} may {action}"


@pytest.mark.parametrize("role", ["preview", "plan"])
def test_reading_is_not_denied_what_previews_refreshes_and_prices_ask(role: str) -> None:
    statements = _statements(made(), f"github-{role}-limits")
    looked_up = {call.token for stack in STACKS for call in recorded(stack).invokes}
    modules = {token.split(":")[1].split("/")[0] for token in looked_up} - {"index"}
    asked = {
        "iam:GetRole", "iam:GetRolePolicy", "sts:GetCallerIdentity", "ssm:GetParameter", "ecr:GetAuthorizationToken",
        "pricing:GetProducts", "ec2:DescribeSpotPriceHistory",
        *(f"{service}:DescribeThings" for service in _services()),
        *(f"{IAM_NAMES.get(module, module)}:GetParameter" for module in modules),
    }  # fmt: skip
    for action in asked:
        assert _decides(statements, action, "arn:aws:any:::thing") != "Deny", f"{role} cannot {action}"


def test_a_pull_request_can_write_nothing_and_a_plan_only_plans() -> None:
    bucket = made().one(BUCKET).outputs["arn"]
    state, plan = f"{bucket}/.pulumi/stacks/ai-platform/dev.json", f"{bucket}/plans/1-1/prod.json"
    preview, planning = (_statements(made(), f"github-{role}-limits") for role in ("preview", "plan"))
    assert [_decides(preview, "s3:PutObject", each) for each in (state, plan)] == ["", ""]
    assert [_decides(planning, "s3:PutObject", each) for each in (state, plan)] == ["", "Allow"]
    attached = {
        each.inputs["role"]: each.inputs["policyArn"]
        for each in made().of_type("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
    }
    for role in ("github-preview", "github-plan"):
        assert attached[made().one(ROLE, role).outputs["name"]] == "arn:aws:iam::aws:policy/ReadOnlyAccess"


def test_a_deployment_writes_every_state_but_that_of_the_bootstrap() -> None:
    statements, bucket = _statements(made(), "github-deploy-limits"), made().one(BUCKET).outputs["arn"]
    for path in ("stacks/ai-platform/prod.json", "locks/organization/ai-platform/prod/1.json"):
        assert _decides(statements, "s3:PutObject", f"{bucket}/.pulumi/{path}") == "Allow"
        own = path.replace("ai-platform", "ai-platform-bootstrap")
        assert _decides(statements, "s3:PutObject", f"{bucket}/.pulumi/{own}") == "Deny"


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("iam:PutRolePolicy", "arn:aws:iam::111122223333:role/ai-platform-bootstrap/github-deploy-1"),
        ("iam:DeleteRolePermissionsBoundary", "arn:aws:iam::111122223333:role/ai-platform-bootstrap/github-deploy-1"),
        ("iam:CreatePolicyVersion", "arn:aws:iam::111122223333:policy/ai-platform-bootstrap/limits"),
        ("iam:UpdateOpenIDConnectProviderThumbprint", "PROVIDER"),
        ("s3:DeleteBucketPolicy", "BUCKET"),
        ("s3:PutBucketVersioning", "BUCKET"),
        ("s3:DeleteObjectVersion", "BUCKET/.pulumi/stacks/ai-platform/prod.json"),
        ("kms:ScheduleKeyDeletion", "KEY"),
        ("kms:PutKeyPolicy", "KEY"),
    ],
)  # fmt: skip
def test_a_deployment_cannot_change_what_guards_it(action: str, resource: str) -> None:
    for word, kind in (
        ("BUCKET", BUCKET), ("KEY", "aws:kms/key:Key"),
        ("PROVIDER", "aws:iam/openIdConnectProvider:OpenIdConnectProvider"),
    ):  # fmt: skip
        resource = resource.replace(word, made().one(kind).outputs["arn"])
    assert _decides(_statements(made(), "github-deploy-limits"), action, resource) == "Deny"


@pytest.mark.parametrize(
    "action",
    ["iam:CreateUser", "iam:CreateAccessKey", "organizations:LeaveOrganization", "sts:AssumeRole",
     "account:CloseAccount", "iam:CreatePolicy", "iam:PutRolePermissionsBoundary", "secretsmanager:DeleteSecret",
     "ssm:StartSession", "ssm:SendCommand", "ecs:ExecuteCommand", "kms:ReEncryptFrom"],
)  # fmt: skip
def test_a_deployment_cannot_leave_its_part_of_the_account(action: str) -> None:
    assert _decides(_statements(made(), "github-deploy-limits"), action, "arn:aws:any:::thing") != "Allow"


def test_the_policy_of_a_deployment_is_its_boundary_too_and_fits_into_one() -> None:
    policy = made().one("aws:iam/policy:Policy")
    role = made().one(ROLE, "github-deploy")
    assert role.inputs["permissionsBoundary"] == policy.outputs["arn"], "an attachment could widen it"
    (attached,) = [
        each.inputs["policyArn"]
        for each in made().of_type("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
        if each.name == "github-deploy-permissions"
    ]
    assert attached == policy.outputs["arn"]
    # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html: 6,144, white space not counted.
    assert len("".join(policy.inputs["policy"].split())) < 6144


def _services() -> set[str]:
    """IAM's names of the services whose resources the stacks have."""
    types = {resource.type for stack in STACKS for resource in recorded(stack).resources}
    modules = {type_: type_.split(":")[1].split("/")[0] for type_ in types if type_.startswith("aws:")}
    names = {MODULES_OF_LOGS.get(type_, IAM_NAMES.get(module, module)) for type_, module in modules.items()}
    return names - {"iam"}


def test_a_deployment_may_use_exactly_the_services_of_the_program_and_those_that_status_asks() -> None:
    asked = {action.split(":")[0] for area in AREAS for action in area.actions} - {"sts"}
    assert set(permissions.SERVICES) == _services() | asked


def test_a_deployment_may_do_all_that_status_asks() -> None:
    statements = _statements(made(), "github-deploy-limits")
    for area in AREAS:
        for action in area.actions:
            assert _decides(statements, action, "arn:aws:any:::thing") == "Allow", f"status takes {action}"


def test_a_deployment_hands_out_only_what_the_program_hands_out() -> None:
    attached: set[str] = set()
    trusted: set[str] = set()
    for stack in STACKS:
        for each in recorded(stack).of_type("aws:iam/rolePolicyAttachment:RolePolicyAttachment"):
            attached.add(each.inputs["policyArn"].split(":policy/")[1])
        for role in recorded(stack).of_type(ROLE):
            for statement in json.loads(role.inputs["assumeRolePolicy"])["Statement"]:
                trusted.add(statement["Principal"]["Service"].removesuffix(".amazonaws.com"))
    assert set(permissions.ATTACHED_POLICIES) == attached
    assert set(permissions.PASSED_TO) == trusted


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"repository": "ai-platform"}, "write OWNER/NAME"),
        ({"repository": "octo-org/*"}, "write OWNER/NAME"),
        ({"region": "europe"}, "name a region"),
        ({"owner_id": "12"}, "give both, or neither"),
        ({"owner_id": "12", "repository_id": "x"}, "'x' is not an id of GitHub's"),
        ({"environments": ()}, "nothing could be deployed"),
        ({"environments": ("prod", "*")}, "environments = '*'"),
        (
            {"identity_provider_arn": "arn:aws:iam::111122223333:oidc-provider/example.com"},
            "is not the ARN of GitHub's",
        ),
    ],
)
def test_a_setting_that_would_trust_the_wrong_ones_is_refused(change: dict[str, Any], told: str) -> None:
    values: dict[str, Any] = {"repository": "octo-org/ai-platform", "region": "eu-central-1", **change}
    with pytest.raises(SettingsError, match=told.replace("*", r"\*")):
        BootstrapSettings(**values)


def test_the_project_file_knows_every_key_that_is_set() -> None:
    declared = yaml.safe_load((PROJECT_ROOT / "bootstrap" / "Pulumi.yaml").read_text(encoding="utf-8"))
    assert declared["name"] == bootstrap.PROJECT == permissions.PROJECT
    assert set(declared["config"]) == set(bootstrap.configuration(NAMED))
    assert declared["config"]["environments"]["default"] == bootstrap.configuration(NAMED)["environments"]


ARGUMENTS = ["--repository", "octo-org/ai-platform"]


def test_without_create_it_shows_resources_commands_and_what_comes_next(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert bootstrap.main(ARGUMENTS, _refuse) == 0
    told = capsys.readouterr().out
    for part in (
        "state-bucket s3.Bucket", "Nothing has been made", "pulumi config set repository octo-org/ai-platform",
        "pulumi up", "pulumi stack import", "gh variable set AWS_PLAN_ROLE_ARN", "--secrets-provider 'SECRETS_PROVIDER'",
    ):  # fmt: skip
        assert part in told
    next_steps = told.split("Then, with the names that --create tells:")[1]
    for made_up in (*made().exports.values(), "111122223333"):
        assert made_up not in next_steps, "it would be copied into GitHub's variables"
    assert bootstrap.main([*ARGUMENTS, "--json"], _refuse) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"type": BUCKET, "name": "state-bucket"} in document["resources"]
    assert document["commands"][-1] == "pulumi up"


def _refuse(command: Sequence[str], variables: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    raise AssertionError(f"{command} would change the account")


def test_create_runs_pulumi_on_this_machine_and_tells_how_to_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap, "LOCAL_STATE", tmp_path / "state")
    ran: list[list[str]] = []

    def run(command: Sequence[str], variables: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
        assert variables["PULUMI_BACKEND_URL"] == (tmp_path / "state").as_uri()
        ran.append(list(command))
        return subprocess.CompletedProcess(command, 0, stdout=json.dumps(made().exports))

    assert bootstrap.main([*ARGUMENTS, "--create"], run) == 0
    assert ran[:-1] == bootstrap.commands(NAMED), "without --yes Pulumi shows it and asks"
    assert ran[-1] == ["pulumi", "stack", "output", "--json"]
    told = capsys.readouterr().out
    assert made().exports["backend_url"] in told
    moved, _, stacks = told.partition("Make the stacks")
    assert "cd .." not in moved, "the state of the bootstrap is moved in its own folder"
    assert stacks.splitlines()[1].strip() == "cd ..", "the stacks would be made in the bootstrap's project"
    assert bootstrap.main([*ARGUMENTS, "--create", "--yes"], run) == 0
    assert ran[-2] == ["pulumi", "up", "--yes"]


def test_create_stops_at_the_first_command_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap, "LOCAL_STATE", tmp_path / "state")
    ran: list[Sequence[str]] = []

    def run(command: Sequence[str], variables: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
        ran.append(command)
        return subprocess.CompletedProcess(command, 1, stdout="")

    assert bootstrap.main([*ARGUMENTS, "--create"], run) == 1
    assert len(ran) == 1
    assert "`pulumi stack select --create account` failed" in capsys.readouterr().err


def test_wrong_settings_are_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert bootstrap.main(["--repository", "everybody"], _refuse) == 2
    assert "write OWNER/NAME" in capsys.readouterr().err
