"""Shows a run or its log, once or until the run is over."""

import json
import sys
import time
from collections.abc import Callable

from ops.aws_calls import AwsCallError
from ops.train import logs, view
from ops.train.costs import Prices, costs
from ops.train.prices import prices_of
from ops.train.runs import Run, read_run
from ops.train.stack import Clients, TrainingStack

FOLLOW_SECONDS = 15


class Watcher:
    """Prints the whole of a run to standard output, and what it does meanwhile to standard error."""

    def __init__(
        self,
        clients: Clients,
        stack: TrainingStack,
        prices: Prices,
        *,
        as_json: bool,
        pause: Callable[[], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clients, self._stack, self._prices = clients, stack, prices
        self._as_json, self._pause, self._clock = as_json, pause, clock

    def show(self, name: str) -> int:
        """0 while it runs and once it has succeeded, 1 where it failed."""
        return self._print(read_run(self._clients, self._stack, name))

    def follow(self, name: str) -> int:
        """Until it is over; the same codes. A line for each change, on a terminal one that is kept up to date."""
        terminal, stage = sys.stderr.isatty(), None
        while True:
            run = read_run(self._clients, self._stack, name)
            now, changed = view.headline(run, self._clock()), view.stage(run) != stage
            if terminal:
                sys.stderr.write(f"\r\033[K{now}" if stage is None or not changed else f"\n\r\033[K{now}")
            elif changed:
                print(now, file=sys.stderr)
            sys.stderr.flush()
            stage = view.stage(run)
            if run.is_over:
                if terminal:
                    sys.stderr.write("\n")
                return self._print(run)
            self._pause()

    def _print(self, run: Run) -> int:
        now = self._clock()
        saves = {attempt: logs.saves(self._clients, attempt) for attempt in run.attempts}
        sums = costs(run, saves, prices_of(run, self._stack, self._prices), now)
        if self._as_json:
            document = view.document(run, saves, sums, now, self._stack.stale_minutes)
            print(json.dumps(document, indent=2))
        else:
            print(view.text(run, saves, sums, now, self._stack.stale_minutes))
        return 1 if run.is_over and run.status != "SUCCEEDED" else 0


def show_logs(
    clients: Clients, stack: TrainingStack, name: str, number: int | None, *, as_json: bool = False
) -> int:
    """The log of one attempt, the newest unless `number` counts another from 1."""
    attempts = read_run(clients, stack, name).attempts
    if not attempts:
        raise AwsCallError(f"No attempt of {name} has started yet, so there is no log.")
    if number is not None and number > len(attempts):
        raise AwsCallError(f"{name} has {len(attempts)} attempts, so there is no attempt {number}.")
    attempt = attempts[-1 if number is None else number - 1]
    written, _ = logs.lines(clients, attempt)
    if as_json:
        print(
            json.dumps({"log_group": attempt.log_group, "log_stream": attempt.log_stream, "lines": written})
        )
        return 0
    for line in written:
        print(line)
    return 0


def follow_logs(clients: Clients, stack: TrainingStack, name: str, pause: Callable[[], None]) -> int:
    """From the newest attempt on, whatever each writes until the run is over; 1 where the run failed."""
    shown, token, over = -1, None, False
    while True:
        run = read_run(clients, stack, name)
        for number, attempt in enumerate(run.attempts):
            if number < (shown if shown >= 0 else len(run.attempts) - 1):
                continue
            if number != shown:
                shown, token = number, None
                print(f"Attempt {number + 1} on {attempt.capacity}", file=sys.stderr)
            written, token = logs.lines(clients, attempt, token)
            for line in written:
                print(line, flush=True)
        if over:
            return 0 if run.status == "SUCCEEDED" else 1
        # The last lines come a little after the end: the container's log is sent in batches.
        over = run.is_over
        pause()
