"""docs/policies.md tells the rules as they are."""

from ops.capture.program import PROJECT_ROOT
from policies.data import DATA_REPLACEMENT
from policies.exceptions import EXCEPTIONS
from policies.page import page
from policies.rules import RULES


def test_the_page_is_that_of_the_rules() -> None:
    committed = (PROJECT_ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    assert committed == page(), "run `python -m policies.page`"


def test_the_page_names_every_rule_once_and_every_exception() -> None:
    lines = page().splitlines()
    for rule in (*RULES, DATA_REPLACEMENT):
        assert len([line for line in lines if line.startswith(f"| `{rule.id}` | {rule.severity} |")]) == 1
    assert len([line for line in lines if line.endswith("2027-12-01 |")]) == len(EXCEPTIONS)
