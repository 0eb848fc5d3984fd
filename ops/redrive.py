"""`python -m ops redrive`: sends the dead letters of ingestion back into their queue, or shows why they died.

Fix the cause first: a document that cannot be read dies again.
"""

import argparse
import json
import re
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ops.aws_calls import AwsCallError, aws_client, is_denied, told
from ops.capture.stack_files import StackFileError
from ops.command_line import add_json, add_profile, verb_parser, whole_number
from ops.dead_letters import message_count, peek, table
from ops.progress import Progress
from ops.stack_outputs import StackOutputsError, stack_outputs, stack_region

# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html
MAX_PER_SECOND = 500
PERMISSIONS = (
    "sqs:StartMessageMoveTask, sqs:ListMessageMoveTasks, sqs:ReceiveMessage, sqs:DeleteMessage, sqs:GetQueueAttributes "
    "and sqs:SendMessage"
)
PERMISSIONS_TO_SHOW = "sqs:ReceiveMessage, sqs:ChangeMessageVisibility and sqs:GetQueueAttributes"
EXAMPLES = """examples:
  python -m ops redrive --stack prod --show                  # why they died; moves nothing
  python -m ops redrive --stack prod --limit-per-second 5

exit code: 0 all were shown or moved, 1 something failed or was left behind, 2 wrong usage"""
POLL_SECONDS = 2
MAX_SHOWN = 100
RUNNING = ("RUNNING", "CANCELLING")


@dataclass(frozen=True, kw_only=True)
class Queues:
    """Where the dead letters lie and where they go; URLs of two standard queues."""

    dead_letters: str
    queue: str
    region: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a move ended. `moved` and `to_move` are approximate, as SQS counts them."""

    status: str
    moved: int
    to_move: int
    reason: str = ""


def main(arguments: Sequence[str]) -> int:
    """0 when all was moved or shown, 1 when something failed or was left behind, 2 on wrong usage."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if bool(options.stack) == bool(options.dead_letter_queue):
        parser.error("give either --stack, or --dead-letter-queue and --queue")
    if options.dead_letter_queue and not (options.queue or options.show):
        parser.error("--dead-letter-queue needs --queue, where the messages go")
    try:
        queues = _queues(options)
        client = aws_client("sqs", queues.region, options.profile)
        if options.show:
            return show(client, queues, as_json=options.json)
        return run(client, queues, limit_per_second=options.limit_per_second, as_json=options.json)
    except StackFileError as error:
        print(error, file=sys.stderr)
        return 2
    except (AwsCallError, StackOutputsError) as error:
        print(error, file=sys.stderr)
        return 1


