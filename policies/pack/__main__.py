"""The policy pack: wraps the rules for the engine. Making a PolicyPack starts its server, so nothing imports this file."""

import sys
from functools import partial
from pathlib import Path

from pulumi_policy import (
    EnforcementLevel,
    PolicyPack,
    ReportViolation,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UnknownValueError

# The rules lie beside this folder; the engine starts the pack inside it.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from policies.engine_resources import recording_of
from policies.rule import RecordingRule, Severity
from policies.rules import RULES, findings

LEVELS = {Severity.ERROR: EnforcementLevel.MANDATORY, Severity.WARNING: EnforcementLevel.ADVISORY}


def validate(rule: RecordingRule, args: StackValidationArgs, report: ReportViolation) -> None:
    for found in findings(recording_of(args.resources, UnknownValueError), rules=[rule]):
        report(f"{found.message}. Fix: {found.fix}", found.urn)


PolicyPack(
    name="ai-platform",
    policies=[
        StackValidationPolicy(
            name=rule.id,
            description=rule.promise,
            enforcement_level=LEVELS[rule.severity],
            validate=partial(validate, rule),
        )
        for rule in RULES
    ],
)
