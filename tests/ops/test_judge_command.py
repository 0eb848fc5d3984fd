"""`python -m ops judge`: what it prints and how it ends."""

import json
from collections.abc import Mapping

import pytest

from ops.capture.recording import Recording
from ops.judges import command
from ops.judges.command import JUDGES, main
from ops.judges.environment import JudgeFailed, JudgeMissing
from ops.judges.findings import Acceptance, Finding, accepted

FINDING = Finding(
    judge="iam", rule="unknown-action", subject="lake (policy)", message="none such.", stack="dev"
)


@pytest.fixture(autouse=True)
def _outside_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


def say(
    monkeypatch: pytest.MonkeyPatch, *findings: Finding, acceptances: tuple[Acceptance, ...] = ()
) -> None:
    """The judge of access documents finds this, and this is accepted."""

    def judge(recordings: Mapping[str, Recording]) -> list[Finding]:
        return [item for item in findings if not item.stack or item.stack in recordings]

    monkeypatch.setitem(JUDGES, "iam", judge)
    monkeypatch.setattr(command, "accepted", lambda: acceptances)


def fail(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def judge(_: Mapping[str, Recording]) -> list[Finding]:
        raise error

    monkeypatch.setitem(JUDGES, "iam", judge)


def test_the_judges_that_need_no_other_environment_find_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        part
        for name in ("iam", "cfn-lint", "botocore", "shellcheck", "hadolint")
        for part in ("--only", name)
    ]
    assert main(asked) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and all("0 findings" in line and line.endswith(" s") for line in lines)


def test_a_finding_is_told_once_for_all_stacks_that_have_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    in_prod = Finding(
        judge="iam", rule="unknown-action", subject="lake (policy)", message="none such.", stack="prod"
    )
    say(monkeypatch, FINDING, in_prod)
    assert main(["--only", "iam"]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "iam unknown-action: lake (policy) in dev, prod: none such."
    ]


def test_an_accepted_finding_fails_nobody(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = Acceptance(judge="iam", rule="unknown-action", subject="lake*", reason="ours")
    say(monkeypatch, FINDING, acceptances=(entry,))
    assert main(["--only", "iam"]) == 0
    assert "0 findings, 1 accepted" in capsys.readouterr().out


def test_an_acceptance_that_nothing_needs_is_told_where_every_stack_was_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say(monkeypatch, acceptances=(Acceptance(judge="iam", rule="old", subject="gone", reason="ours"),))
    assert main(["--only", "iam", "--stack", "dev"]) == 0, "another stack may need it"
    assert main(["--only", "iam"]) == 1
    assert "iam old: accepted for gone, and no longer found there" in capsys.readouterr().out


def test_a_judge_that_is_missing_fails_in_ci_and_is_told_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fail(monkeypatch, JudgeMissing("no environment"))
    assert main(["--only", "iam", "--stack", "dev"]) == 0
    assert "not asked: no environment" in capsys.readouterr().out
    monkeypatch.setenv("CI", "true")
    assert main(["--only", "iam", "--stack", "dev"]) == 1, (
        "nobody would notice that nothing is judged any more"
    )


def test_a_judge_that_breaks_down_fails_everywhere_and_silences_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fail(monkeypatch, JudgeFailed("out of memory"))
    assert main(["--only", "iam", "--only", "botocore", "--stack", "dev"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "iam        broke down: out of memory" and "0 findings" in lines[1]


def test_a_judge_named_twice_is_asked_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "botocore", "--only", "botocore", "--stack", "dev"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_json_is_one_document(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    say(monkeypatch, FINDING)
    assert main(["--only", "iam", "--stack", "dev", "--json"]) == 1
    verdict = json.loads(capsys.readouterr().out)[0]
    assert verdict["standing"][0]["rule"] == "unknown-action" and verdict["judge"] == "iam"


def test_an_unknown_stack_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--stack", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_every_acceptance_is_for_a_judge_that_exists() -> None:
    assert {item.judge for item in accepted()} <= set(JUDGES), "its findings would never be accepted"


def test_the_help_shows_examples_that_work(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "python -m ops judge --stack prod --only iam --only checkov" in capsys.readouterr().out
