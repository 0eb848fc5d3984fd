"""The whole check: an account with everything, one with nothing, one that refuses, and how it is told."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cfnlint
import pytest
from botocore.exceptions import NoCredentialsError

from ops.aws_calls import AwsCallError
from ops.preflight import command, identity, network
from ops.preflight.account import Account
from ops.preflight.command import all_checks, main, run
from ops.preflight.findings import Finding, Status
from ops.preflight.policy import minimal_policy
from ops.preflight.stack import Stack
from recordings import STACKS, recorded
from tests.ops.preflight_account import ACCOUNT_ID, REGION, FakeAccount, account_without_anything
from tests.ops.preflight_runs import about, findings_of, not_passed, stack_of

# Asked only where a limit is too small.
REQUESTS = "servicequotas:ListRequestedServiceQuotaChangeHistoryByQuota"
# Every action that the three stacks take.
OPERATIONS = (
    "account:GetRegionOptStatus",
    "acm:DescribeCertificate",
    "aoss:ListCollectionGroups",
    "aoss:ListCollections",
    "bedrock:GetFoundationModel",
    "bedrock:GetFoundationModelAvailability",
    "bedrock:GetInferenceProfile",
    "ec2:DescribeAddresses",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstances",
    "ec2:DescribeNatGateways",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
    "ecs:DescribeTasks",
    "ecs:ListClusters",
    "ecs:ListTasks",
    "iam:GetRole",
    "lambda:GetAccountSettings",
    "secretsmanager:DescribeSecret",
    "servicequotas:GetAWSDefaultServiceQuota",
    "servicequotas:GetServiceQuota",
    "servicequotas:ListAWSDefaultServiceQuotas",
    REQUESTS,
    "ssm:GetParameters",
)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The waits between attempts take no time."""
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda seconds: None))


def told(stack: Stack, account: FakeAccount, *, json_wanted: bool = False) -> int:
    return run(stack, Account(stack.region, make_client=account.client), json_wanted=json_wanted)


