"""`python -m ops train`: starts training runs on a stack, and shows, follows and stops them."""

import argparse
import json
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from ops.aws_calls import AwsCallError
from ops.capture.stack_files import StackFileError
from ops.stack_outputs import StackOutputsError
from ops.train.costs import Prices
from ops.train.follow import FOLLOW_SECONDS, Watcher, follow_logs, show_logs
from ops.train.options import parser
from ops.train.request import RequestError, RunRequest, hides_exit_code
from ops.train.runs import read_runs
from ops.train.stack import Clients, TrainingStack, connect
from ops.train.start import start
from ops.train.stop import stop

HIDDEN_EXIT_CODE = (
    "WARNING: this command's launcher hides that a run was interrupted, and the run would end as failed. Fix: copy "
    "gpu_node/checkpoint into the image and put `python -m checkpoint.launch` in front, unless a script of yours does."
)


def main(arguments: Sequence[str], sleep: Callable[[float], None] = time.sleep) -> int:
    """0 when it is done or under way, 1 when a run or the command failed, 2 on wrong usage."""
    options_parser = parser()
    options = options_parser.parse_args(arguments)
    if options.action == "run":
        problem = _problem(options)
        if problem:
            options_parser.error(problem)
    try:
        stack, clients = connect(options.stack, options.profile)
        return ACTIONS[options.action](clients, stack, options, sleep)
    except StackFileError as error:
        print(error, file=sys.stderr)
        return 2
    except (AwsCallError, RequestError, StackOutputsError) as error:
        print(error, file=sys.stderr)
        return 1


def run_name(first: str, now: datetime) -> str:
    """A name that no other run has, unless it starts in the same second."""
    return f"{first}-{now.strftime('%Y%m%d-%H%M%S')}"


def _problem(options: argparse.Namespace) -> str:
    """What two options mean together."""
    try:
        shlex.split(options.command)
    except ValueError as error:
        return f"--command cannot be split into words: {error}"
    if options.nodes > 1 and not options.command:
        return "--nodes needs --command, which torchrun starts"
    return ""


def _run(
    clients: Clients, stack: TrainingStack, options: argparse.Namespace, sleep: Callable[[float], None]
) -> int:
    if options.nodes == 1 and hides_exit_code(options.command):
        print(HIDDEN_EXIT_CODE, file=sys.stderr)
    name = run_name(options.name, datetime.now(UTC))
    request = RunRequest(
        name=name,
        command=options.command,
        image=options.image,
        gpus=options.gpus,
        vcpus=options.vcpus,
        memory_mib=options.memory,
        environment=dict(options.env),
        checkpoint=options.checkpoint or name,
        nodes=options.nodes,
    )
    revision = start(clients, stack, request, on_demand=options.on_demand)
    if options.follow:
        print(f"Started {name}; it goes on if you stop watching.", file=sys.stderr)
        return _watcher(clients, stack, options, sleep).follow(name)
    if options.json:
        print(
            json.dumps({"run": name, "checkpoint": request.checkpoint, "job_definition": revision}, indent=2)
        )
    else:
        print(
            f"Started {name}.\nWatch it: python -m ops train status {name} --stack {options.stack} --follow"
        )
    return 0


def _status(
    clients: Clients, stack: TrainingStack, options: argparse.Namespace, sleep: Callable[[float], None]
) -> int:
    watcher = _watcher(clients, stack, options, sleep)
    return watcher.follow(options.run) if options.follow else watcher.show(options.run)


def _logs(
    clients: Clients, stack: TrainingStack, options: argparse.Namespace, sleep: Callable[[float], None]
) -> int:
    if options.follow and not options.attempt:
        return follow_logs(clients, stack, options.run, lambda: sleep(FOLLOW_SECONDS))
    return show_logs(clients, stack, options.run, options.attempt, as_json=options.json)


def _stop(
    clients: Clients, stack: TrainingStack, options: argparse.Namespace, sleep: Callable[[float], None]
) -> int:
    jobs = stop(clients, stack, options.run, sleep)
    if options.json:
        print(json.dumps({"run": options.run, "ended_jobs": jobs}))
    else:
        print(f"Stopped {options.run}; jobs ended: {', '.join(jobs) or 'none, there was none left'}.")
    return 0


def _list(
    clients: Clients, stack: TrainingStack, options: argparse.Namespace, sleep: Callable[[float], None]
) -> int:
    runs = read_runs(clients, stack, options.most)
    if options.json:
        print(json.dumps([asdict(run) for run in runs], indent=2))
        return 0
    for run in runs:
        began = datetime.fromtimestamp(run.started, UTC).strftime("%Y-%m-%d %H:%M")
        print(f"{began}  {run.status.lower():<9}  {run.name}")
    if not runs:
        print("There are no runs.")
    return 0


def _watcher(
    clients: Clients, stack: TrainingStack, options: argparse.Namespace, sleep: Callable[[float], None]
) -> Watcher:
    prices = Prices(spot=options.spot_price, on_demand=options.on_demand_price)
    return Watcher(clients, stack, prices, as_json=options.json, pause=lambda: sleep(FOLLOW_SECONDS))


ACTIONS = {"run": _run, "status": _status, "logs": _logs, "stop": _stop, "list": _list}
