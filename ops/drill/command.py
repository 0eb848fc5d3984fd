"""`python -m ops drill`: interrupts the node of a training run as the spot market would, and reports what that cost.

It passes when the run goes on from a checkpoint and has lost less than a minute of work.
"""

import argparse
import json
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ops.aws_calls import AwsCallError
from ops.capture.stack_files import StackFileError
from ops.command_line import add_json, add_profile, verb_parser, whole_number
from ops.drill import report
from ops.drill.experiment import PERMISSIONS, Experiment, interrupt
from ops.drill.judge import judge
from ops.drill.place import Drill, DrillClients, DrillRefused, connect
from ops.drill.target import Node, find_run, last_safe_step, live_attempt, mark, node_of, unmark
from ops.drill.watch import LOOK_SECONDS, Watch
from ops.progress import confirmed, duration, someone_is_there
from ops.stack_outputs import StackOutputsError
from ops.train.costs import Prices
from ops.train.options import add_prices
from ops.train.prices import prices_of
from ops.train.runs import Attempt
from ops.train.stack import TrainingStack

LONGEST_MINUTES = 1440
EXAMPLES = """examples:
  python -m ops drill --stack staging --wait                 # the only live run on spot, after its first checkpoint
  python -m ops drill --stack staging --run RUN --yes --json

exit code: 0 the run went on as it should, 1 it did not or the drill could not begin, 2 wrong usage"""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What is to be interrupted, and what it saved last."""

    run: str
    attempt: Attempt
    node: Node
    saved_at: float
    saved_step: int


def main(
    arguments: Sequence[str],
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.time,
) -> int:
    """0 when the drill passes, 1 when it fails or cannot begin, 2 on wrong usage."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not options.yes and not someone_is_there():
        parser.error("nobody is there to answer the question; give --yes to interrupt the node without one")
    try:
        drill, stack, clients = connect(options.stack, options.profile)
        return Command(drill, stack, clients, options, sleep, clock).run()
    except StackFileError as error:
        print(error, file=sys.stderr)
        return 2
    except (AwsCallError, DrillRefused, StackOutputsError) as error:
        print(error, file=sys.stderr)
        return 1


@dataclass(frozen=True)
class Command:
    """One drill, with what the person asked for."""

    drill: Drill
    stack: TrainingStack
    clients: DrillClients
    options: argparse.Namespace
    sleep: Callable[[float], None]
    clock: Callable[[], float]

    def run(self) -> int:
        """0 when it passes, 1 when it does not or nobody wanted it."""
        deadline = self.clock() + self.options.timeout_minutes * 60
        chosen = self._choose(deadline)
        if not self.options.yes and not confirmed(self._question(chosen)):
            print("Nothing was interrupted.", file=sys.stderr)
            return 1
        experiment = self._interrupt(chosen)
        try:
            return self._watch(chosen, experiment, deadline)
        except DrillRefused:
            self._unmark(chosen)
            raise
        except KeyboardInterrupt:
            print(
                f"\nThe node {chosen.node.instance_id} goes all the same, and {chosen.run} goes on by itself. See: python -m "
                f"ops train status {chosen.run} --stack {self.options.stack} (experiment {experiment.id})",
                file=sys.stderr,
            )
            raise

    def _choose(self, deadline: float) -> Chosen:
        """Waits for a first checkpoint where the person wants that."""
        waits = self.options.wait
        while True:
            run = find_run(self.clients, self.stack, self.options.run, self.clock())
            attempt = live_attempt(run)
            saved = last_safe_step(self.clients, run)
            if attempt and saved:
                node = node_of(self.clients, self.drill, attempt)
                return Chosen(
                    run=run.name, attempt=attempt, node=node, saved_at=saved[0], saved_step=saved[1]
                )
            nothing = (
                f"{run.name} has saved no checkpoint that outlives its node yet, so it would begin anew."
            )
            if not waits and not self.options.yes:
                waits = confirmed(f"{nothing} Wait for the first one?")
            if not waits:
                raise DrillRefused(f"{nothing} Fix: wait, or give --wait.")
            if self.clock() >= deadline:
                raise DrillRefused(
                    f"{nothing} Nothing was interrupted in {self.options.timeout_minutes} minutes."
                )
            self.sleep(LOOK_SECONDS)

    def _question(self, chosen: Chosen) -> str:
        node = chosen.node
        others = f", with all {node.tasks} jobs on it" if node.tasks > 1 else ""
        ago = duration(self.clock() - chosen.saved_at)
        return (
            f"{chosen.run} runs on {node.instance_id} ({node.instance_type}, {node.zone}) and saved step "
            f"{chosen.saved_step} {ago} ago. End that node in two minutes{others}?"
        )

    def _interrupt(self, chosen: Chosen) -> Experiment:
        experiment = None
        mark(self.clients, self.drill, chosen.node)
        try:
            experiment = interrupt(self.clients, self.drill, self.sleep, self._tell)
        finally:
            if experiment is None:
                self._unmark(chosen)
        self._tell(
            f"the notice was sent to {chosen.node.instance_id}, which ends in two minutes ({experiment.id})"
        )
        return experiment

    def _unmark(self, chosen: Chosen) -> None:
        """Whatever went wrong before is what the person has to hear."""
        try:
            unmark(self.clients, self.drill, chosen.node)
        except AwsCallError as error:
            self._tell(
                f"{error} The tag {', '.join(self.drill.mark)} stays on {chosen.node.instance_id}: remove it."
            )

    def _watch(self, chosen: Chosen, experiment: Experiment, deadline: float) -> int:
        sent = experiment.notice_sent or self.clock()
        watch = Watch(
            clients=self.clients,
            stack=self.stack,
            experiment_id=experiment.id,
            notice_sent=sent,
            before=chosen.attempt,
            deadline=deadline,
            sleep=self.sleep,
            tell=self._tell,
            clock=self.clock,
        )
        seen, stopped_watching = watch.until_it_goes_on(chosen.run)
        given = Prices(spot=self.options.spot_price, on_demand=self.options.on_demand_price)
        prices = prices_of(seen.run, self.stack, given)
        verdict = judge(seen, prices, stopped_watching)
        if self.options.json:
            print(
                json.dumps(report.document(chosen.run, chosen.node, experiment.id, seen, verdict), indent=2)
            )
        else:
            print(report.text(chosen.run, chosen.node, seen, verdict))
        return 0 if verdict.passed else 1

    def _tell(self, text: str) -> None:
        """One line, as it happens; the result alone goes to standard output."""
        at = datetime.fromtimestamp(self.clock(), UTC).strftime("%H:%M:%S")
        print(f"{at}  {text}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = verb_parser("drill", __doc__, f"{EXAMPLES}\n\n{textwrap.fill(f'Takes {PERMISSIONS}.', 120)}")
    parser.add_argument(
        "--stack", required=True, help="the stack whose training it is, with interruptionDrill on"
    )
    parser.add_argument(
        "--run", metavar="RUN", help="the run to interrupt (default: the only one that is live on spot)"
    )
    parser.add_argument("--yes", action="store_true", help="interrupt the node without a question")
    parser.add_argument(
        "--wait", action="store_true", help="wait for the first checkpoint where there is none yet"
    )
    parser.add_argument(
        "--timeout-minutes", type=whole_number(5, LONGEST_MINUTES), default=60, metavar="N",
        help=f"stop watching after so long, 5 to {LONGEST_MINUTES} (default: 60)",
    )  # fmt: skip
    add_prices(parser)
    add_profile(parser)
    add_json(parser)
    return parser
