"""What goes back to the queue, what goes to the dead letters, and what they say."""

import json
from typing import Any

import boto3
import pytest

from ingestion import handler
from ingestion.events import EventError
from ingestion.manifest import ManifestError
from ingestion.messages import MAXIMUM_MESSAGE_BYTES
from rag.deadline import Deadline
from rag.errors import ThrottledError, UnavailableError
from tests.lambda_src.fakes import client_error
from tests.lambda_src.ingestion_faults import Fault
from tests.lambda_src.ingestion_world import INGESTION_ENVIRONMENT, World, s3_event, text

KEYS = ["raw/1.txt", "raw/2.txt", "raw/3.txt"]


@pytest.fixture
def world() -> World:
    return World(MAXIMUM_RECEIVES="3")


def record(body: str, number: int = 1, receives: int = 1, **fields: Any) -> dict[str, Any]:
    attributes = {"ApproximateReceiveCount": str(receives)}
    return {"messageId": f"message-{number}", "body": body, "attributes": attributes, **fields}


def failures(world: World, *records: dict[str, Any]) -> list[str]:
    reply = world.invoke({"Records": list(records)})
    return [one["itemIdentifier"] for one in reply["batchItemFailures"]]


def attribute(letter: Any, name: str) -> str:
    return letter.attributes[name]["StringValue"]


