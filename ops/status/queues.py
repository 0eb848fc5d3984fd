"""The queue of ingestion and its dead letters."""

from collections.abc import Iterator
from typing import Any

from ops.progress import duration
from ops.status.metrics import newest_values
from ops.status.sections import Area, Deployed, Line, Part, absent, judged

# A document that waits longer than this is not being worked on.
LONGEST_WAIT_SECONDS = 3600
LOOK_BACK_HOURS = 3
PERIOD_SECONDS = 300
COUNTS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


def area() -> Area:
    actions = ("sqs:GetQueueAttributes", "cloudwatch:GetMetricData")
    return Area(title="Ingestion", actions=actions, read=_read)


def _read(deployed: Deployed) -> Iterator[Line | Part]:
    if not deployed.has("ingestion_queue"):
        yield absent("not in this stack")
        return
    queue, dead = (deployed.outputs.text(f"ingestion_{name}") for name in ("queue", "dead_letters"))
    yield Part(lambda: [_dead_letters(deployed, dead)])
    yield Part(lambda: _queue(deployed, queue))


def _dead_letters(deployed: Deployed, url: str) -> Line:
    lying = sum(_counts(deployed, url).values())
    if not lying:
        return judged(True, "no dead letters", dead_letters=0)
    fix = f"python -m ops redrive --stack {deployed.outputs.stack} --show"
    return judged(False, f"about {lying} dead letters. See why: {fix}", dead_letters=lying)


def _queue(deployed: Deployed, url: str) -> Iterator[Line]:
    """The depth first, which stands where the age may not be read."""
    waiting, worked_on, delayed = _counts(deployed, url).values()
    more = f", {delayed} delayed" if delayed else ""
    facts = {"waiting": waiting, "in_work": worked_on, "delayed": delayed}
    yield judged(True, f"about {waiting} messages waiting, {worked_on} in work{more}", **facts)
    age = _age_seconds(deployed, url) if waiting or worked_on else 0.0
    if age is None:
        yield judged(True, "CloudWatch has no age of the oldest message yet", oldest_seconds=None)
    elif age:
        late = age > LONGEST_WAIT_SECONDS
        why = "the stack is asleep" if deployed.asleep else "ingestion does not keep up, or has stopped"
        text = f"the oldest is {duration(age)} old{f': {why}' if late else ''}"
        yield judged(not late or deployed.asleep, text, oldest_seconds=age)


def _counts(deployed: Deployed, url: str) -> dict[str, int]:
    """The numbers come as texts."""
    answer: Any = deployed.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=list(COUNTS))
    attributes = answer.get("Attributes", {})
    return {name: int(attributes[name]) for name in COUNTS}


def _age_seconds(deployed: Deployed, url: str) -> float | None:
    metric = {
        "Namespace": "AWS/SQS",
        "MetricName": "ApproximateAgeOfOldestMessage",
        "Dimensions": [{"Name": "QueueName", "Value": url.rpartition("/")[2]}],
    }
    return newest_values(deployed, [metric], "Maximum", PERIOD_SECONDS, LOOK_BACK_HOURS)[0]
