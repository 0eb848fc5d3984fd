"""`python -m ops preflight`: what an account lacks for a stack, found out before `pulumi up`.

Quotas, zones, machine images, models, secrets, certificates and roles are compared with what the program would build.
Nothing is changed, and no secret is read.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence

from ops.aws_calls import AwsCallError
from ops.capture.program import record
from ops.capture.stack_files import StackFileError
from ops.command_line import add_json, add_profile, verb_parser
from ops.parallel import in_parallel
from ops.preflight import (
    blocks,
    capacity,
    fargate,
    functions,
    identity,
    images,
    models,
    network,
    offerings,
    roles,
    secrets_and_certificates,
    vectors,
)
from ops.preflight.account import Account
from ops.preflight.checks import Check, run_check
from ops.preflight.findings import Finding, Status, in_order
from ops.preflight.policy import minimal_policy
from ops.preflight.report import as_json, as_text
from ops.preflight.stack import Stack
from ops.progress import Progress

AREAS: tuple[Callable[[Stack], list[Check]], ...] = (
    identity.checks,
    capacity.checks,
    offerings.checks,
    blocks.checks,
    images.checks,
    fargate.checks,
    network.checks,
    vectors.checks,
    functions.checks,
    models.checks,
    secrets_and_certificates.checks,
    roles.checks,
)
WORKERS = 8
EXAMPLE = """example:
  python -m ops preflight --stack prod
  FAILED spot vCPUs (All G and VT Spot Instance Requests): need 224, have 0 (quota ec2 L-3819A6DF in eu-central-1)
      Fix: aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-3819A6DF ...

exit code: 0 all is there, 1 something is missing or could not be checked, 2 wrong usage"""


def main(arguments: Sequence[str]) -> int:
    """0 when the account has all that the stack needs, 1 when not or when something could not be checked, 2 on wrong usage."""
    options = _parser().parse_args(arguments)
    # The SDK takes a quarter of a second to import, which `--help` need not wait for.
    import pulumi

    try:
        stack = Stack(record(options.stack))
        if options.policy:
            print(json.dumps(minimal_policy(all_checks(stack)), indent=2))
            return 0
        return run(stack, Account(stack.region, options.profile), json_wanted=options.json)
    except StackFileError as error:
        print(error, file=sys.stderr)
        return 2
    except (pulumi.RunError, AwsCallError) as error:
        print(error, file=sys.stderr)
        return 1


def run(stack: Stack, account: Account, *, json_wanted: bool = False) -> int:
    """Checks everything and tells it. Raises AwsCallError without usable credentials.

    In an account that the stack may not go to, nothing else is asked: the fixes would change the wrong account.
    """
    account_id = identity.account_id(account)
    whose = identity.account_finding(stack, account_id)
    rest = [] if whose.status is Status.FAILED else ask_all(all_checks(stack), account)
    findings = in_order([whose, *rest])
    print((as_json if json_wanted else as_text)(stack, account_id, findings))
    return int(any(finding.status in (Status.FAILED, Status.UNCHECKED) for finding in findings))


def all_checks(stack: Stack) -> list[Check]:
    """Every check that the stack gives reason for, in the order of the areas."""
    return [check for area in AREAS for check in area(stack)]


def ask_all(checks: Sequence[Check], account: Account) -> list[Finding]:
    """The findings of all checks, in the order of the checks, asked several at a time."""
    with Progress("Checked", len(checks)) as progress:

        def one(check: Check) -> list[Finding]:
            found = run_check(check, account)
            progress.advance()
            return found

        return [finding for found in in_parallel(one, checks, WORKERS) for finding in found]


def _parser() -> argparse.ArgumentParser:
    parser = verb_parser("preflight", __doc__, EXAMPLE)
    parser.add_argument("--stack", required=True, help="the stack, as in Pulumi.<stack>.yaml")
    parser.add_argument(
        "--policy", action="store_true", help="ask nothing; print the IAM policy that the checks take"
    )
    add_profile(parser)
    add_json(parser)
    return parser
