"""Sending dead letters back: what is asked of SQS, what is followed, and what the operator is told."""

import inspect
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from ops import dead_letters, redrive
from ops.aws_calls import AwsCallError
from ops.dead_letters import peek
from ops.redrive import Queues
from ops.stack_outputs import StackOutputs
from tests.ops.answering_client import REGION, answering_client, refusal

DEAD = f"https://sqs.{REGION}.amazonaws.com/111122223333/dead"
QUEUE = f"https://sqs.{REGION}.amazonaws.com/111122223333/events"
QUEUES = Queues(dead_letters=DEAD, queue=QUEUE, region=REGION)


class FakeSqs:
    """Two queues and the tasks that move messages between them; a move takes as many looks as `looks` says."""

    def __init__(self, messages: int = 0) -> None:
        self.messages = [self._message(number) for number in range(messages)]
        self.visible = list(self.messages)
        self.tasks: list[dict[str, Any]] = []
        self.started: list[dict[str, Any]] = []
        self.looks: list[dict[str, Any]] = []
        self.given_back: list[str] = []
        self.client = answering_client(
            "sqs",
            {
                "GetQueueAttributes": self._attributes,
                "StartMessageMoveTask": self._start,
                "ListMessageMoveTasks": self._list,
                "ReceiveMessage": self._receive,
                "ChangeMessageVisibilityBatch": self._give_back,
            },
        )

    @staticmethod
    def _message(number: int) -> dict[str, Any]:
        values = {
            "reason": f"reason {number}",
            "document_key": f"raw/{number}.pdf",
            "failed_at": "2026-12-01T10:00:00Z",
        }
        return {
            "MessageId": f"id-{number}",
            "ReceiptHandle": f"handle-{number}",
            "Body": "{}",
            "Attributes": {"SentTimestamp": str(number)},
            "MessageAttributes": {
                name: {"DataType": "String", "StringValue": value} for name, value in values.items()
            },
        }

    def _attributes(self, QueueUrl: str, AttributeNames: list[str]) -> dict[str, Any]:
        known = {
            "QueueArn": f"arn:aws:sqs:{REGION}:111122223333:{QueueUrl.rpartition('/')[2]}",
            "ApproximateNumberOfMessages": str(len(self.messages)),
            "ApproximateNumberOfMessagesNotVisible": "0",
        }
        return {"Attributes": {name: known[name] for name in AttributeNames}}

    def _start(self, **asked: Any) -> dict[str, Any]:
        self.started.append(asked)
        return {"TaskHandle": "handle"}

    def _list(self, SourceArn: str, MaxResults: int) -> dict[str, Any]:
        if self.started and self.looks:
            self.tasks = [self.looks.pop(0)]
        return {"Results": self.tasks}

    def _receive(self, MaxNumberOfMessages: int, **rest: Any) -> dict[str, Any]:
        taken, self.visible = self.visible[:MaxNumberOfMessages], self.visible[MaxNumberOfMessages:]
        return {"Messages": taken}

    def _give_back(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> None:
        assert all(entry["VisibilityTimeout"] == 0 for entry in Entries)
        self.given_back += [entry["ReceiptHandle"] for entry in Entries]


def task(status: str, moved: int, started: int = 2, **more: Any) -> dict[str, Any]:
    return {
        "Status": status,
        "StartedTimestamp": started,
        "ApproximateNumberOfMessagesMoved": moved,
        "ApproximateNumberOfMessagesToMove": 3,
        **more,
    }


def no_wait(seconds: float) -> None:
    pass


def test_a_move_names_its_destination_and_is_followed_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    sqs = FakeSqs(messages=3)
    sqs.looks = [task("RUNNING", 1), task("RUNNING", 2), task("COMPLETED", 3)]
    assert redrive.run(sqs.client, QUEUES, limit_per_second=7, sleep=no_wait) == 0
    assert sqs.started == [
        {
            "SourceArn": f"arn:aws:sqs:{REGION}:111122223333:dead",
            "DestinationArn": f"arn:aws:sqs:{REGION}:111122223333:events",
            "MaxNumberOfMessagesPerSecond": 7,
        }
    ], "messages that the function sent itself have no source queue to go back to"
    assert not sqs.looks, "the move was not followed to its end"
    assert "Moved 3 messages to events." in capsys.readouterr().out


def test_the_end_of_an_older_move_is_not_taken_for_the_end_of_this_one() -> None:
    sqs = FakeSqs(messages=3)
    old = task("COMPLETED", 9, started=1)
    sqs.tasks = [old]
    sqs.looks = [old, task("RUNNING", 0), task("FAILED", 1, FailureReason="gone")]
    assert redrive.run(sqs.client, QUEUES, sleep=no_wait) == 1


def test_a_move_that_is_under_way_is_followed_instead_of_started(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sqs = FakeSqs(messages=3)
    states = [task("RUNNING", 1), task("CANCELLING", 1), task("CANCELLED", 1)]
    sqs.client = answering_client(
        "sqs",
        {
            "GetQueueAttributes": sqs._attributes,
            "ListMessageMoveTasks": lambda **asked: {"Results": [states.pop(0)]},
        },
    )
    assert redrive.run(sqs.client, QUEUES, sleep=no_wait) == 1
    told = capsys.readouterr().err
    assert "under way already" in told
    assert "ended as CANCELLED after 1 of 3" in told


def test_a_failed_move_tells_the_reason_and_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    sqs = FakeSqs(messages=3)
    sqs.looks = [task("FAILED", 2, FailureReason="AWS.SimpleQueueService.NonExistentQueue")]
    assert redrive.run(sqs.client, QUEUES, sleep=no_wait, as_json=True) == 1
    written = capsys.readouterr()
    assert json.loads(written.out)["status"] == "FAILED"
    assert "NonExistentQueue" in written.err


def test_an_empty_queue_starts_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    sqs = FakeSqs()
    assert redrive.run(sqs.client, QUEUES, sleep=no_wait) == 0
    assert sqs.started == []
    assert "is empty" in capsys.readouterr().out


def test_showing_tells_documents_and_reasons_and_gives_every_message_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sqs = FakeSqs(messages=13)
    assert redrive.show(sqs.client, QUEUES) == 0
    told = capsys.readouterr().out
    assert "holds about 13 messages" in told
    assert all(f"raw/{number}.pdf: reason {number}\n" in told for number in range(13))
    assert sorted(sqs.given_back) == sorted(message["ReceiptHandle"] for message in sqs.messages), (
        "a message that is not given back cannot be moved for a while"
    )
    assert sqs.started == []


def test_a_message_that_comes_twice_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    sqs = FakeSqs(messages=2)
    sqs.visible = [*sqs.messages, *sqs.messages]
    redrive.show(sqs.client, QUEUES, as_json=True)
    shown = json.loads(capsys.readouterr().out)
    assert [letter["message_id"] for letter in shown["shown"]] == ["id-0", "id-1"]


def test_a_key_cannot_write_over_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    sqs = FakeSqs(messages=1)
    sqs.messages[0]["MessageAttributes"]["document_key"]["StringValue"] = "raw/\x1b[2J\ra.pdf"
    redrive.show(sqs.client, QUEUES)
    assert "raw/ [2J a.pdf" in capsys.readouterr().out


def test_looking_is_bounded_even_where_messages_keep_coming() -> None:
    sqs = FakeSqs(messages=30)
    assert len(peek(sqs.client, DEAD, 20)) == 20
    sqs.visible = sqs.messages[:1] * 1000
    assert len(peek(sqs.client, DEAD, 20)) == 1
    assert len(sqs.visible) > 900, "the look would go on for as long as messages come"


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ('{"embed": {"document_key": "raw/a.pdf", "revision": "r", "part": 3}}', "raw/a.pdf"),
        ('{"Records": [{"s3": {"object": {"key": "raw/a+b%C3%A9.txt"}}}]}', "raw/a bé.txt"),
        ("[1]", ""),
        ("no json", ""),
    ],
)
def test_a_letter_without_attributes_is_known_by_its_body(body: str, key: str) -> None:
    sqs = FakeSqs()
    sqs.visible = [{"MessageId": "m", "ReceiptHandle": "h", "Body": body}]
    [letter] = peek(sqs.client, DEAD, 10)
    assert (letter.document_key, letter.reason) == (key, "")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("AccessDenied", "sqs:StartMessageMoveTask"),
        ("UnsupportedOperation", "AWS refused moving the messages: UnsupportedOperation, no."),
    ],
)
def test_a_refused_move_is_a_sentence(code: str, words: str) -> None:
    sqs = FakeSqs(messages=1)

    def refuse(**asked: Any) -> None:
        raise refusal(code)

    client = answering_client(
        "sqs",
        {
            "GetQueueAttributes": sqs._attributes,
            "ListMessageMoveTasks": sqs._list,
            "StartMessageMoveTask": refuse,
        },
    )
    with pytest.raises(AwsCallError, match=words):
        redrive.run(client, QUEUES, sleep=no_wait)


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeSqs], list[tuple[str, str]]]:
    """Lets `main` talk to a fake, and records for which service and region it asked."""

    def connect(sqs: FakeSqs) -> list[tuple[str, str]]:
        asked: list[tuple[str, str]] = []

        def client(service: str, region: str, profile: str | None) -> Any:
            asked.append((service, region))
            return sqs.client

        monkeypatch.setattr(redrive, "aws_client", client)
        return asked

    return connect


