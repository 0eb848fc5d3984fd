"""A run as text and as JSON. Pure."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from ops.progress import duration
from ops.train.costs import SECONDS_OF_AN_HOUR, Costs, Saves
from ops.train.runs import Run

NOT_KNOWN = "not known"


def headline(run: Run, now: float) -> str:
    """What the run does now, on one line."""
    if run.is_over:
        because = f": {run.error}, {run.cause}" if run.error else ""
        took = duration((run.stopped or now) - run.started)
        return f"{run.name} {run.status.lower()} after {took}{because}"
    if not run.jobs:
        return f"{run.name} is being submitted"
    job = run.jobs[-1]
    if job.waiting_since is not None:
        waits = f" ({job.reason})" if job.reason else ""
        return (
            f"{run.name} waits for {job.capacity} capacity since {duration(now - job.waiting_since)}{waits}"
        )
    if job.attempts and job.attempts[-1].stopped is None:
        since = duration(job.attempts[-1].seconds(now))
        return f"{run.name} runs on {job.capacity} since {since}, attempt {len(run.attempts)}"
    return f"{run.name}: job {job.job_id} is {job.status.lower()}"


def stage(run: Run) -> tuple[Any, ...]:
    """What a person wants to hear about when it changes."""
    job = run.jobs[-1] if run.jobs else None
    return run.status, len(run.jobs), job and job.status, len(run.attempts)


def table(run: Run, saves: Saves, now: float) -> Iterator[str]:
    """The attempts, one a line."""
    for number, attempt in enumerate(run.attempts, 1):
        saved = saves.get(attempt, ())
        step = f", saved step {saved[-1][1]} {duration(attempt.started + attempt.seconds(now) - saved[-1][0])} before" if saved else ""  # fmt: skip
        now_ = ", now" if attempt.stopped is None and saved else ""
        began = datetime.fromtimestamp(attempt.started, UTC).strftime("%Y-%m-%d %H:%M")
        length = duration(attempt.seconds(now))
        yield f"  {number:>3}  {began}  {attempt.capacity:<9}  {length:>10}  {attempt.outcome}{step}{now_}"


def costs_lines(costs: Costs) -> Iterator[str]:
    hours = ", ".join(f"{_hours(paid)} {kind}" for kind, paid in costs.paid_hours.items()) or "none"
    lost = (
        "not known, since the log has no line of the checkpoint helper"
        if costs.lost_hours is None
        else _hours(costs.lost_hours)
    )
    yield f"Hours paid: {hours}. Lost: {lost}. Waited: {_hours(costs.waited_hours)}."
    useful, on_demand = costs.usd_per_useful_hour, costs.on_demand_usd_per_hour
    line = f"Cost: {_usd(costs.usd)}; {_usd(useful)} per useful hour, on-demand {_usd(on_demand)}"
    if useful is not None and on_demand:
        line += f" ({(1 - useful / on_demand) * 100:.0f} % saved)"
    yield f"{line}."
    if costs.prices_from:
        yield f"Prices: {costs.prices_from}."
    if costs.usd is None and costs.paid_hours:
        yield "Give --spot-price and --on-demand-price (USD per node and hour) to know the cost."


def unsaved_seconds(run: Run, saves: Saves, now: float) -> float | None:
    """How long the attempt that runs now has saved nothing; None where none runs."""
    attempt = run.attempts[-1] if run.attempts else None
    if run.is_over or attempt is None or attempt.stopped is not None:
        return None
    return max(0.0, now - max([attempt.started, *(at for at, _ in saves.get(attempt, ()))]))


def staleness_lines(run: Run, saves: Saves, now: float, stale_minutes: int) -> Iterator[str]:
    """Nothing where nothing runs; no verdict where the stack has no limit."""
    unsaved = unsaved_seconds(run, saves, now)
    if unsaved is None:
        return
    line = f"Last checkpoint: {duration(unsaved)} ago" if saves.get(run.attempts[-1]) else f"No checkpoint in the {duration(unsaved)} of this attempt"  # fmt: skip
    if stale_minutes and unsaved > stale_minutes * 60:
        line += f", STALE: the stack's limit is {stale_minutes} min (trainingStaleMinutes)"
    yield f"{line}."


def text(run: Run, saves: Saves, costs: Costs, now: float, stale_minutes: int = 0) -> str:
    """All of it."""
    stale = staleness_lines(run, saves, now, stale_minutes)
    lines = [headline(run, now), *table(run, saves, now), *stale, *costs_lines(costs)]
    return "\n".join(lines)


def document(run: Run, saves: Saves, costs: Costs, now: float, stale_minutes: int = 0) -> dict[str, Any]:
    """All of it, for machines; times are seconds since 1970. `stale` is None where nothing runs or there is no limit."""
    unsaved = unsaved_seconds(run, saves, now)
    stale = None if unsaved is None or not stale_minutes else unsaved > stale_minutes * 60
    checkpoint = {"unsaved_seconds": unsaved, "stale_minutes": stale_minutes, "stale": stale}
    attempts = [
        {
            **asdict(attempt),
            "outcome": attempt.outcome,
            "saved": [list(save) for save in saves.get(attempt, ())],
        }
        for attempt in run.attempts
    ]
    jobs = [{key: value for key, value in asdict(job).items() if key != "attempts"} for job in run.jobs]
    return {
        **asdict(run),
        "jobs": jobs,
        "attempts": attempts,
        "checkpoint": checkpoint,
        "costs": asdict(costs),
    }


def _hours(hours: float) -> str:
    return duration(hours * SECONDS_OF_AN_HOUR)


def _usd(amount: float | None) -> str:
    return NOT_KNOWN if amount is None else f"{amount:.2f} USD"
