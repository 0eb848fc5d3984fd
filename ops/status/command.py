"""`python -m ops status`: one screen of a deployed stack: services and rollbacks, fleets, training, queues, index, alarms, cost.

It is read from the stack's outputs and from AWS; nothing is changed.
"""

import argparse
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from components.config_sections import NAMESPACE
from ops.aws_calls import AwsCallError
from ops.capture.stack_files import StackFileError, load_stack_config
from ops.command_line import add_json, add_profile, verb_parser, whole_number
from ops.parallel import in_parallel
from ops.preflight.account import Account
from ops.preview import wants_colour
from ops.stack_outputs import PROJECT_ROOT, StackOutputsError, stack_outputs, stack_region
from ops.status import alarms, cost, fleets, index, queues, services, training
from ops.status.report import as_json, as_text, is_well
from ops.status.sections import Deployed, Section, read_section

AREAS = (
    services.area("RAG service", output="rag_service", there_with="rag_url"),
    services.area("Model server", output="inference_service", there_with="inference_url"),
    fleets.area(),
    training.area(),
    queues.area(),
    index.area(),
    alarms.area(),
    cost.area(),
)
WORKERS = 8
SHORTEST_SECONDS, LONGEST_SECONDS = 5, 3600
CLEAR = "\033[H\033[2J"
EXAMPLE = """example:
  python -m ops status --stack prod --watch 30
  RAG service   !! the deployment of 2026-12-01 09:14 was rolled back (ROLLBACK_SUCCESSFUL): tasks failed to start
  Ingestion     !! about 12 dead letters. See why: python -m ops redrive --stack prod --show

Marks: ok, !! needs you, ?? could not be read, -- is not there.

exit code: 0 all is well, 1 any !! or ??, 2 wrong usage"""


def main(
    arguments: Sequence[str],
    make_account: Callable[[str, str | None], Account] = Account,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> int:
    """0 when all is well, 1 when something is unhealthy or could not be read, 2 on wrong usage."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.watch and options.json:
        parser.error("--watch is for people, --json for machines; give one of them")
    try:
        region = stack_region(options.stack)
        config = load_stack_config(PROJECT_ROOT, options.stack.rpartition("/")[2])
        outputs = stack_outputs(options.stack)
        asleep = config.values.get(f"{NAMESPACE}:asleep") == "true"

        def look() -> tuple[Deployed, list[Section]]:
            # Asked anew each time: an account remembers its answers.
            account = make_account(region, options.profile)
            return read(Deployed(outputs, config.project, account, clock(), asleep))

        return _watch(look, options.watch, sleep) if options.watch else _show(look, as_document=options.json)
    except StackFileError as error:
        print(error, file=sys.stderr)
        return 2
    except (AwsCallError, StackOutputsError) as error:
        print(error, file=sys.stderr)
        return 1


def read(deployed: Deployed) -> tuple[Deployed, list[Section]]:
    """All sections, read at once; one that cannot be read does not stop the others."""
    return deployed, in_parallel(lambda area: read_section(area, deployed), AREAS, WORKERS)


def _show(look: Callable[[], tuple[Deployed, list[Section]]], *, as_document: bool) -> int:
    deployed, sections = look()
    print(as_json(deployed, sections) if as_document else _screen(deployed, sections))
    return 0 if is_well(sections) else 1


def _watch(
    look: Callable[[], tuple[Deployed, list[Section]]], seconds: int, sleep: Callable[[float], None]
) -> int:
    """Until somebody stops it: the screen is redrawn on a terminal, and printed again elsewhere."""
    while True:
        deployed, sections = look()
        text = _screen(deployed, sections)
        print(f"{CLEAR}{text}" if sys.stdout.isatty() else f"{text}\n", flush=True)
        sleep(seconds)


def _screen(deployed: Deployed, sections: list[Section]) -> str:
    """Folded to a terminal's width; other programs get whole lines."""
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    return as_text(deployed, sections, colour=wants_colour(), columns=columns)


def _parser() -> argparse.ArgumentParser:
    permissions = ", ".join(sorted({action for area in AREAS for action in area.actions}))
    parser = verb_parser("status", __doc__, f"{EXAMPLE}\n\n{textwrap.fill(f'Takes {permissions}.', 120)}")
    parser.add_argument("--stack", required=True, help="the stack, whose outputs are read from Pulumi")
    parser.add_argument(
        "--watch", type=whole_number(SHORTEST_SECONDS, LONGEST_SECONDS), metavar="SECONDS",
        help=f"look again and again, {SHORTEST_SECONDS} to {LONGEST_SECONDS} seconds apart",
    )  # fmt: skip
    add_profile(parser)
    add_json(parser)
    return parser
