"""The result of a drill as text and as JSON. Pure."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from ops.drill.judge import MOST_LOST_SECONDS, Seen, Verdict
from ops.drill.target import Node
from ops.progress import duration


def text(run: str, node: Node, seen: Seen, verdict: Verdict) -> str:
    """All of it, the verdict last."""
    lines = [f"{run} was interrupted on {node.instance_id} ({node.instance_type}, {node.zone})."]
    lines += _lines(seen, verdict)
    lines.append("PASS" if verdict.passed else "FAIL")
    lines += [f"  - {fault}" for fault in verdict.faults]
    return "\n".join(lines)


def document(run: str, node: Node, experiment_id: str, seen: Seen, verdict: Verdict) -> dict[str, Any]:
    """All of it, for machines."""
    return {
        "run": run,
        "experiment": experiment_id,
        "node": asdict(node),
        "notice_sent": seen.notice_sent,
        "interrupted_attempt": {**asdict(seen.before), "outcome": seen.before.outcome},
        "most_lost_seconds": MOST_LOST_SECONDS,
        **asdict(verdict),
        "passed": verdict.passed,
    }


def _lines(seen: Seen, verdict: Verdict) -> Iterator[str]:
    heard = "heard" if verdict.notice_heard else "not heard"
    yield f"Notice: {heard}. Attempt: {seen.before.outcome}. Last saved step: {_known(verdict.saved_step)}."
    if verdict.resumed_at is not None and verdict.seconds_to_resume is not None:
        yield (
            f"Resumed: from step {verdict.resumed_step} on {verdict.resumed_on}, {duration(verdict.seconds_to_resume)} after "
            "the notice."
        )
    else:
        yield "Resumed: no."
    if verdict.lost_seconds is not None:
        yield f"Work lost: {duration(verdict.lost_seconds)}, {_steps(verdict)}."
    if verdict.paid_seconds_without_work is not None:
        usd = (
            "give --spot-price and --on-demand-price to know its cost"
            if verdict.usd is None
            else f"{verdict.usd:.4f} USD"
        )
        yield f"Paid without work: {duration(verdict.paid_seconds_without_work)} of the containers, {usd}; boot comes on top."


def _steps(verdict: Verdict) -> str:
    if verdict.lost_steps is None:
        return "its steps are not known"
    about = "" if verdict.notice_heard else "about "
    return f"{about}{verdict.lost_steps} step{'' if verdict.lost_steps == 1 else 's'}"


def _known(step: int | None) -> str:
    return "none" if step is None else str(step)
