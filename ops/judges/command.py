"""`python -m ops judge`: linters of others about the stacks, their documents and scripts, Dockerfiles and workflows."""

import argparse
import datetime
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from ops.capture.program import PROJECT_ROOT, record
from ops.capture.recording import Recording
from ops.capture.stack_files import StackFileError, stacks_of
from ops.command_line import add_json, verb_parser
from ops.judges.checkov import checkov_findings
from ops.judges.contracts import contract_findings
from ops.judges.environment import JudgeFailed, JudgeMissing
from ops.judges.files import actionlint_findings, hadolint_findings, zizmor_findings
from ops.judges.findings import Acceptance, AcceptedError, Finding, accepted, split
from ops.judges.iam import iam_findings
from ops.judges.pictures import picture_findings
from ops.judges.schemas import schema_findings
from ops.judges.scripts import script_findings

Recordings = Mapping[str, Recording]
EPILOG = """examples:
  python -m ops judge                        # everything about every stack that has a file
  python -m ops judge --stack prod --only iam --only checkov

What is accepted, and why, is in ops/judges/accepted.toml.

exit code: 0 nothing stands, 1 a finding, an entry that nothing needs, or a judge that broke down (in CI also one that is
not installed), 2 wrong usage
"""


def _each(judge: Callable[[Recording], list[Finding]]) -> Callable[[Recordings], list[Finding]]:
    return lambda recordings: [item for recording in recordings.values() for item in judge(recording)]


# By the name that findings carry. The first need nothing but the development packages.
JUDGES: dict[str, Callable[[Recordings], list[Finding]]] = {
    "iam": _each(iam_findings),
    "cfn-lint": _each(lambda recording: schema_findings(recording, datetime.date.today())),
    "botocore": _each(contract_findings),
    "shellcheck": script_findings,
    "hadolint": lambda _: hadolint_findings(),
    "zizmor": lambda _: zizmor_findings(),
    "actionlint": lambda _: actionlint_findings(),
    "mermaid": picture_findings,
    "checkov": checkov_findings,
}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What one judge said; `not_asked` or `failure` is why it said nothing."""

    judge: str
    seconds: float
    standing: list[Finding]
    accepted: list[Finding]
    stale: list[Acceptance]
    not_asked: str = ""
    failure: str = ""


def main(arguments: Sequence[str]) -> int:
    """Prints what the judges find; 1 for findings that stand and judges that broke down, or were missing where CI is set."""
    options = _options(arguments)
    # The SDK takes a quarter of a second to import, which `--help` need not wait for.
    import pulumi

    every_stack = stacks_of(PROJECT_ROOT)
    try:
        recordings = {stack: record(stack) for stack in options.stack or every_stack}
        acceptances = accepted()
    except StackFileError as error:
        print(error, file=sys.stderr)
        return 2
    except (pulumi.RunError, AcceptedError) as error:
        print(error, file=sys.stderr)
        return 1
    complete = set(recordings) >= set(every_stack)
    verdicts: list[Verdict] = []
    for name in dict.fromkeys(options.only or JUDGES):
        verdicts.append(_verdict(name, recordings, acceptances, complete))
        if not options.json:
            # One of them takes many seconds: each is told as soon as it has spoken.
            print(_line(verdicts[-1]), flush=True)
    print(_as_json(verdicts) if options.json else details(verdicts), end="")
    in_ci = bool(os.environ.get("CI"))
    return int(
        any(item.standing or item.stale or item.failure or (in_ci and item.not_asked) for item in verdicts)
    )


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = verb_parser("judge", __doc__, EPILOG)
    parser.add_argument("--stack", action="append", help="a stack (default: every one that has a file)")
    parser.add_argument("--only", action="append", choices=JUDGES, help="a judge (default: all)")
    add_json(parser)
    return parser.parse_args(arguments)


def _verdict(name: str, recordings: Recordings, acceptances: Sequence[Acceptance], complete: bool) -> Verdict:
    own = [item for item in acceptances if item.judge == name]
    begin = time.monotonic()
    try:
        found = JUDGES[name](recordings)
    except JudgeMissing as error:
        return Verdict(judge=name, seconds=0, standing=[], accepted=[], stale=[], not_asked=str(error))
    except JudgeFailed as error:
        return Verdict(judge=name, seconds=0, standing=[], accepted=[], stale=[], failure=str(error))
    standing, covered, unused = split(found, own)
    # What one stack does not need another may.
    return Verdict(
        judge=name,
        seconds=round(time.monotonic() - begin, 2),
        standing=standing,
        accepted=covered,
        stale=unused if complete else [],
    )


def _as_json(verdicts: Sequence[Verdict]) -> str:
    return f"{json.dumps([asdict(item) for item in verdicts], indent=2)}\n"


def details(verdicts: Sequence[Verdict]) -> str:
    """What stands, and what is accepted without need, each on a line."""
    lines: list[str] = []
    for verdict in verdicts:
        lines += _told(verdict.standing)
        lines += [
            f"{verdict.judge} {item.rule}: accepted for {item.subject}{_in_stacks(item.stacks)}, and no longer found there. Fix: remove it from ops/judges/accepted.toml."
            for item in verdict.stale
        ]
    return "".join(f"{line}\n" for line in lines)


def _told(findings: Sequence[Finding]) -> list[str]:
    """A line per finding; what several stacks have in common is told once."""
    stacks: dict[Finding, list[str]] = {}
    for item in findings:
        stacks.setdefault(replace(item, stack=""), []).append(item.stack)
    return [
        f"{item.judge} {item.rule}: {item.subject}{_in_stacks(names)}: {item.message}"
        for item, names in stacks.items()
    ]


def _in_stacks(names: Sequence[str]) -> str:
    return f" in {', '.join(names)}" if any(names) else ""


def _line(verdict: Verdict) -> str:
    if verdict.not_asked:
        return f"{verdict.judge:<11}not asked: {verdict.not_asked}"
    if verdict.failure:
        return f"{verdict.judge:<11}broke down: {verdict.failure}"
    word = "finding" if len(verdict.standing) == 1 else "findings"
    return f"{verdict.judge:<11}{len(verdict.standing)} {word}, {len(verdict.accepted)} accepted, {verdict.seconds:.2f} s"
