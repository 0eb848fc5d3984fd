"""All rules over a recording, and what they find. Pure."""

from collections.abc import Iterable, Iterator

from ops.capture.recording import Recording
from policies.access import ACCESS_RULES
from policies.data import DATA_RULES
from policies.exceptions import EXCEPTIONS, PolicyException, not_excepted
from policies.nodes import NODE_RULES
from policies.rule import Finding, RecordingRule, finding
from policies.secrets import SECRET_RULES
from policies.storage import STORAGE_RULES
from policies.transport import TRANSPORT_RULES
from policies.upkeep import UPKEEP_RULES
from policies.view import View

RULES: tuple[RecordingRule, ...] = (
    *STORAGE_RULES,
    *TRANSPORT_RULES,
    *ACCESS_RULES,
    *SECRET_RULES,
    *NODE_RULES,
    *DATA_RULES,
    *UPKEEP_RULES,
)


def findings(
    recording: Recording,
    exceptions: Iterable[PolicyException] = EXCEPTIONS,
    rules: Iterable[RecordingRule] = RULES,
) -> list[Finding]:
    """What breaks a rule and is not excepted, by rule and then in the order of the recording."""
    return not_excepted(all_findings(recording, rules), tuple(exceptions))


def all_findings(recording: Recording, rules: Iterable[RecordingRule] = RULES) -> Iterator[Finding]:
    """What breaks a rule, exceptions or not."""
    view = View(recording)
    for rule in rules:
        for fault in rule.check(view):
            yield finding(rule, fault)