def test_the_queues_of_a_stack_are_those_of_its_outputs(
    connected: Callable[[FakeSqs], list[tuple[str, str]]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = connected(FakeSqs())
    outputs = StackOutputs("dev", {"ingestion_dead_letters": DEAD, "ingestion_queue": QUEUE})
    monkeypatch.setattr(redrive, "stack_outputs", lambda stack, **_: outputs)
    assert redrive.main(["--stack", "dev"]) == 0
    assert asked == [("sqs", "eu-central-1")]
    assert "dead is empty" in capsys.readouterr().out


def test_queues_may_be_named_and_tell_their_region(
    connected: Callable[[FakeSqs], list[tuple[str, str]]],
) -> None:
    asked = connected(FakeSqs())
    other = DEAD.replace(REGION, "ap-northeast-1")
    assert redrive.main(["--dead-letter-queue", other, "--queue", QUEUE]) == 0
    assert redrive.main(["--dead-letter-queue", "http://127.0.0.1:5000/1/dead", "--show"]) == 0
    assert asked == [("sqs", "ap-northeast-1"), ("sqs", "")]


def test_a_stack_without_ingestion_is_told_and_not_known_stacks_are_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(redrive, "stack_outputs", lambda stack, **_: StackOutputs(stack, {"bucket": "b"}))
    assert redrive.main(["--stack", "dev"]) == 1
    assert "has no output ingestion_dead_letters" in capsys.readouterr().err
    assert redrive.main(["--stack", "nowhere"]) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--stack", "dev", "--dead-letter-queue", DEAD],
        ["--dead-letter-queue", DEAD],
        ["--stack", "dev", "--limit-per-second", "501"],
        ["--stack", "dev", "--limit-per-second", "0"],
    ],
)
def test_options_that_do_not_fit_are_wrong_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        redrive.main(arguments)
    assert stopped.value.code == 2


def test_the_help_names_a_permission_for_every_call(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        redrive.main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    calls = re.findall(
        r"client\.(\w+?)(?:_batch)?\(", inspect.getsource(redrive) + inspect.getsource(dead_letters)
    )
    assert len(calls) >= 5
    for call in calls:
        action = "".join(word.capitalize() for word in call.split("_"))
        assert f"sqs:{action}" in shown, "the operator is refused only when the move begins"
