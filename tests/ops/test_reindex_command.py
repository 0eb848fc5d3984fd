"""The command line of `python -m ops reindex`, how functions are called, and what their failures become."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from ops.aws_calls import AwsCallError
from ops.parallel import in_parallel
from ops.reindex import command
from ops.reindex.functions import ATTEMPTS, FunctionError, Functions
from ops.reindex.pause import EventSource
from ops.reindex.prices import GIB, embedding_usd, retrieval_usd
from ops.reindex.procedure import Order, RefusedError
from ops.stack_outputs import StackOutputs, StackOutputsError
from tests.ops.answering_client import answering_client, refusal

OUTPUTS = StackOutputs("dev", {"ingestion_function": "ingest", "vector_index_function": "keep-index"})
VARIABLES = {
    "DATA_LAKE_BUCKET": "lake-abc",
    "QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/111122223333/events",
    "INDEX_ALIAS": "documents",
    "COLLECTION_GENERATION": "CLASSIC",
    "EMBEDDING_MODEL_ID": "cohere.embed-v4:0",
    "EMBEDDING_DIMENSIONS": "1536",
    "CHUNK_TOKENS": "400",
    "EMBEDDING_TOKENS_PER_MINUTE": "75000",
}


def functions(answer: Callable[[], dict[str, Any]], slept: list[float] | None = None) -> Functions:
    client = answering_client("lambda", {"Invoke": lambda **asked: answer()})
    return Functions(client, "ingest", "keep-index", (slept if slept is not None else []).append)


def payload(document: Any, **more: Any) -> dict[str, Any]:
    return {"Payload": io.BytesIO(json.dumps(document).encode()), **more}


def test_what_a_function_raised_is_told_as_its_own_sentence() -> None:
    failed = functions(lambda: payload({"errorMessage": "Task timed out."}, FunctionError="Unhandled"))
    with pytest.raises(FunctionError, match="^ingest failed: Task timed out.$"):
        failed.reindex(document_key="raw/a", index="i", part=0, re_embed=False)


@pytest.mark.parametrize("code", ["throttled", "unavailable", "upstream_timeout"])
def test_a_passing_failure_is_tried_again_with_growing_pauses_and_then_told(code: str) -> None:
    slept: list[float] = []
    failing = functions(lambda: payload({"error": {"code": code, "message": "Not now."}}), slept)
    with pytest.raises(FunctionError, match=f"gave up after {ATTEMPTS} tries: Not now."):
        failing.vector_index(action="count", index="i")
    assert slept == [2, 4, 8, 16, 32]


def test_a_lasting_failure_is_told_at_once() -> None:
    slept: list[float] = []
    failing = functions(lambda: payload({"error": {"code": "archived", "message": "Restore it."}}), slept)
    with pytest.raises(FunctionError, match="ingest failed: Restore it."):
        failing.reindex(document_key="raw/a", index="i", part=0, re_embed=False)
    assert slept == []


def test_a_passing_failure_that_passes_is_not_seen() -> None:
    answers: list[Callable[[], dict[str, Any]]] = [
        lambda: payload({"error": {"code": "throttled", "message": "Not now."}}),
        lambda: payload({"documents": 3}),
    ]
    assert functions(lambda: answers.pop(0)()).vector_index(action="count", index="i") == {"documents": 3}


def test_a_refused_call_is_a_sentence() -> None:
    def refuse() -> dict[str, Any]:
        raise refusal("AccessDeniedException", "not you")

    with pytest.raises(AwsCallError, match="AWS refused calling the function keep-index: AccessDenied"):
        functions(refuse).vector_index(action="count", index="i")


@pytest.mark.parametrize("lacking", sorted(VARIABLES))
def test_a_function_of_an_older_deployment_is_told(lacking: str) -> None:
    variables = {name: value for name, value in VARIABLES.items() if name != lacking}
    reply = {"Environment": {"Variables": variables}, "Timeout": 300}
    client = answering_client("lambda", {"GetFunctionConfiguration": lambda **asked: reply})
    with pytest.raises(AwsCallError, match=f"{lacking}.*pulumi up"):
        Functions(client, "ingest", "keep-index").facts()


def test_a_function_without_an_event_source_is_told() -> None:
    client = answering_client(
        "lambda", {"ListEventSourceMappings": lambda **asked: {"EventSourceMappings": []}}
    )
    with pytest.raises(AwsCallError, match="no event source mapping"):
        EventSource(client, "ingest")


def test_the_first_error_drops_what_was_not_begun() -> None:
    begun: list[int] = []

    def fail(number: int) -> None:
        begun.append(number)
        raise ValueError

    with pytest.raises(ValueError):
        in_parallel(fail, range(1000), 1)
    assert len(begun) < 1000


def test_results_keep_the_order_of_their_items() -> None:
    assert in_parallel(lambda number: number * 2, range(50), 8) == [number * 2 for number in range(50)]


def test_prices_follow_size_number_and_model() -> None:
    assert retrieval_usd("GLACIER", "Standard", 2000, 10 * GIB, 30) == pytest.approx(0.1 + 0.1 + 0.23)
    assert retrieval_usd("GLACIER", "Bulk", 2000, 10 * GIB, 0) == 0
    assert retrieval_usd("DEEP_ARCHIVE", "Bulk", 1000, 100 * GIB, 0) == pytest.approx(0.275)
    assert embedding_usd("eu.cohere.embed-v4:0", 2_000_000) == pytest.approx(0.24)
    assert embedding_usd("amazon.titan-embed-text-v2:0", 1_000_000) == pytest.approx(0.02)
    assert embedding_usd("some.other-model", 1) is None


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """Lets `main` reach clients that know the function's set-up; keeps with which settings each was made."""
    made: dict[str, dict[str, Any]] = {}
    reply = {"Environment": {"Variables": VARIABLES}, "Timeout": 300}

    def client(service: str, region: str, profile: str | None, **config: Any) -> Any:
        made[service] = {"region": region, **config}
        return answering_client(service, {"GetFunctionConfiguration": lambda **asked: reply})

    monkeypatch.setattr(command, "aws_client", client)
    monkeypatch.setattr(command, "stack_outputs", lambda stack: OUTPUTS)
    return made


