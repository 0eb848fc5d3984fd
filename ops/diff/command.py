"""`python -m ops diff`: what a change of the program does to the stacks, told without an AWS account."""

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from ops.capture.program import PROJECT_ROOT
from ops.capture.recording import Recording
from ops.capture.stack_files import stacks_of
from ops.command_line import verb_parser
from ops.diff.base import SHORT_COMMIT, BaseError, commit_of, common_ancestor, unpacked
from ops.diff.comparison import Comparison, compared
from ops.diff.document import stack_document
from ops.diff.markdown import markdown
from ops.diff.text import Outcome, text
from ops.diff.versions import VersionError, count_of, record_both
from ops.price_table import PriceTableError
from ops.progress import Progress
from ops.stops import stopped_as_by_ctrl_c

EPILOG = """examples:
  python -m ops diff --base main                       # all stacks, against the working tree
  python -m ops diff --base v1.2.0 --stack prod
  python -m ops diff --base origin/main --markdown > report.md

The program is run as of --base and as it lies here, changes that are not committed included, each with its own stack
files; both with the recorder, the prices and the rules of this version. Nothing is asked of AWS, and the working tree stays
as it is. What is compared and what cannot be seen: docs/diff.md.

exit code: 0 told, 1 in any stack data would be lost (replaced or removed) or be protected no longer, zones would move,
network openings to the internet are gained, or a version fails; 2 wrong usage. A pipeline that must go on all the same: python -m ops diff ... || [ $? = 1 ]
"""


def parser() -> argparse.ArgumentParser:
    made = verb_parser(
        "diff",
        "What a change of the program does to the stacks: resources, replacements, permissions, openings, cost.",
        EPILOG,
    )
    made.add_argument(
        "--base", required=True, metavar="REF", help="branch, tag or commit that the change started from"
    )
    made.add_argument(
        "--stack", action="append", help="a stack, as in Pulumi.<stack>.yaml; may be repeated (default: all)"
    )
    form = made.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="print Markdown for a pull request")
    form.add_argument("--json", action="store_true", help="print JSON for machines")
    return made


def main(arguments: Sequence[str], root: Path = PROJECT_ROOT) -> int:
    """0 told; 1 when a change must be looked at first, or a version fails; 2 for a base or stack that there is not."""
    options = parser().parse_args(arguments)
    try:
        commit = commit_of(options.base, root)
        with stopped_as_by_ctrl_c():
            outcomes = _outcomes(commit, options.stack, root)
    except BaseError as error:
        print(error, file=sys.stderr)
        return 2
    except (VersionError, PriceTableError) as error:
        print(error, file=sys.stderr)
        return 1
    title = _title(options.base, commit, root)
    print(_told(options, title, commit, outcomes))
    return int(any(isinstance(item, str) or item.is_refused for item in outcomes.values()))


def _outcomes(commit: str, asked: Sequence[str] | None, root: Path) -> dict[str, Outcome]:
    """What changes in each stack, or why that cannot be told."""
    with unpacked(commit, root) as base:
        _check_program(base, commit)
        known = sorted({*stacks_of(root), *stacks_of(base)})
        for stack in asked or ():
            if stack not in known:
                raise BaseError(
                    f"--stack {stack}: neither version has a file Pulumi.{stack}.yaml. Fix: use one of {', '.join(known)}."
                )
        stacks = list(dict.fromkeys(asked or known))
        with Progress("Recorded", count_of(base, root, stacks)) as progress:
            versions = record_both(base, root, stacks, progress.advance)
    return {
        stack: _outcome(versions.base.get(stack), versions.head.get(stack), commit[:SHORT_COMMIT])
        for stack in stacks
    }


def _check_program(base: Path, commit: str) -> None:
    for name in ("__main__.py", "Pulumi.yaml"):
        if not (base / name).is_file():
            raise BaseError(
                f"--base: the commit {commit[:SHORT_COMMIT]} has no {name}: it is older than the program, so that there is "
                "nothing to compare with. Fix: name a later commit."
            )


def _outcome(base: Recording | str | None, head: Recording | str | None, commit: str) -> Outcome:
    if head is None:
        return "its file is gone. What it has deployed stays: destroy the stack before its file goes."
    if isinstance(base, str):
        return f"the program of {commit} fails, so that nothing can be compared: {base}"
    if isinstance(head, str):
        return f"the program as it is now fails: {head}"
    return compared(base, head)


def _title(ref: str, commit: str, root: Path) -> str:
    """Which versions these are, and whether the base has commits that the head lacks."""
    short = commit[:SHORT_COMMIT]
    named = short if commit.startswith(ref) else f"{ref} ({short})"
    ancestor = common_ancestor(commit, root)
    title = f"From {named} to the working tree."
    if ancestor and ancestor != commit:
        title += (
            f" {ref} has commits that are not in here: what they did is told as if it were undone."
            f" Without them: --base {ancestor[:SHORT_COMMIT]}"
        )
    return title


def _told(options: argparse.Namespace, title: str, commit: str, outcomes: dict[str, Outcome]) -> str:
    if options.json:
        stacks = [stack_document(stack, outcome) for stack, outcome in outcomes.items()]
        return json.dumps({"base": options.base, "commit": commit, "stacks": stacks}, indent=2)
    if all(isinstance(item, Comparison) and item.is_same for item in outcomes.values()):
        return f"{title} No change in {', '.join(outcomes)}."
    if options.markdown:
        return markdown(title, outcomes, f"python -m ops diff --base {commit[:SHORT_COMMIT]}")
    return text(title, outcomes, shutil.get_terminal_size().columns if sys.stdout.isatty() else None)
