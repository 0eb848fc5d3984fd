"""What is accepted, and that an acceptance covers no more than it says."""

from pathlib import Path

import pytest

from ops.judges.findings import ACCEPTED, Acceptance, AcceptedError, Finding, accepted, split

FINDING = Finding(judge="checkov", rule="CKV_1", subject="bucket (s3)", message="open", stack="prod")
WHOLE = Acceptance(judge="checkov", rule="CKV_1", subject="bucket (s3)", reason="ours")


def test_every_entry_of_ours_can_be_read_and_has_a_reason() -> None:
    entries = accepted()
    assert all(len(item.reason.split()) > 4 for item in entries), "a reason says why"
    assert len(entries) > 20, ACCEPTED


@pytest.mark.parametrize(
    ("acceptance", "covered"),
    [
        (WHOLE, True),
        (Acceptance(judge="checkov", rule="CKV_1", subject="* (s3)", reason="ours"), True),
        (Acceptance(judge="checkov", rule="CKV_2", subject="*", reason="ours"), False),
        (Acceptance(judge="zizmor", rule="CKV_1", subject="*", reason="ours"), False),
        (Acceptance(judge="checkov", rule="CKV_1", subject="other (s3)", reason="ours"), False),
        (Acceptance(judge="checkov", rule="CKV_1", subject="*", reason="ours", stacks=("prod",)), True),
        (Acceptance(judge="checkov", rule="CKV_1", subject="*", reason="ours", stacks=("dev",)), False),
    ],
)
def test_an_acceptance_covers_its_rule_subject_and_stacks_only(acceptance: Acceptance, covered: bool) -> None:
    standing, accepted_ones, stale = split([FINDING], [acceptance])
    assert (FINDING in accepted_ones, FINDING in standing) == (covered, not covered)
    assert (stale == []) is covered, "an entry that nothing needs would stay for ever"


def test_an_acceptance_is_told_for_each_named_stack_that_does_not_need_it() -> None:
    wide = Acceptance(judge="checkov", rule="CKV_1", subject="*", reason="ours", stacks=("dev", "prod"))
    standing, covered, stale = split([FINDING], [wide])
    assert (standing, covered) == ([], [FINDING])
    assert [item.stacks for item in stale] == [("dev",)], "it would hide a fault there for ever"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('judge = "a"\nrule = "b"\nsubject = "c"', "lacks reason"),
        ('judge = "a"\nrule = "b"\nsubject = "c"\nreason = " "', "lacks reason"),
        (
            'judge = "a"\nrule = "b"\nsubject = "c"\nreason = "d"\nstack = "dev"',
            "has a field that nothing reads",
        ),
    ],
)
def test_an_entry_that_would_accept_too_much_or_nothing_is_refused(
    text: str, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "accepted.toml"
    file.write_text(f"[[accepted]]\n{text}\n", encoding="utf-8")
    with pytest.raises(AcceptedError, match=problem):
        accepted(file)
