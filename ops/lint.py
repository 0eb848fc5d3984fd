"""`python -m ops lint`: the policy rules over what the stacks register, without an AWS account."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import Any

from ops.capture.program import PROJECT_ROOT, record
from ops.capture.recording import Recording
from ops.capture.stack_files import StackFileError, stacks_of
from ops.command_line import add_json, verb_parser
from policies.exceptions import EXCEPTIONS, PolicyException, expired, not_excepted, unused
from policies.rule import Finding, Severity
from policies.rules import RULES, all_findings

EPILOG = """examples:
  python -m ops lint                   # all stacks, and exceptions that nothing needs any more
  python -m ops lint --stack prod --json

The rules are explained in docs/policies.md; exceptions are in policies/exceptions.py.

exit code: 0 no error (there may be warnings), 1 an error or faults in the configuration, 2 wrong usage
"""
# Exceptions belong to no stack.
EXCEPTIONS_PLACE = "exceptions"


def main(arguments: Sequence[str], today: date | None = None) -> int:
    """Prints the findings; 1 when one is an error or the configuration has faults, 2 for an unknown stack."""
    parser = verb_parser("lint", __doc__, EPILOG)
    parser.add_argument("--stack", help="one stack, as in Pulumi.<stack>.yaml (default: all of them)")
    add_json(parser)
    options = parser.parse_args(arguments)
    # The SDK takes a quarter of a second to import, which `--help` need not wait for.
    import pulumi

    try:
        recordings = {
            name: record(name) for name in ([options.stack] if options.stack else stacks_of(PROJECT_ROOT))
        }
    except StackFileError as error:
        print(error, file=sys.stderr)
        return 2
    except pulumi.RunError as error:
        print(error, file=sys.stderr)
        return 1
    found = judged(recordings, today or date.today(), all_stacks=not options.stack)
    print(_as_json(found) if options.json else text(found))
    return int(any(item.severity is Severity.ERROR for items in found.values() for item in items))


def judged(
    recordings: Mapping[str, Recording],
    today: date,
    *,
    all_stacks: bool,
    exceptions: Sequence[PolicyException] = EXCEPTIONS,
) -> dict[str, list[Finding]]:
    """The findings of each stack, and those about the exceptions themselves.

    Whether an exception is still needed can be told only when `recordings` are those of all stacks.
    """
    every = {name: list(all_findings(recording)) for name, recording in recordings.items()}
    found = {name: not_excepted(items, exceptions) for name, items in every.items()}
    about = list(expired(exceptions, today))
    if all_stacks:
        about += unused(exceptions, [item for items in every.values() for item in items])
    return {**found, EXCEPTIONS_PLACE: about}


def text(found: Mapping[str, Sequence[Finding]]) -> str:
    """The findings as a person reads them, and how many there are in each stack."""
    lines = [line for name, items in found.items() for item in items for line in _lines(name, item)]
    counts = ", ".join(f"{name} {_count(items)}" for name, items in found.items())
    return "\n".join([*lines, f"{len(RULES)} rules; findings: {counts}"])


def _lines(place: str, item: Finding) -> list[str]:
    return [f"{item.severity.upper()} {place}: {item.message} ({item.rule})", f"  Fix: {item.fix}", ""]


def _count(items: Sequence[Finding]) -> str:
    return str(len(items)) if items else "none"


def _as_json(found: Mapping[str, Sequence[Finding]]) -> str:
    document: list[dict[str, Any]] = [
        {"stack": name, **asdict(item)} for name, items in found.items() for item in items
    ]
    return json.dumps({"rules": [rule.id for rule in RULES], "findings": document}, indent=2, sort_keys=True)