@pytest.mark.parametrize("stack", STACKS)
def test_an_account_that_has_everything_passes(stack: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(Stack(recorded(stack)), FakeAccount()) == 0
    output = capsys.readouterr().out
    assert "0 failed, 0 not checked, 0 warning" in output
    assert "Fix:" not in output, "a pass needs no fix"


@pytest.mark.parametrize("stack", STACKS)
def test_an_account_that_has_nothing_fails_every_check_with_a_fix(
    stack: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(Stack(recorded(stack)), account_without_anything(), json_wanted=True) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    passed = [finding["what"] for finding in findings if finding["status"] == "passed"]
    assert passed == ["account"], "an empty account has none of this"
    assert all(finding["fix"] for finding in findings if finding["status"] != "passed")
    soft = [finding["what"] for finding in findings if finding["status"] == "warning"]
    assert all(what.startswith("service-linked role") for what in soft), "only these make themselves"
    assert {finding["status"] for finding in findings} <= {"failed", "warning", "passed"}


@pytest.mark.parametrize("action", [action for action in OPERATIONS if action != REQUESTS])
def test_access_denied_is_never_a_pass_and_names_the_permission(action: str) -> None:
    account, operation = FakeAccount(), action.partition(":")[2]
    account.quotas = {"L-3819A6DF": None}
    account.defaults = {"L-3819A6DF": 1000.0}
    account.refused[operation] = (
        "UnauthorizedOperation" if action.startswith("ec2:") else "AccessDeniedException"
    )
    findings = findings_of(stack_of("prod"), account, action=action)
    denied = [finding for finding in findings if finding.found == "access denied"]
    assert denied, f"nobody learns that {action} is missing"
    assert {finding.status for finding in denied} == {Status.UNCHECKED}
    assert {finding.needed for finding in denied} == {f"permission {action}"}
    assert not_passed(findings) == [finding.what for finding in denied], "the rest is checked all the same"


def test_what_cannot_be_checked_is_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    account = FakeAccount()
    account.refused["DescribeVpcs"] = "UnauthorizedOperation"
    assert told(stack_of("prod"), account) == 1
    assert (
        "NOT CHECKED VPCs per Region: need permission ec2:DescribeVpcs, have access denied"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize("action", [action for action in OPERATIONS if action != REQUESTS])
def test_a_call_that_is_throttled_twice_is_asked_again(action: str) -> None:
    account, operation = FakeAccount(), action.partition(":")[2]
    account.quotas = {"L-3819A6DF": None}
    account.defaults = {"L-3819A6DF": 1000.0}
    account.throttled[operation] = 2
    assert not_passed(findings_of(stack_of("prod"), account, action=action)) == []
    assert account.throttled[operation] < 0, "nobody asked"


def test_whose_credentials_these_are_is_asked_again_too() -> None:
    account = FakeAccount()
    account.throttled["GetCallerIdentity"] = 2
    assert identity.account_id(Account(REGION, make_client=account.client)) == ACCOUNT_ID


def test_a_call_that_is_always_throttled_is_not_checked() -> None:
    account = FakeAccount()
    account.throttled["DescribeVpcs"] = 1000
    finding = about(findings_of(stack_of("prod"), account, network), "VPCs per Region")
    assert (finding.status, finding.found) == (Status.UNCHECKED, "refused")
    assert "RequestLimitExceeded" in finding.detail


def test_the_policy_allows_what_is_asked_and_nothing_else() -> None:
    account = FakeAccount()
    account.quotas = {"L-3819A6DF": None}
    account.defaults = {"L-3819A6DF": 1000.0}
    account.quotas["L-F678F1CE"] = 0.0
    assert not_passed(findings_of(stack_of("prod"), account)) == ["VPCs per Region"]
    asked = {f"{service}:{operation}" for service, operation in account.called}
    policy = minimal_policy(all_checks(stack_of("prod")))
    allowed = {action for statement in policy["Statement"] for action in statement["Action"]}
    assert allowed == asked == set(OPERATIONS)
    assert all(action.partition(":")[2].startswith(("Get", "List", "Describe")) for action in allowed)
    assert "secretsmanager:GetSecretValue" not in allowed, "a check must not read secrets"


def test_the_policy_holds_actions_that_iam_knows() -> None:
    path = Path(cfnlint.__file__).parent / "data/AdditionalSpecs/Policies.json"
    known = json.loads(path.read_text())
    for action in OPERATIONS:
        service, _, name = action.partition(":")
        assert name.lower() in known[service]["Actions"], f"IAM has no {action}"


def test_the_policy_is_printed_without_asking_aws(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--stack", "prod", "--policy"]) == 0
    policy = json.loads(capsys.readouterr().out)
    secrets = [item for item in policy["Statement"] if item["Action"] == ["secretsmanager:DescribeSecret"]]
    assert [arn.rpartition(":")[2] for arn in secrets[0]["Resource"]] == [
        "ai-platform/api-token-AbCdEf",
        "ai-platform/openai-AbCdEf",
    ]


def test_failures_come_first_and_passes_last() -> None:
    made = [
        Finding(status=status, what=f"{status} {number}", needed="", found="")
        for number in (1, 2)
        for status in (Status.PASSED, Status.WARNING, Status.UNCHECKED, Status.FAILED)
    ]
    assert [finding.what for finding in command.in_order(made)] == [
        f"{status} {number}" for status in ("failed", "unchecked", "warning", "passed") for number in (1, 2)
    ]


def test_the_same_account_is_told_in_the_same_words(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for _ in range(2):
        told(stack_of("prod"), account_without_anything())
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


def test_json_is_one_document_with_counts(capsys: pytest.CaptureFixture[str]) -> None:
    account = FakeAccount()
    account.quotas["L-3819A6DF"] = 0.0
    assert told(stack_of("prod"), account, json_wanted=True) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["stack"], document["region"], document["account"]) == (
        "prod",
        "eu-central-1",
        "111122223333",
    )
    assert document["counts"]["failed"] == 1
    first = document["findings"][0]
    assert (first["status"], first["quota"], first["needed"], first["found"]) == (
        "failed", "ec2 L-3819A6DF", "224", "0",
    )  # fmt: skip


def test_without_credentials_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(self: Account, service: str, region: str = "") -> Any:
        raise NoCredentialsError

    monkeypatch.setattr(Account, "client", refuse)
    monkeypatch.setattr(command, "record", lambda stack: recorded(stack))
    assert main(["--stack", "dev"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "Unable to locate credentials. Fix: log in" in told.err
    assert told.err.count("\n") == 1, "nothing else can be asked without credentials"


def test_credentials_that_have_expired_are_told() -> None:
    account = FakeAccount()
    account.refused["GetCallerIdentity"] = "ExpiredToken"
    with pytest.raises(AwsCallError, match="ExpiredToken.* Fix: log in"):
        identity.account_id(Account(stack_of("prod").region, make_client=account.client))


def test_another_account_than_the_stack_may_go_to_fails() -> None:
    finding = identity.account_finding(stack_of("prod"), "444455556666")
    assert (finding.status, finding.needed, finding.found) == (Status.FAILED, "111122223333", "444455556666")
    assert identity.account_finding(stack_of("prod"), "111122223333").status is Status.PASSED
    assert identity.account_finding(Stack(recorded("dev")), "444455556666").status is Status.PASSED


def test_nothing_else_is_asked_in_another_account(capsys: pytest.CaptureFixture[str]) -> None:
    account = account_without_anything()
    account.answers["GetCallerIdentity"] = lambda: {"Account": "444455556666"}
    assert told(stack_of("prod"), account) == 1
    output = capsys.readouterr().out
    assert "Nothing else was asked" in output and output.count("Fix:") == 1, (
        "the other fixes would change an account that is not the stack's"
    )
    assert account.called == {("sts", "GetCallerIdentity")}


@pytest.mark.parametrize(("status", "good"), [("ENABLED", True), ("ENABLING", False), ("DISABLED", False)])
def test_a_region_must_be_switched_on(status: str, good: bool) -> None:
    account = FakeAccount()
    account.answers["GetRegionOptStatus"] = lambda RegionName: {"RegionOptStatus": status}
    finding = about(findings_of(stack_of("prod"), account, identity), "region eu-central-1")
    assert (finding.status is Status.PASSED) is good
    switch_on = "aws account enable-region --region-name eu-central-1 --region eu-central-1"
    assert finding.fix == ("" if good else switch_on)


def test_a_region_that_is_off_is_told_instead_of_bad_credentials() -> None:
    account = FakeAccount()
    account.refused["GetCallerIdentity"] = "InvalidClientTokenId"
    account.answers["GetRegionOptStatus"] = lambda RegionName: {"RegionOptStatus": "DISABLED"}
    with pytest.raises(
        AwsCallError, match=r"region eu-central-1 is DISABLED.* Fix: aws account enable-region"
    ):
        identity.account_id(Account(REGION, make_client=account.client))


@pytest.mark.parametrize("code", ["", "InvalidClientTokenId"])
def test_credentials_that_no_region_knows_are_told_as_such(code: str) -> None:
    account = FakeAccount()
    account.refused = {"GetCallerIdentity": "InvalidClientTokenId", "GetRegionOptStatus": code}
    if not code:
        del account.refused["GetRegionOptStatus"]
    with pytest.raises(AwsCallError, match=r"InvalidClientTokenId.* Fix: log in"):
        identity.account_id(Account(REGION, make_client=account.client))


@pytest.mark.parametrize("stack", STACKS)
def test_every_command_of_a_fix_goes_to_the_account_and_the_region_that_were_asked(stack: str) -> None:
    checked = Stack(recorded(stack))
    account = Account(checked.region, "my team", make_client=account_without_anything().client)
    fixes = [finding.fix for finding in command.ask_all(all_checks(checked), account)]
    commands = [part for fix in fixes for part in re.findall(r"(?:^|(?<=[ :]))aws [a-z-]+ .*?(?=; |$)", fix)]
    assert len(commands) > len(fixes) / 2, "an account that lacks everything is told commands"
    astray = [part for part in commands if f"--region {checked.region} --profile 'my team'" not in part]
    assert astray == [], "pasted, these would change another account"


def test_without_a_profile_a_command_names_none() -> None:
    assert (
        Account(REGION).command("sts get-caller-identity") == f"aws sts get-caller-identity --region {REGION}"
    )


def test_an_unknown_stack_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--stack", "nowhere"]) == 2
    assert "Pulumi.nowhere.yaml" in capsys.readouterr().err


def test_progress_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    told(stack_of("prod"), FakeAccount(), json_wanted=True)
    captured = capsys.readouterr()
    assert "Checked" in captured.err and json.loads(captured.out)


def test_the_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    assert "request-service-quota-increase" in capsys.readouterr().out