def test_options_become_an_order_and_the_result_json(
    connected: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    orders: list[Order] = []

    def fake(platform: command.Platform, order: Order) -> dict[str, Any]:
        orders.append(order)
        platform.say("for people")
        return {"done": False}

    monkeypatch.setattr(command, "reindex", fake)
    arguments = (
        "--stack dev --index documents-2 --glacier restore --restore-tier standard --parallel 3 --yes --json"
    )
    assert command.main(arguments.split()) == 1, "a script would take a restore for a finished index"
    [order] = orders
    assert (order.tier, order.runs, order.sure) == ("Standard", 3, True)
    written = capsys.readouterr()
    assert json.loads(written.out) == {"done": False}
    assert "for people" in written.err
    assert {settings["region"] for settings in connected.values()} == {"eu-central-1"}
    assert connected["lambda"]["retries"]["total_max_attempts"] == 1, "a part would be made twice at once"
    assert connected["lambda"]["read_timeout"] > 900, "a long run would be given up while it works"


def test_an_old_index_is_deleted_by_its_own_option(
    connected: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted: list[tuple[str, bool]] = []

    def fake(platform: command.Platform, index: str, *, sure: bool) -> dict[str, Any]:
        deleted.append((index, sure))
        return {"done": True}

    monkeypatch.setattr(command, "delete_index", fake)
    assert command.main(["--stack", "dev", "--delete-old", "documents-1"]) == 0
    assert deleted == [("documents-1", False)]


@pytest.mark.parametrize("error", [RefusedError("no"), AwsCallError("no"), StackOutputsError("no")])
def test_failures_are_sentences_without_a_trace(
    connected: dict[str, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
) -> None:
    def fail(*arguments: Any) -> dict[str, Any]:
        raise error

    monkeypatch.setattr(command, "reindex", fail)
    assert command.main(["--stack", "dev", "--index", "documents-2"]) == 1
    assert capsys.readouterr().err == "no\n"


def test_an_unknown_stack_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--stack", "nowhere", "--index", "documents-2"]) == 2
    assert "Pulumi.nowhere.yaml" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        "--stack dev",
        "--stack dev --index Documents",
        "--stack dev --index a --delete-old b",
        "--stack dev --index a --parallel 0",
        "--index a",
    ],
)
def test_options_that_do_not_fit_are_wrong_usage(arguments: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(arguments.split())
    assert stopped.value.code == 2
