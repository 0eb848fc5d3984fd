"""Exceptions are exact, end on a day, and go when nothing needs them."""

from datetime import date, timedelta

from policies.exceptions import EXCEPTIONS, RULE_EXPIRED, RULE_UNUSED, PolicyException, expired, unused
from policies.rule import Severity
from policies.rules import RULES, all_findings
from recordings import STACKS, recorded

NOBODY = PolicyException(
    rule="imdsv2", name="gpu-*", what="", reason="none", expires=date(2027, 1, 1)
)  # fmt: skip


def test_every_exception_is_needed_and_says_why() -> None:
    found = [item for stack in STACKS for item in all_findings(recorded(stack))]
    assert list(unused(EXCEPTIONS, found)) == []
    for item in EXCEPTIONS:
        assert item.rule in {rule.id for rule in RULES} and item.reason and item.what, item


def test_an_exception_that_nothing_needs_is_a_finding() -> None:
    found = list(all_findings(recorded("prod")))
    (item,) = unused([NOBODY], found)
    assert (item.rule, item.severity) == (RULE_UNUSED, Severity.ERROR) and "imdsv2 of gpu-*" in item.message


def test_an_exception_ends_after_its_last_day() -> None:
    assert list(expired([NOBODY], NOBODY.expires)) == []
    (item,) = expired([NOBODY], NOBODY.expires + timedelta(days=1))
    assert (item.rule, item.severity) == (RULE_EXPIRED, Severity.ERROR)
    assert "2027-01-01" in item.message, "nobody would see since when"


def test_an_exception_covers_its_own_rule_resource_and_fault_only() -> None:
    (wild,) = [item for item in all_findings(recorded("prod")) if "allows kms:*:" in item.message]
    covering = [item for item in EXCEPTIONS if item.covers(wild)]
    assert len(covering) == 1, "two exceptions for one fault hide each other's end"
    assert not any(item.covers(wild) for item in EXCEPTIONS if item.rule != "wildcards")
    assert not NOBODY.covers(wild)


def test_no_exception_is_made_for_a_whole_rule() -> None:
    assert not [item for item in EXCEPTIONS if item.name.strip("*") == "" or not item.what]
