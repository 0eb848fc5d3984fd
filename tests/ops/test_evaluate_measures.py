"""Question files, measures and the paired test, without any request."""

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from ops.evaluation.api import Reply
from ops.evaluation.metrics import Prices, measure, percentile, summarise, token_f1
from ops.evaluation.paired import (
    EXACT_UP_TO,
    bootstrap_interval,
    compare,
    compare_runs,
    permutation_p_value,
)
from ops.evaluation.questions import ExpectedAnswer, QuestionFileError, read_questions
from ops.evaluation.report import comparison_lines, summary_lines

EXPECTED = ExpectedAnswer(question="q", documents=("raw/a.pdf", "raw/b.pdf"), answer="The two years")


def test_a_question_file_is_read_in_its_order(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"question": " one ", "expected_documents": ["raw/a"]}\r\n\r\n'
        b'{"question": "zwei \xc3\xa4", "expected_documents": ["b", "c"], "expected_answer": "x"}'
    )
    assert read_questions(path) == [
        ExpectedAnswer(question="one", documents=("raw/a",)),
        ExpectedAnswer(question="zwei ä", documents=("b", "c"), answer="x"),
    ]


def test_every_fault_of_a_question_file_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(
        b'{"question": "a", "expected_documents": ["x"]}\n'
        b"{\n"
        b"[1]\n"
        b'{"question": " ", "expected_documents": [], "expected_answer": 7, "extra": 1}\n'
        b"\xff\n"
        b'{"question": " a ", "expected_documents": ["x"]}\n'
    )
    with pytest.raises(QuestionFileError) as raised:
        read_questions(path)
    told = str(raised.value).splitlines()
    assert [line.split(":")[0] for line in told] == [
        "q.jsonl, line 2", "q.jsonl, line 3", *["q.jsonl, line 4"] * 4, "q.jsonl, line 5", "q.jsonl, line 6",
    ]  # fmt: skip
    assert "the question of line 1 is asked again" in told[-1], "two runs are paired by their questions"
    assert "extra is not known" in told[2]


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_question_file_shows_what_a_line_looks_like(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(content)
    with pytest.raises(QuestionFileError, match="expected_documents"):
        read_questions(path)
    with pytest.raises(QuestionFileError, match="cannot be read"):
        read_questions(tmp_path / "missing.jsonl")


@pytest.mark.parametrize(
    ("answer", "expected", "f1"),
    [
        ("Two years.", "two years", 1.0),
        ("A year", "the year", 1.0),
        ("two two years", "two years", 0.8),
        ("one month", "two years", 0.0),
        ("", "two years", 0.0),
        ("Größe: 3", "GRÖSSE 3", 1.0),
    ],
)
def test_words_are_compared_without_case_punctuation_and_articles(
    answer: str, expected: str, f1: float
) -> None:
    assert token_f1(answer, expected) == pytest.approx(f1)


def test_the_first_of_several_expected_documents_counts() -> None:
    result = measure(EXPECTED, Reply(latency_ms=1, documents=["x", "raw/b.pdf", "raw/a.pdf"]), 10, Prices())
    assert (result["rank"], result["reciprocal_rank"], result["hit@1"], result["hit@3"]) == (
        2,
        0.5,
        False,
        True,
    )


def test_a_failed_request_found_nothing_and_answered_nothing() -> None:
    result = measure(EXPECTED, Reply(latency_ms=9000, error="down"), 10, Prices(input=1))
    assert (result["rank"], result["f1"], result["usd"], result["error"]) == (None, 0.0, None, "down")
    good = measure(EXPECTED, Reply(latency_ms=100, documents=["raw/a.pdf"], outcome="answered"), 10, Prices())
    summary = summarise([result, good])
    assert summary["latency_ms_p95"] == 100, "a time-out is no latency of an answer"
    assert summary["mrr"] == 0.5


def test_cost_is_not_guessed() -> None:
    assert Prices().cost({"input_tokens": 5}) is None
    assert Prices(output=10).cost({"input_tokens": 5, "output_tokens": 200_000}) == 2


def test_a_run_in_which_everything_failed_can_be_shown() -> None:
    results = [measure(EXPECTED, Reply(latency_ms=1, error="down"), 10, Prices())]
    run = {"name": "n", "url": "u", "top": 10, "summary": summarise(results), "results": results}
    lines = list(summary_lines(run))
    assert "  q: down" in lines
    assert any(line.split() == ["latency", "p50", "-"] for line in lines)


def test_a_long_list_of_misses_is_cut_and_says_so() -> None:
    missed = ExpectedAnswer(question="word " * 50, documents=("x",))
    results = [measure(missed, Reply(latency_ms=1), 10, Prices())] * 30
    run = {"name": "n", "url": "u", "top": 10, "summary": summarise(results), "results": results}
    lines = list(summary_lines(run))
    assert "  and 10 more, in the file of the run" in lines
    assert max(map(len, lines)) < 100


@pytest.mark.parametrize(("percent", "value"), [(50, 50), (95, 95), (100, 100), (1, 1), (0, 1), (99.5, 100)])
def test_a_percentile_is_a_value_that_occurred(percent: float, value: int) -> None:
    assert percentile(random.Random(1).sample(range(1, 101), 100), percent) == value
    assert percentile([], percent) is None


def test_a_small_comparison_tries_every_exchange() -> None:
    differences = [3.0, -1.0, 2.0, 0.0, 4.0]
    unequal = [3.0, -1.0, 2.0, 4.0]
    sums = [
        sum(a * b for a, b in zip(unequal, signs, strict=True))
        for signs in itertools.product((1, -1), repeat=4)
    ]
    expected = sum(abs(value) >= 8 for value in sums) / 16
    assert permutation_p_value(differences) == (expected, True)


def test_runs_that_do_not_differ_are_not_told_apart() -> None:
    assert permutation_p_value([0.0] * 100) == (1.0, True)
    same = compare([1.0, 2.0], [1.0, 2.0])
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)


