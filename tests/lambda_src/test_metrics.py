"""Lines of metrics as CloudWatch reads them, and what tokens cost."""

import json
from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

from rag.metrics import NAMESPACE, emit, emit_answer, emit_failure
from rag.prices import PRICES, cost_usd, price_of
from rag.results import Outcome, Result, Usage

# The rules of the specification, as its page gives them in words and as a schema:
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
UNITS = {
    "Seconds", "Microseconds", "Milliseconds", "Bytes", "Kilobytes", "Megabytes", "Gigabytes", "Terabytes", "Bits",
    "Kilobits", "Megabits", "Gigabits", "Terabits", "Percent", "Count", "Bytes/Second", "Kilobytes/Second",
    "Megabytes/Second", "Gigabytes/Second", "Terabytes/Second", "Bits/Second", "Kilobits/Second", "Megabits/Second",
    "Gigabits/Second", "Terabits/Second", "Count/Second", "None",
}  # fmt: skip
SONNET = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
TITAN = "amazon.titan-embed-text-v2:0"


def check_line(line: str) -> dict[str, Any]:
    """The document in `line`, after each rule of the specification has been looked at."""
    assert len(line.encode()) < 1_000_000 and "\n" not in line
    document = json.loads(line, parse_constant=pytest.fail)
    metadata = document["_aws"]
    assert set(metadata) == {"Timestamp", "CloudWatchMetrics"}
    assert isinstance(metadata["Timestamp"], int) and metadata["Timestamp"] > 1_600_000_000_000, (
        "not in milliseconds"
    )
    assert metadata["CloudWatchMetrics"]
    for directive in metadata["CloudWatchMetrics"]:
        assert set(directive) == {"Namespace", "Dimensions", "Metrics"}
        assert 1 <= len(directive["Namespace"]) <= 1024
        check_dimensions(directive["Dimensions"], document)
        check_metrics(directive["Metrics"], document)
    return document


def check_dimensions(dimensions: Any, document: dict[str, Any]) -> None:
    assert dimensions and all(isinstance(names, list) and len(names) <= 30 for names in dimensions)
    for name in (name for names in dimensions for name in names):
        assert 1 <= len(name) <= 250 and name.isascii() and not name.startswith(":")
        assert isinstance(document[name], str), "a dimension is a text"
        assert 1 <= len(document[name]) <= 1024 and document[name].isprintable()


def check_metrics(metrics: Any, document: dict[str, Any]) -> None:
    assert 1 <= len(metrics) <= 100
    for metric in metrics:
        assert {"Name", "Unit"} <= set(metric) <= {"Name", "Unit", "StorageResolution"}
        assert 1 <= len(metric["Name"]) <= 1024
        assert metric["Unit"] in UNITS
        value = document[metric["Name"]]
        assert isinstance(value, int | float) and not isinstance(value, bool), "a metric is a number"


def result(outcome: Outcome = "answered", truncated: bool = False) -> Result:
    return Result(
        answer="secret",
        outcome=outcome,
        truncated=truncated,
        sources=(),
        usage=Usage(input_tokens=1000, output_tokens=100, embedding_tokens=10),
        stop_reason="end_turn",
        passages=1,
        timings_ms={"embed": 1.5, "search": 2.5, "answer": 3.5},
    )


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[[], dict[str, Any]]:
    return lambda: check_line(capsys.readouterr().out.removesuffix("\n"))


def test_an_answer_gives_times_tokens_cost_and_rates(printed: Callable[[], dict[str, Any]]) -> None:
    emit_answer("orchestrator", result(), 8.04, answer_model_id=SONNET, embedding_model_id=TITAN)
    line = printed()
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert (directive["Namespace"], directive["Dimensions"]) == (NAMESPACE, [["Service"]])
    units = {metric["Name"]: metric["Unit"] for metric in directive["Metrics"]}
    assert {name: line[name] for name in units} == {
        "TotalMilliseconds": 8.0,
        "EmbedMilliseconds": 1.5,
        "SearchMilliseconds": 2.5,
        "AnswerMilliseconds": 3.5,
        "InputTokens": 1000,
        "OutputTokens": 100,
        "EmbeddingTokens": 10,
        "CostUsd": pytest.approx(0.0049502),
        "NoAnswer": 0,
        "NoDocuments": 0,
        "Truncated": 0,
        "Errors": 0,
        "ServerErrors": 0,
    }
    assert (units["SearchMilliseconds"], units["InputTokens"], units["CostUsd"]) == (
        "Milliseconds",
        "Count",
        "None",
    )
    assert (line["Service"], line["answer_model_id"]) == ("orchestrator", SONNET)
    assert "secret" not in json.dumps(line)