def run(
    client: Any,
    queues: Queues,
    *,
    limit_per_second: int | None = None,
    as_json: bool = False,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Moves everything, or follows a move that is under way already, until SQS says that it is over."""
    source, destination = (_arn(client, url) for url in (queues.dead_letters, queues.queue))
    lying = message_count(client, queues.dead_letters)
    before = _latest(client, source)
    if before is not None and before["Status"] in RUNNING:
        print("A move is under way already; following it.", file=sys.stderr)
        before = None
    elif lying == 0:
        return _finish(Outcome(status="EMPTY", moved=0, to_move=0), queues, as_json)
    else:
        _start(client, source, destination, limit_per_second)
    print(
        f"From {_name(queues.dead_letters)} to {_name(queues.queue)}; SQS goes on if you stop.",
        file=sys.stderr,
    )
    return _finish(_follow(client, source, before, lying, sleep), queues, as_json)


def show(client: Any, queues: Queues, *, as_json: bool = False) -> int:
    """What lies in the dead-letter queue and why, without moving anything."""
    lying = message_count(client, queues.dead_letters)
    letters = peek(client, queues.dead_letters, MAX_SHOWN)
    if as_json:
        document = {"dead_letter_queue": queues.dead_letters, "messages": lying}
        print(json.dumps({**document, "shown": [asdict(letter) for letter in letters]}, indent=2))
        return 0
    print(f"{_name(queues.dead_letters)} holds about {lying} messages.")
    for line in table(letters):
        print(line)
    if lying > len(letters):
        print(f"Shown are {len(letters)} of them.")
    return 0


def _start(client: Any, source: str, destination: str, limit_per_second: int | None) -> None:
    """A destination is always named: what the function sent to the dead letters itself has no source queue."""
    from botocore.exceptions import ClientError

    rate = {"MaxNumberOfMessagesPerSecond": limit_per_second} if limit_per_second else {}
    with told("moving the messages"):
        try:
            client.start_message_move_task(SourceArn=source, DestinationArn=destination, **rate)
        except ClientError as error:
            if is_denied(error):
                raise AwsCallError(
                    f"You may not move messages from {source} to {destination}. Fix: allow {PERMISSIONS} on the two queues."
                ) from error
            raise


def _follow(client: Any, source: str, before: Any, lying: int, sleep: Callable[[float], None]) -> Outcome:
    """Waits for the newest task to end; `before` is the one that was the newest before ours was started."""
    with Progress("Moved", lying) as progress:
        while True:
            task = _latest(client, source)
            is_ours = task is not None and (
                before is None or task.get("StartedTimestamp") != before.get("StartedTimestamp")
            )
            if task is not None and is_ours:
                moved = task.get("ApproximateNumberOfMessagesMoved", 0)
                progress.reach(moved)
                if task["Status"] not in RUNNING:
                    return Outcome(
                        status=task["Status"],
                        moved=moved,
                        to_move=task.get("ApproximateNumberOfMessagesToMove", moved),
                        reason=task.get("FailureReason", ""),
                    )
            sleep(POLL_SECONDS)


def _finish(outcome: Outcome, queues: Queues, as_json: bool) -> int:
    complete = outcome.status in ("COMPLETED", "EMPTY")
    if as_json:
        document = {"dead_letter_queue": queues.dead_letters, "queue": queues.queue, **asdict(outcome)}
        print(json.dumps(document, indent=2))
    elif outcome.status == "EMPTY":
        print(f"{_name(queues.dead_letters)} is empty; there is nothing to move.")
    elif complete:
        print(f"Moved {outcome.moved} messages to {_name(queues.queue)}.")
    if not complete:
        reason = f" ({outcome.reason})" if outcome.reason else ""
        print(
            f"The move ended as {outcome.status}{reason} after {outcome.moved} of {outcome.to_move} messages. "
            "Fix: run it again; what was moved stays moved.",
            file=sys.stderr,
        )
    return 0 if complete else 1


def _latest(client: Any, source: str) -> dict[str, Any] | None:
    with told("listing the moves of the dead-letter queue"):
        results = client.list_message_move_tasks(SourceArn=source, MaxResults=1).get("Results", [])
    return results[0] if results else None


def _arn(client: Any, url: str) -> str:
    with told(f"reading the queue {url}"):
        return client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"][
            "QueueArn"
        ]


def _name(url: str) -> str:
    return url.rpartition("/")[2]


def _queues(options: argparse.Namespace) -> Queues:
    if not options.stack:
        found = re.search(r"//sqs\.([a-z0-9-]+)\.", options.dead_letter_queue)
        region = found[1] if found else ""
        return Queues(dead_letters=options.dead_letter_queue, queue=options.queue or "", region=region)
    region = stack_region(options.stack)
    instead = "name the queues with --dead-letter-queue and --queue"
    outputs = stack_outputs(options.stack, instead=instead)
    return Queues(
        dead_letters=outputs.text("ingestion_dead_letters"),
        queue=outputs.text("ingestion_queue"),
        region=region,
    )


def _parser() -> argparse.ArgumentParser:
    permissions = (
        f"Without --show everything is moved by SQS itself; that takes {PERMISSIONS}. "
        f"With --show it takes {PERMISSIONS_TO_SHOW}."
    )
    parser = verb_parser("redrive", __doc__, f"{EXAMPLES}\n\n{textwrap.fill(permissions, 120)}")
    parser.add_argument("--stack", help="the stack whose ingestion it is; Pulumi tells its queues")
    parser.add_argument("--dead-letter-queue", metavar="URL", help="the queue to empty, instead of --stack")
    parser.add_argument(
        "--queue", metavar="URL", help="the queue to send to, with --dead-letter-queue; not needed for --show"
    )
    parser.add_argument("--show", action="store_true", help="show reasons and documents, and move nothing")
    parser.add_argument(
        "--limit-per-second",
        type=whole_number(1, MAX_PER_SECOND),
        metavar="N",
        help=f"messages a second, 1 to {MAX_PER_SECOND} (default: SQS decides)",
    )
    add_profile(parser)
    add_json(parser)
    return parser