def test_a_large_comparison_is_sampled_repeatably_and_never_says_zero() -> None:
    differences = [1.0] * 200
    assert permutation_p_value(differences) == (1 / 10_001, False)
    noise = [random.Random(7).gauss(0, 1) for _ in range(1)] + [
        value for number in range(50) for value in (number + 1.0, -(number + 1.0))
    ]
    p_value, exact = permutation_p_value(noise)
    assert not exact
    assert p_value > 0.9
    assert permutation_p_value(noise) == (p_value, exact)


def test_the_sample_agrees_with_all_exchanges() -> None:
    chance = random.Random(3)
    differences = [chance.gauss(0.5, 1) for _ in range(EXACT_UP_TO)]
    exact, is_exact = permutation_p_value(differences)
    # A pair of differences that take each other away nearly always makes it too long to try all.
    sampled, is_sampled_exactly = permutation_p_value([*differences, 1e-12])
    assert is_exact and not is_sampled_exactly
    assert sampled == pytest.approx(exact, abs=0.02)


def test_equal_sums_count_as_equal_whatever_their_last_digits_are() -> None:
    tenths = [1, 2, -3, 3, 1, 2]
    sums = [
        sum(a * b for a, b in zip(tenths, signs, strict=True))
        for signs in itertools.product((1, -1), repeat=6)
    ]
    expected = sum(abs(value) >= 6 for value in sums) / 64
    assert permutation_p_value([number / 10 for number in tenths]) == (expected, True)


def test_the_interval_holds_the_mean_and_grows_with_the_spread() -> None:
    chance = random.Random(5)
    narrow = [1 + chance.gauss(0, 0.1) for _ in range(100)]
    wide = [1 + chance.gauss(0, 1.0) for _ in range(100)]
    low, high = bootstrap_interval(narrow)
    assert low < sum(narrow) / 100 < high
    # Theory: 1.96 standard errors to each side.
    assert high - low == pytest.approx(2 * 1.96 * 0.1 / 10, rel=0.3)
    wide_low, wide_high = bootstrap_interval(wide)
    assert wide_high - wide_low > 5 * (high - low)


def result(question: str, rank: float, latency: float, error: str | None = None) -> dict[str, Any]:
    return {
        "question": question,
        "expected_documents": ["x"],
        "reciprocal_rank": rank,
        "latency_ms": latency,
        "error": error,
    }


def test_failures_count_as_misses_and_their_latency_counts_for_nothing() -> None:
    old = {"name": "old", "results": [result("a", 1, 100), result("b", 1, 100)]}
    new = {"name": "new", "results": [result("b", 0, 9000, "down"), result("a", 1, 90)]}
    comparison = compare_runs(old, new)
    assert comparison["reciprocal_rank"]["difference"] == -0.5
    assert comparison["latency_ms"]["difference"] == -10
    assert comparison["latency_ms"]["pairs"] == 1


def test_runs_without_a_common_question_have_nothing_to_compare() -> None:
    comparison = compare_runs(
        {"name": "old", "results": [result("a", 1, 1)]}, {"name": "new", "results": [result("b", 1, 1)]}
    )
    assert "  reciprocal rank: nothing to compare" in list(comparison_lines(comparison))


def test_questions_that_expect_something_else_than_before_are_told() -> None:
    changed = {**result("a", 1, 1), "expected_documents": ["y"]}
    comparison = compare_runs(
        {"name": "old", "results": [result("a", 1, 1)]}, {"name": "new", "results": [changed]}
    )
    assert any("1 questions expect other documents" in line for line in comparison_lines(comparison))
