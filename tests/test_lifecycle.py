"""Lifecycle rules of the data lake: what is refused, and the form in which the others reach S3."""

from typing import Any

import pytest

from components.config_sections import LifecycleRule
from components.lifecycle import lifecycle_rules
from typed_config import faults_of

REFUSED_LIFECYCLE_RULES: list[tuple[list[dict[str, Any]], list[str]]] = [
    ([{"id": "rule"}], [
        '[0].id = rule: does nothing. Fix: give it transitions or expireDays.',
    ]),
    ([{"id": "rule", "transitions": [{"days": 7, "storageClass": "STANDARD_IA"}]}], [
        '[0].transitions[0] = STANDARD_IA at 7 days: moves to STANDARD_IA before 30 days, which costs more than it saves. Fix: use 30 days or more.',
    ]),
    ([{"id": "rule", "transitions": [{"days": 90, "storageClass": "GLACIER"}], "expireDays": 60}], [
        '[0].expireDays = 60: must be later than the last transition (90 days). Fix: use 91 or more, or drop the transition.',
    ]),
    ([{"id": "rule", "transitions": [{"days": 90, "storageClass": "GLACIER"}], "expireDays": 90}], [
        '[0].expireDays = 90: must be later than the last transition (90 days). Fix: use 91 or more, or drop the transition.',
    ]),
    ([{"id": "rule", "expireDays": 1}, {"id": "rule", "expireDays": 2}], [
        '[1].id = rule: is used by two rules. Fix: give each rule its own id.',
    ]),
    ([{"id": "DeleteOldVersions", "expireDays": 2}], [
        '[0].id = DeleteOldVersions: is a rule that every lake has. Fix: choose another id.',
    ]),
    ([{"id": "rule", "transitions": [{"days": 30, "storageClass": "GLACIER"}, {"days": 90, "storageClass": "STANDARD_IA"}]}], [
        '[0].transitions[1] = STANDARD_IA at 90 days: must be a colder class than GLACIER at 30 days. Fix: order the classes: STANDARD_IA, INTELLIGENT_TIERING, ONEZONE_IA, GLACIER_IR, GLACIER, DEEP_ARCHIVE.',
    ]),
    ([{"id": "rule", "transitions": [{"days": 30, "storageClass": "STANDARD_IA"}, {"days": 59, "storageClass": "GLACIER"}]}], [
        '[0].transitions[1] = GLACIER at 59 days: comes too early after STANDARD_IA at 30 days. Fix: use 60 days or more.',
    ]),
    ([{"id": "rule", "transitions": [{"days": 30, "storageClass": "ONEZONE_IA"}, {"days": 90, "storageClass": "GLACIER_IR"}]}], [
        '[0].transitions[1] = GLACIER_IR at 90 days: S3 moves nothing from ONEZONE_IA to GLACIER_IR. Fix: drop one of the two.',
    ]),
    ([{"id": "rule", "transitions": [{"days": 5, "storageClass": "GLACIER"}, {"days": 5, "storageClass": "DEEP_ARCHIVE"}]}], [
        '[0].transitions[1] = DEEP_ARCHIVE at 5 days: comes too early after GLACIER at 5 days. Fix: use 6 days or more.',
    ]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "messages"), REFUSED_LIFECYCLE_RULES, ids=range(len(REFUSED_LIFECYCLE_RULES))
)
def test_lifecycle_rules_that_contradict_themselves_are_refused(
    rules: list[dict[str, Any]], messages: list[str]
) -> None:
    found = faults_of({"lakeLifecycleRules": rules})
    assert found == [f"lakeLifecycleRules{message}" for message in messages]


def test_a_lifecycle_rule_with_negative_days_is_refused() -> None:
    rules = [
        {"id": "rule", "transitions": [{"days": -30, "storageClass": "GLACIER"}]},
        {"id": "b", "expireDays": -5},
    ]
    assert faults_of({"lakeLifecycleRules": rules}) == [
        "lakeLifecycleRules[0].transitions[0].days = -30: must be 0 to 36500 days. Fix: change it.",
        "lakeLifecycleRules[1].expireDays = -5: must be 1 to 36500 days, or -1 for never. Fix: change it, or remove it to use the default -1.",
    ]


def test_every_step_down_the_storage_classes_is_allowed() -> None:
    classes = ("STANDARD_IA", "INTELLIGENT_TIERING", "ONEZONE_IA", "GLACIER", "DEEP_ARCHIVE")
    transitions = [{"days": 30 * step, "storageClass": name} for step, name in enumerate(classes, start=1)]
    rule = {"id": "down", "prefix": "raw/", "transitions": transitions, "expireDays": 151}
    assert faults_of({"lakeLifecycleRules": [rule]}) == []


def test_an_expiry_of_one_day_before_a_transition_is_refused() -> None:
    rule = {"id": "rule", "transitions": [{"days": 5, "storageClass": "GLACIER"}], "expireDays": 1}
    assert faults_of({"lakeLifecycleRules": [rule]}) == [
        "lakeLifecycleRules[0].expireDays = 1: must be later than the last transition (5 days). "
        "Fix: use 6 or more, or drop the transition."
    ]


def test_an_object_may_go_to_the_archive_at_once_and_deeper_on_the_next_day() -> None:
    transitions = [{"days": 0, "storageClass": "GLACIER"}, {"days": 1, "storageClass": "DEEP_ARCHIVE"}]
    rule = {"id": "archive", "transitions": transitions}
    assert faults_of({"lakeLifecycleRules": [rule]}) == []


def built(**fields: Any) -> list[dict[str, Any]]:
    return lifecycle_rules(
        [LifecycleRule(rule_id="rule", **fields)], abort_incomplete_upload_days=7, noncurrent_version_days=30
    )


def test_a_size_alone_stands_alone() -> None:
    assert built(minimum_size_bytes=1, expire_days=30)[0]["filter"] == {"object_size_greater_than": 1}
