"""A run and a comparison as lines for people. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ops.evaluation.metrics import HIT_RANKS

MOST_LISTED = 20
LONGEST_QUESTION = 60
# A difference is called one when chance would bring about as large a one in less than so many runs of a hundred.
SIGNIFICANT_PERCENT = 5


def summary_lines(run: Mapping[str, Any]) -> Iterator[str]:
    """The table of a run, then what failed and what was not found."""
    summary = run["summary"]
    yield f"{run['name']}: {summary['questions']} questions to {run['url']}"
    rows = [(f"hit@{k}", _share(summary[f"hit@{k}"])) for k in HIT_RANKS]
    rows += [
        (f"MRR (first {run['top']})", _number(summary["mrr"], 3)),
        ("F1 of answers", _number(summary["f1"], 3)),
        ("latency p50", _milliseconds(summary["latency_ms_p50"])),
        ("latency p95", _milliseconds(summary["latency_ms_p95"])),
        *((name.replace("_", " "), str(count)) for name, count in summary["tokens"].items()),
        ("cost", _usd(summary["usd"], 4)),
        ("cost of a question", _usd(summary["usd_per_question"], 6)),
        *((f"outcome {name}", str(count)) for name, count in summary["outcomes"].items()),
        ("failed requests", _share(summary["error_rate"])),
    ]
    yield from _aligned(rows)
    yield from _listed("Failed", [one for one in run["results"] if one["error"]], lambda one: one["error"])
    yield from _listed(
        "Not found",
        [one for one in run["results"] if not one["error"] and not one["rank"]],
        lambda one: f"found {', '.join(one['documents']) or 'nothing'}",
    )


def comparison_lines(comparison: Mapping[str, Any]) -> Iterator[str]:
    """The two tests, each with what it means."""
    common = comparison["common_questions"]
    yield f"{comparison['new']} against {comparison['old']}: {common} common questions"
    for side in ("old", "new"):
        if comparison[f"only_{side}"]:
            yield f"  {comparison[f'only_{side}']} questions of {comparison[side]} alone are left out"
    if comparison["other_expectations"]:
        yield f"  {comparison['other_expectations']} questions expect other documents than before"
    yield from _test_lines("reciprocal rank", comparison["reciprocal_rank"], 3, "")
    yield from _test_lines("latency", comparison["latency_ms"], 0, " ms")


def _test_lines(title: str, test: Mapping[str, Any] | None, digits: int, unit: str) -> Iterator[str]:
    if test is None:
        yield f"  {title}: nothing to compare"
        return
    change = f"{test['difference']:+.{digits}f}{unit}"
    interval = f"{test['low']:+.{digits}f} to {test['high']:+.{digits}f}{unit}"
    way = "exact" if test["exact"] else "sampled"
    yield (
        f"  {title}: {test['old_mean']:.{digits}f}{unit} -> {test['new_mean']:.{digits}f}{unit}, "
        f"{change} (95 %: {interval}), p = {test['p_value']:.4f} ({way}, {test['pairs']} pairs)"
    )
    real = test["p_value"] * 100 < SIGNIFICANT_PERCENT
    yield f"    {'more than chance' if real else 'no more than chance would bring about'}"


def _listed(title: str, results: Sequence[Mapping[str, Any]], say: Any) -> Iterator[str]:
    if not results:
        return
    yield f"{title} ({len(results)}):"
    for result in results[:MOST_LISTED]:
        question = result["question"]
        short = question if len(question) <= LONGEST_QUESTION else question[: LONGEST_QUESTION - 1] + "…"
        yield f"  {short}: {say(result)}"
    if len(results) > MOST_LISTED:
        yield f"  and {len(results) - MOST_LISTED} more, in the file of the run"


def _aligned(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    widest = max(len(name) for name, _ in rows)
    values = max(len(value) for _, value in rows)
    for name, value in rows:
        yield f"  {name:<{widest}}  {value:>{values}}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.1f} %"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f} ms"


def _usd(value: float | None, digits: int) -> str:
    return "not known" if value is None else f"{value:.{digits}f} USD"
