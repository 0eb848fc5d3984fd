"""Where a rule is broken on purpose: why, and until when. After that day somebody must think about it again."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase

from policies.rule import Finding, Severity

RULE_EXPIRED = "expired-exception"
RULE_UNUSED = "unused-exception"
PLACE = "policies/exceptions.py"


@dataclass(frozen=True, kw_only=True)
class PolicyException:
    """`name` is the program's for the resource, with `*` for any text; `what` is words that the message contains."""

    rule: str
    name: str
    what: str
    reason: str
    expires: date

    def covers(self, found: Finding) -> bool:
        return found.rule == self.rule and fnmatchcase(found.name, self.name) and self.what in found.message


AGENT = "allows any resource: ecs:Poll, ecs:StartTelemetrySession, ecs:UpdateContainerInstancesState"
AGENT_REASON = "a container instance has no ARN before it registers; a condition names the cluster"
NEXT_LOOK = date(2027, 12, 1)
EXCEPTIONS: tuple[PolicyException, ...] = (
    PolicyException(
        rule="wildcards",
        name="gpu-*-join-cluster-*",
        what=AGENT,
        reason=AGENT_REASON,
        expires=NEXT_LOOK,
    ),
    PolicyException(
        rule="wildcards",
        name="training-capacity-serve-jobs-*",
        what=AGENT,
        reason=AGENT_REASON,
        expires=NEXT_LOOK,
    ),
    PolicyException(
        rule="wildcards",
        name="training-machine-run-jobs-*",
        what="job/*: batch:TagResource",
        reason="SubmitJob tags the job that it makes, which has no ARN before",
        expires=NEXT_LOOK,
    ),
    PolicyException(
        rule="wildcards",
        name="alarms-key",
        what="allows kms:*:",
        reason="without its account nobody could change the policy of the key, or delete it",
        expires=NEXT_LOOK,
    ),
    PolicyException(
        rule="wildcards",
        name="alarms-key",
        what="allows kms:GenerateDataKey*:",
        reason="SNS documents the actions of who publishes to an encrypted topic so",
        expires=NEXT_LOOK,
    ),
    PolicyException(
        rule="deletion-protection",
        name="rag-balancer",
        what="goes with one call",
        reason="it holds no data, and a stack that goes to sleep must be able to delete it",
        expires=NEXT_LOOK,
    ),
)


def not_excepted(found: Iterable[Finding], exceptions: Collection[PolicyException]) -> list[Finding]:
    """The findings that no exception covers. One that has expired still does: that it has is a finding of its own."""
    return [item for item in found if not any(one.covers(item) for one in exceptions)]


def expired(exceptions: Collection[PolicyException], today: date) -> Iterator[Finding]:
    """The exceptions whose day has passed."""
    for item in exceptions:
        if item.expires < today:
            yield _about(item, RULE_EXPIRED, Severity.ERROR,
                         f"the exception ended on {item.expires.isoformat()}: nobody has since asked whether its reason holds",
                         f"mend the resource, or give the exception another day in {PLACE}")  # fmt: skip


def unused(exceptions: Collection[PolicyException], found: Collection[Finding]) -> Iterator[Finding]:
    """The exceptions that none of the findings needs; `found` are those of all stacks, excepted or not."""
    for item in exceptions:
        if not any(item.covers(one) for one in found):
            yield _about(item, RULE_UNUSED, Severity.ERROR,
                         "the exception excepts nothing: it would hide the next fault of this kind",
                         f"take it out of {PLACE}")  # fmt: skip


def _about(item: PolicyException, rule: str, severity: Severity, harm: str, fix: str) -> Finding:
    message = f"{item.rule} of {item.name} ({item.what.rstrip(':')}): {harm}"
    return Finding(rule=rule, severity=severity, urn="", name=item.name, message=message, fix=fix)