def breaks(world: World, key: str, error: Exception) -> None:
    """Reading the document fails from now on."""
    read = world.s3.get_object

    def fail(*, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        if Key == key:
            raise error
        return read(Bucket=Bucket, Key=Key)

    world.s3.get_object = fail


def test_only_the_messages_that_failed_come_back(world: World) -> None:
    for key in KEYS:
        world.put(key, text(1))
    breaks(world, KEYS[1], client_error("SlowDown", 503))
    messages = [record(s3_event(key, "ObjectCreated:Put"), number) for number, key in enumerate(KEYS)]
    assert failures(world, *messages) == ["message-1"], "a good document would be indexed again and again"
    assert world.found(KEYS[2]) == world.expected(KEYS[2])
    assert world.dead_letters == []


def test_what_no_try_can_mend_goes_to_the_dead_letters_at_once_as_it_came(world: World) -> None:
    world.put("raw/bad.txt", b"PK\x03\x04")
    before = {
        "trace": {"stringValue": "abc", "dataType": "String", "stringListValues": []},
        "reason": {"stringValue": "an earlier one", "dataType": "String"},
        "blob": {"binaryValue": "AAE=", "dataType": "Binary"},
    }
    message = record(s3_event("raw/bad.txt", "ObjectCreated:Put"), messageAttributes=before)
    assert failures(world, message) == [], "it would be tried for hours without need"
    (letter,) = world.dead_letters
    assert letter.body == message["body"], "a redrive would send something else"
    assert "ZIP archive" in attribute(letter, "reason")
    assert attribute(letter, "document_key") == "raw/bad.txt"
    assert attribute(letter, "failed_at").endswith("+00:00")
    assert letter.attributes["trace"] == {"StringValue": "abc", "DataType": "String"}
    assert letter.attributes["blob"] == {"BinaryValue": b"\0\x01", "DataType": "Binary"}


@pytest.mark.parametrize("body", ["no json", '{"Records": [{}]}', '{"embed": {}}'])
def test_a_message_that_is_not_ours_goes_to_the_dead_letters(world: World, body: str) -> None:
    assert failures(world, record(body)) == []
    (letter,) = world.dead_letters
    assert attribute(letter, "document_key") == "-", "SQS refuses an empty attribute"


def test_at_its_last_receipt_a_message_takes_its_reason_along(world: World) -> None:
    world.put(KEYS[0], text(1))
    breaks(world, KEYS[0], client_error("SlowDown", 503))
    event = s3_event(KEYS[0], "ObjectCreated:Put")
    assert failures(world, record(event, receives=2)) == ["message-1"]
    assert failures(world, record(event, receives=3)) == []
    (letter,) = world.dead_letters
    assert "SlowDown" in attribute(letter, "reason")


def test_errors_of_others_are_named_without_their_text(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.put(KEYS[0], text(1))
    breaks(world, KEYS[0], RuntimeError("quoted from the document"))
    assert failures(world, record(s3_event(KEYS[0], "ObjectCreated:Put"), receives=3)) == []
    assert attribute(world.dead_letters[0], "reason") == "RuntimeError"
    assert "quoted" not in capsys.readouterr().out


def test_where_the_dead_letters_cannot_be_reached_sqs_moves_the_message_itself(world: World) -> None:
    def refuse(**arguments: Any) -> None:
        raise client_error("ServiceUnavailable", 503)

    world.sqs.send_message = refuse
    assert failures(world, record("no json")) == ["message-1"], "the message is lost"


def test_a_message_with_several_changes_comes_back_while_one_of_them_can_be_helped(world: World) -> None:
    for key in KEYS:
        world.put(key, text(1))
    world.put(KEYS[0], b"PK\x03\x04")
    breaks(world, KEYS[1], client_error("SlowDown", 503))
    changes = [json.loads(s3_event(key, "ObjectCreated:Put"))["Records"][0] for key in KEYS]
    body = json.dumps({"Records": changes})
    assert failures(world, record(body)) == ["message-1"]
    assert world.found(KEYS[2]) == world.expected(KEYS[2]), "one change holds up the others"
    assert failures(world, record(body, receives=3)) == []
    assert "SlowDown" in attribute(world.dead_letters[0], "reason")


def test_dead_letters_keep_to_what_sqs_takes(world: World) -> None:
    before = {f"n{number}": {"stringValue": "x", "dataType": "String"} for number in range(10)}
    body = "x" * (MAXIMUM_MESSAGE_BYTES - 100)
    message = record(body, messageAttributes=before)
    world.tools(Deadline(lambda: 1)).queue.bury(message, "why\0" + "y" * 5000, "raw/a\x01b.txt")
    (letter,) = world.dead_letters
    size = len(letter.body) + sum(
        len(name) + len(value["DataType"]) + len(value["StringValue"].encode())
        for name, value in letter.attributes.items()
    )
    assert size <= MAXIMUM_MESSAGE_BYTES
    assert attribute(letter, "document_key") == "raw/a\ufffdb.txt"
    world.tools(Deadline(lambda: 1)).queue.bury(record("{}", messageAttributes=before), "why\0", "raw/a.txt")
    assert len(world.dead_letters[1].attributes) == 10
    assert attribute(world.dead_letters[1], "reason") == "why\ufffd"


def test_parts_that_the_queue_did_not_take_are_sent_again(world: World) -> None:
    world.put(KEYS[0], text(30))
    world.sqs.refuse = {"3", "12"}
    world.deliver(world.messages[0])
    parts = sorted(json.loads(message.body)["embed"]["part"] for message in world.messages)
    assert parts == list(range(15)), "the document is never finished"


def test_a_queue_that_takes_nothing_lets_the_event_come_back(world: World) -> None:
    world.put(KEYS[0], text(30))
    world.sqs.send_message_batch = lambda **arguments: {
        "Failed": [{"Id": entry["Id"]} for entry in arguments["Entries"]]
    }
    world.deliver(world.messages[0])
    assert len(world.messages) == 1


def test_a_message_that_meets_a_run_at_work_comes_back_without_an_alarm(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.put(KEYS[0], text(3))
    world.deliver(world.messages[0])
    part = world.messages[0]
    world.deliver(part, Fault(pause_at=10, meanwhile=lambda: world.deliver(part)))
    written = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    busy = [line for line in written if line.get("error_type") == "BusyError"]
    assert [line["level"] for line in busy] == ["INFO"]
    assert not any(line.get("Errors") for line in written), "an alarm goes off for nothing"


def test_failures_are_counted_by_their_code(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    failures(world, record("no json"))
    written = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (metric,) = [line for line in written if line.get("Errors")]
    assert (metric["Service"], metric["ErrorCode"]) == ("ingestion", "not_a_notification")


@pytest.mark.parametrize("event", [None, [], {}, {"query": "hi"}, {"Records": 7}])
def test_an_event_that_is_no_batch_is_an_error(world: World, event: Any) -> None:
    with pytest.raises(EventError):
        world.invoke(event)


def test_only_faults_of_document_and_message_are_permanent() -> None:
    assert ManifestError in handler.PERMANENT
    for passing in (ThrottledError, UnavailableError):
        assert not issubclass(passing, handler.PERMANENT)


def test_clients_are_made_at_the_first_call_with_time_outs_of_our_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: dict[str, Any] = {}

    def client(service: str, **options: Any) -> Any:
        made[service] = options["config"]
        return object()

    for name, value in {
        **INGESTION_ENVIRONMENT,
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(boto3, "client", client)
    handler.tools_factory.cache_clear()
    factory = handler.tools_factory()
    assert set(made) == {"s3", "sqs"}
    for config in made.values():
        assert (config.connect_timeout, config.read_timeout) == (2, 20), (
            "a lost connection takes the whole run"
        )
    first, second = (factory(Deadline(lambda: 60)) for _ in range(2))
    assert first.embedder.pacer is second.embedder.pacer, "each run begins with a surge"
    assert first.embedder.texts_per_call == 1
    assert handler.tools_factory() is factory
    handler.tools_factory.cache_clear()
