"""Asking an API over a real socket, measuring it, keeping the run, and comparing it with another."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from ops.aws_calls import AwsCallError
from ops.evaluation import command
from ops.evaluation.api import Api
from ops.evaluation.store import BENCHMARKS, BucketStore, FolderStore, StoreError
from ops.stack_outputs import StackOutputs

REGION = "eu-central-1"
USAGE = {"input_tokens": 1000, "output_tokens": 100, "embedding_tokens": 10}

Reply = tuple[int, dict[str, str], Any]


def found(*documents: str, answer: str = "Two years.") -> Reply:
    sources = [{"document_key": key, "page": 1, "score": 0.5} for key in documents]
    outcome = "answered" if documents else "no_documents"
    body = {"answer": answer, "outcome": outcome, "truncated": False, "sources": sources, "usage": USAGE}
    return 200, {}, {**body, "request_id": "r-1"}


class FakeApi:
    """An API on loopback. `replies` says what each question is answered, one after the other; the last one stays."""

    def __init__(self) -> None:
        self.replies: dict[str, list[Reply]] = {}
        self.asked: list[tuple[str, str, dict[str, Any]]] = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                api.asked.append((self.path, self.headers.get("Authorization", ""), body))
                replies = api.replies[body["query"]]
                status, headers, document = replies.pop(0) if len(replies) > 1 else replies[0]
                data = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def api() -> Iterator[FakeApi]:
    fake = FakeApi()
    thread = threading.Thread(target=fake.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield fake
    fake.server.shutdown()
    thread.join()
    fake.server.server_close()


@pytest.fixture
def evaluate(api: FakeApi, tmp_path: Path) -> Callable[..., int]:
    """Runs the verb over questions, each of which expects raw/<question>.pdf; the run is kept in `tmp_path`."""

    def run(*arguments: str, questions: list[dict[str, Any]] | None = None, name: str = "new") -> int:
        lines = questions or [
            {"question": question, "expected_documents": [f"raw/{question}.pdf"]} for question in api.replies
        ]
        path = tmp_path / "questions.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        place = [] if {"--bucket", "--stack"} & set(arguments) else ["--output", str(tmp_path)]
        return command.main([str(path), "--url", api.url, "--name", name, *place, *arguments])

    return run


def kept(folder: Path, name: str = "new") -> dict[str, Any]:
    return json.loads((folder / "benchmarks" / f"{name}.json").read_text())


def test_a_run_records_what_was_found_and_how_fast(
    api: FakeApi, evaluate: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api.replies = {
        "first": [found("raw/first.pdf", "raw/x.pdf")],
        "third": [found("raw/x.pdf", "raw/x.pdf", "raw/y.pdf", "raw/third.pdf")],
        "none": [found("raw/x.pdf")],
        "silent": [found()],
    }
    assert evaluate("--usd-per-million-input", "3", "--usd-per-million-output", "15") == 0
    run = kept(tmp_path)
    assert [result["rank"] for result in run["results"]] == [1, 3, None, None], (
        "a document that is named twice would count twice"
    )
    summary = run["summary"]
    assert (summary["hit@1"], summary["hit@3"], summary["hit@5"]) == (0.25, 0.5, 0.5)
    assert summary["mrr"] == pytest.approx((1 + 1 / 3) / 4)
    assert summary["tokens"] == {"embedding_tokens": 40, "input_tokens": 4000, "output_tokens": 400}
    assert summary["usd"] == pytest.approx(4 * (0.003 + 0.0015))
    assert summary["outcomes"] == {"answered": 3, "no_documents": 1}
    assert 0 < summary["latency_ms_p50"] <= summary["latency_ms_p95"]
    assert summary["f1"] is None
    written = capsys.readouterr()
    assert re.search(r"^  hit@1 +25\.0 %$", written.out, flags=re.MULTILINE)
    assert re.search(r"^  cost +0\.0180 USD$", written.out, flags=re.MULTILINE)
    assert "Not found (2):" in written.out
    assert "  none: found raw/x.pdf" in written.out
    assert "Questions: 4 of 4" in written.err
    assert api.asked[0][0] == "/v1/query"


def test_models_may_be_named_instead_of_prices_and_a_price_given_wins(
    api: FakeApi, evaluate: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api.replies = {"a": [found("raw/a.pdf")]}
    models = ["--answer-model", "global.anthropic.claude-haiku-4-5-20251001-v1:0"]
    models += ["--embedding-model", "amazon.titan-embed-text-v2:0"]
    assert evaluate(*models, "--usd-per-million-output", "7") == 0
    assert kept(tmp_path)["usd_per_million_tokens"] == {"input": 1, "output": 7, "embedding": 0.02}
    assert evaluate("--answer-model", "some.model", name="other") == 2
    assert "The price of some.model is not known." in capsys.readouterr().err


def test_an_expected_answer_is_compared_word_by_word(
    api: FakeApi, evaluate: Callable[..., int], tmp_path: Path
) -> None:
    api.replies = {"a": [found("raw/a.pdf", answer="It is two years.")]}
    expected = {"question": "a", "expected_documents": ["raw/a.pdf"], "expected_answer": "two years"}
    assert evaluate(questions=[expected]) == 0
    assert kept(tmp_path)["summary"]["f1"] == pytest.approx(2 * 2 / (4 + 2))


def test_only_the_first_documents_count(api: FakeApi, evaluate: Callable[..., int], tmp_path: Path) -> None:
    api.replies = {"a": [found("raw/x.pdf", "raw/y.pdf", "raw/a.pdf")]}
    assert evaluate("--top", "2") == 0
    assert kept(tmp_path)["results"][0]["documents"] == ["raw/x.pdf", "raw/y.pdf"]
    assert kept(tmp_path)["summary"]["mrr"] == 0


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ((500, {}, {"error": {"code": "internal_error", "message": "The service failed."}}), "500: The service failed."),
        ((502, {}, b"<html>"), "answered 502: without a reason"),
        ((200, {}, {"answer": "x"}), "has not the form of /v1/query (KeyError: 'sources')"),
        ((200, {}, b"no json"), "has not the form"),
    ],
)  # fmt: skip
def test_a_failed_question_is_a_miss_is_shown_and_fails_the_run(
    api: FakeApi,
    evaluate: Callable[..., int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    reply: Reply,
    words: str,
) -> None:
    api.replies = {"good": [found("raw/good.pdf")], "bad": [reply]}
    assert evaluate() == 1
    summary = kept(tmp_path)["summary"]
    assert (summary["hit@1"], summary["error_rate"]) == (0.5, 0.5), "failures would make the run look better"
    told = capsys.readouterr().out
    assert "Failed (1):" in told
    assert words in told


def test_an_api_that_nobody_answers_at_is_told(
    evaluate: Callable[..., int], api: FakeApi, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api.replies = {"a": [found()]}
    path = tmp_path / "q.jsonl"
    path.write_text('{"question": "a", "expected_documents": ["raw/a.pdf"]}')
    arguments = [str(path), "--url", "http://127.0.0.1:1", "--output", str(tmp_path), "--name", "x"]
    assert command.main(arguments) == 1
    assert "the API cannot be reached: Failed to establish a new connection" in capsys.readouterr().out


def test_an_api_that_is_full_is_asked_again_when_it_says(api: FakeApi) -> None:
    full: Reply = (503, {"Retry-After": "7"}, {"error": {"code": "busy", "message": "Full."}})
    api.replies = {"a": [full, (429, {}, b""), found("raw/a.pdf")]}
    slept: list[float] = []
    reply = Api(api.url, sleep=slept.append).ask("a")
    assert (reply.documents, reply.attempts, reply.error) == (("raw/a.pdf",), 3, "")
    assert slept == [7, 4]


def test_an_api_that_stays_full_is_given_up(api: FakeApi) -> None:
    api.replies = {"a": [(503, {"Retry-After": "9999"}, {"error": {"message": "Full."}})]}
    slept: list[float] = []
    reply = Api(api.url, sleep=slept.append).ask("a")
    assert reply.error == "the API answered 503: Full."
    assert slept == [30, 30, 30], "a wrong header would hold the run for hours"


def test_the_token_comes_from_the_environment(
    api: FakeApi, evaluate: Callable[..., int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    api.replies = {"a": [found("raw/a.pdf")]}
    monkeypatch.setenv("RAG_TOKEN", "secret-token")
    assert evaluate("--token-env", "RAG_TOKEN") == 0
    assert api.asked[0][1] == "Bearer secret-token"
    assert "secret-token" not in (tmp_path / "benchmarks" / "new.json").read_text()


def test_a_token_that_is_not_set_is_wrong_usage(
    api: FakeApi, evaluate: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    api.replies = {"a": [found()]}
    monkeypatch.delenv("RAG_TOKEN", raising=False)
    assert evaluate("--token-env", "RAG_TOKEN") == 2
    assert api.asked == []


def test_two_runs_are_compared_on_their_common_questions(
    api: FakeApi, evaluate: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"q{number}" for number in range(8)]
    api.replies = {name: [found("raw/x.pdf", f"raw/{name}.pdf")] for name in [*names, "only-old"]}
    assert evaluate(name="old") == 0
    api.replies = {name: [found(f"raw/{name}.pdf")] for name in [*names, "only-new"]}
    capsys.readouterr()
    assert evaluate("--compare", str(tmp_path / "benchmarks" / "old.json"), "--json") == 0
    written = capsys.readouterr()
    comparison = json.loads((tmp_path / "ab-tests" / "new-against-old.json").read_text())
    assert json.loads(written.out)["comparison"] == comparison
    assert (comparison["common_questions"], comparison["only_old"], comparison["only_new"]) == (8, 1, 1)
    rank = comparison["reciprocal_rank"]
    assert (rank["old_mean"], rank["new_mean"], rank["difference"]) == (0.5, 1.0, 0.5)
    assert rank["p_value"] == 2 / 2**8, "all eight better: as extreme are all better and all worse"
    assert rank["exact"]
    assert "more than chance" in written.err
    assert comparison["latency_ms"]["pairs"] == 8


@pytest.mark.parametrize(
    "content", ["no json", "[1]", '{"name": "x"}', '{"name": "../x", "results": [], "summary": {}}']
)
def test_what_is_no_run_cannot_be_compared_and_nothing_is_asked(
    api: FakeApi, evaluate: Callable[..., int], tmp_path: Path, content: str
) -> None:
    api.replies = {"a": [found()]}
    (tmp_path / "other.json").write_text(content)
    assert evaluate("--compare", str(tmp_path / "other.json")) == 1
    assert evaluate("--compare", str(tmp_path / "missing.json")) == 1
    assert api.asked == []


def test_an_earlier_run_is_never_overwritten(
    api: FakeApi, evaluate: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    api.replies = {"a": [found("raw/a.pdf")]}
    assert evaluate() == 0
    assert evaluate() == 1
    assert "is there already. Fix: choose another --name." in capsys.readouterr().err
    assert len(api.asked) == 1, "an hour of questions would be asked before that is said"


def test_a_file_that_comes_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    store.write(BENCHMARKS, "a", {"first": True})
    with pytest.raises(StoreError, match="cannot be written"):
        store.write(BENCHMARKS, "a", {"first": False})
    assert json.loads((tmp_path / "benchmarks" / "a.json").read_text()) == {"first": True}


def test_a_run_in_the_lake_of_a_stack_can_be_compared_from_there(
    api: FakeApi, evaluate: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setattr(
        command, "stack_outputs", lambda stack, **_: StackOutputs(stack, {"bucket": "lake-abc"})
    )
    api.replies = {"a": [found("raw/a.pdf")]}
    with mock_aws():
        s3 = boto3.client("s3", region_name=REGION)
        s3.create_bucket(Bucket="lake-abc", CreateBucketConfiguration={"LocationConstraint": REGION})
        assert evaluate("--stack", "dev", name="old") == 0
        place = "s3://lake-abc/evaluations/benchmarks/old.json"
        assert evaluate("--stack", "dev", "--compare", place, name="new") == 0
        keys = [item["Key"] for item in s3.list_objects_v2(Bucket="lake-abc")["Contents"]]
        assert keys == [
            "evaluations/ab-tests/new-against-old.json",
            "evaluations/benchmarks/new.json",
            "evaluations/benchmarks/old.json",
        ]
        with pytest.raises(StoreError, match="is there already"):
            BucketStore(s3, "lake-abc").check_free(BENCHMARKS, "old")
        with pytest.raises(AwsCallError, match="PreconditionFailed"):
            BucketStore(s3, "lake-abc").write(BENCHMARKS, "old", {})
        assert evaluate("--bucket", "no-such-bucket-of-ours", name="new") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--url", "ftp://host"],
        ["--url", "https://host", "--name", "../x"],
        ["--url", "https://host", "--parallel", "0"],
        ["--url", "https://host", "--usd-per-million-input", "-1"],
        ["--url", "https://host", "--bucket", "b", "--output", "d"],
        [],
    ],
)
def test_options_that_do_not_fit_are_wrong_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(["questions.jsonl", *arguments])
    assert stopped.value.code == 2