@pytest.mark.parametrize(
    ("outcome", "counts"), [("answered", (0, 0)), ("no_answer", (1, 0)), ("no_documents", (0, 1))]
)
def test_outcomes_are_counted_so_that_their_average_is_a_rate(
    printed: Callable[[], dict[str, Any]], outcome: Outcome, counts: tuple[int, int]
) -> None:
    emit_answer("api", result(outcome, truncated=True), 1, answer_model_id=SONNET, embedding_model_id=TITAN)
    line = printed()
    assert ((line["NoAnswer"], line["NoDocuments"]), line["Truncated"]) == (counts, 1)


def test_without_a_price_there_is_no_cost(printed: Callable[[], dict[str, Any]]) -> None:
    emit_answer("api", result(), 1, answer_model_id="own-model", embedding_model_id=TITAN)
    assert "CostUsd" not in printed(), "a wrong sum is worse than none"


@pytest.mark.parametrize(("status", "server_errors"), [(400, 0), (429, 0), (500, 1), (504, 1)])
def test_failures_are_counted_by_code(
    printed: Callable[[], dict[str, Any]], status: int, server_errors: int
) -> None:
    emit_failure("api", "throttled", status, 3)
    line = printed()
    assert (line["Errors"], line["ServerErrors"], line["ErrorCode"]) == (1, server_errors, "throttled")
    by_service, by_code = line["_aws"]["CloudWatchMetrics"]
    assert by_service["Dimensions"] == [["Service"]]
    assert (by_code["Dimensions"], [one["Name"] for one in by_code["Metrics"]]) == (
        [["Service", "ErrorCode"]],
        ["Errors"],
    )


def test_what_is_no_number_is_left_out(
    printed: Callable[[], dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    emit("ingestion", {"Documents": 1, "Rate": nan, "Bound": inf, "Cost": None}, document_key="raw/ü 1.pdf")
    line = printed()
    assert [one["Name"] for one in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]] == ["Documents"]
    assert line["document_key"] == "raw/ü 1.pdf"
    emit("ingestion", {"Rate": nan})
    assert capsys.readouterr().out == "", "a line without a metric is refused"


@pytest.mark.parametrize(
    ("model_id", "expected"),
    [
        ("anthropic.claude-sonnet-4-6", (3, 15)),
        ("global.anthropic.claude-sonnet-4-6", (3, 15)),
        ("us.anthropic.claude-sonnet-4-6", (3.3, 16.5)),
        ("jp.anthropic.claude-sonnet-4-6", (3.3, 16.5)),
        ("amazon.titan-embed-text-v2:0", (0.02, 0)),
        ("eu.cohere.embed-v4:0", (0.12, 0)),
    ],
)
def test_a_profile_in_a_geography_costs_a_tenth_more(model_id: str, expected: tuple[float, float]) -> None:
    price = price_of(model_id)
    assert price and (price.input_usd, price.output_usd) == pytest.approx(expected)


@pytest.mark.parametrize(
    "model_id",
    [
        "",
        "gpt",
        "moon.anthropic.claude-sonnet-4-6",
        "eu.eu.anthropic.claude-sonnet-4-6",
        "arn:aws:bedrock:x:y:z/1",
    ],
)
def test_a_model_that_is_not_in_the_table_has_no_price(model_id: str) -> None:
    assert price_of(model_id) is None
    assert cost_usd(Usage(input_tokens=1), model_id, TITAN) is None
    assert cost_usd(Usage(embedding_tokens=1), TITAN, model_id) is None


def test_a_question_without_documents_costs_its_embedding_alone() -> None:
    assert cost_usd(Usage(embedding_tokens=1_000_000), "own-model", TITAN) == pytest.approx(0.02)


def test_every_price_is_of_a_model_and_above_nothing() -> None:
    for model_id, price in PRICES.items():
        assert "." in model_id and price.input_usd > 0
        assert price.output_usd == 0 or price.output_usd > price.input_usd
