"""Lifecycle rules of the data lake: which contradict each other, and the form in which S3 wants them. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from components.config_sections import LifecycleRule, LifecycleTransition
from components.settings import Fault

# Days before these classes, and in them. S3 dropped this minimum on 2026-07-16 (boto3 1.43.50 changelog), but an object
# still pays for 30 days in these classes and older partitions may still refuse: an earlier move costs more than it saves.
MINIMUM_DAYS = {"STANDARD_IA": 30, "ONEZONE_IA": 30}
# A transition must go down this list. https://docs.aws.amazon.com/AmazonS3/latest/userguide/lifecycle-transition-general-considerations.html
COLDER = ("STANDARD_IA", "INTELLIGENT_TIERING", "ONEZONE_IA", "GLACIER_IR", "GLACIER", "DEEP_ARCHIVE")
# The one step down that list which the same page rules out.
REFUSED_MOVES = (("ONEZONE_IA", "GLACIER_IR"),)


def lifecycle_faults(rules: Sequence[LifecycleRule]) -> list[Fault]:
    """Every contradiction within a rule, and every rule id used twice."""
    faults = [_fault(index, "id", rule.rule_id, "is used by two rules", "give each rule its own id")
              for index, rule in enumerate(rules)
              if Counter(other.rule_id for other in rules[:index])[rule.rule_id]]  # fmt: skip
    for index, rule in enumerate(rules):
        faults += _transition_faults(index, rule)
        faults += _expiry_faults(index, rule)
    return faults


def lifecycle_rules(
    rules: Sequence[LifecycleRule], *, abort_incomplete_upload_days: int, noncurrent_version_days: int
) -> list[dict[str, Any]]:
    """The rules as `aws.s3.BucketLifecycleConfiguration` takes them, with those that every bucket needs.

    Every rule carries an explicit filter, since S3 refuses one without.
    """
    return [
        *(_rule(rule) for rule in rules),
        {
            "id": "AbortIncompleteUploads",
            "status": "Enabled",
            "filter": {"prefix": ""},
            "abort_incomplete_multipart_upload": {"days_after_initiation": abort_incomplete_upload_days},
        },
        {
            "id": "DeleteOldVersions",
            "status": "Enabled",
            "filter": {"prefix": ""},
            "noncurrent_version_expiration": {"noncurrent_days": noncurrent_version_days},
            # The marker of a deleted object stays behind when its last old version is gone.
            "expiration": {"expired_object_delete_marker": True},
        },
    ]


RESERVED_RULE_IDS = ("AbortIncompleteUploads", "DeleteOldVersions")


def _rule(rule: LifecycleRule) -> dict[str, Any]:
    built: dict[str, Any] = {"id": rule.rule_id, "status": "Enabled", "filter": _filter(rule)}
    if rule.transitions:
        built["transitions"] = [
            {"days": move.days, "storage_class": move.storage_class} for move in rule.transitions
        ]
    if rule.expire_days > 0:
        built["expiration"] = {"days": rule.expire_days}
    return built


def _filter(rule: LifecycleRule) -> dict[str, Any]:
    """S3 takes one condition as it is, and several only inside `and`."""
    if rule.prefix and rule.minimum_size_bytes:
        return {"and": {"prefix": rule.prefix, "object_size_greater_than": rule.minimum_size_bytes}}
    if rule.minimum_size_bytes:
        return {"object_size_greater_than": rule.minimum_size_bytes}
    return {"prefix": rule.prefix}


def _transition_faults(index: int, rule: LifecycleRule) -> list[Fault]:
    faults = []
    earlier = None
    for position, move in enumerate(rule.transitions):
        found = [*_minimum_faults(move), *(_order_faults(earlier, move) if earlier else ())]
        shown = f"{move.storage_class} at {move.days} days"
        faults += [_fault(index, f"transitions[{position}]", shown, *fault) for fault in found]
        earlier = move
    return faults


def _minimum_faults(move: LifecycleTransition) -> Iterator[tuple[str, str]]:
    least = MINIMUM_DAYS.get(move.storage_class, 0)
    if move.days < least:
        allowed = f"moves to {move.storage_class} before {least} days, which costs more than it saves"
        yield allowed, f"use {least} days or more"


def _order_faults(earlier: LifecycleTransition, later: LifecycleTransition) -> Iterator[tuple[str, str]]:
    before = f"{earlier.storage_class} at {earlier.days} days"
    if COLDER.index(later.storage_class) <= COLDER.index(earlier.storage_class):
        yield f"must be a colder class than {before}", f"order the classes: {', '.join(COLDER)}"
        return
    if (earlier.storage_class, later.storage_class) in REFUSED_MOVES:
        yield f"S3 moves nothing from {earlier.storage_class} to {later.storage_class}", "drop one of the two"
    least = earlier.days + max(1, MINIMUM_DAYS.get(earlier.storage_class, 0))
    if later.days < least:
        yield f"comes too early after {before}", f"use {least} days or more"


def _expiry_faults(index: int, rule: LifecycleRule) -> list[Fault]:
    last = max((move.days for move in rule.transitions), default=0)
    faults = []
    if rule.rule_id in RESERVED_RULE_IDS:
        faults.append(_fault(index, "id", rule.rule_id, "is a rule that every lake has", "choose another id"))
    if rule.expire_days == -1 and not rule.transitions:
        faults.append(_fault(index, "id", rule.rule_id, "does nothing", "give it transitions or expireDays"))
    if 0 < rule.expire_days <= last:
        allowed = f"must be later than the last transition ({last} days)"
        fix = f"use {last + 1} or more, or drop the transition"
        faults.append(_fault(index, "expireDays", str(rule.expire_days), allowed, fix))
    return faults


def _fault(index: int, key: str, value: str, allowed: str, fix: str) -> Fault:
    return Fault(key=f"lakeLifecycleRules[{index}].{key}", value=value, allowed=allowed, fix=fix)
