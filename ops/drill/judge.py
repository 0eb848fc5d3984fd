"""What a drill has shown: from what was seen of the run to what it lost, and whether it passes. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from components.job_facts import INTERRUPTED_EXIT_CODE
from ops.drill.said import Kind, Said, of_kind
from ops.train.costs import SECONDS_OF_AN_HOUR, Prices
from ops.train.runs import Attempt, Run

NOTICE_SECONDS = 120
MOST_LOST_SECONDS = 60


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The run, the attempt that was interrupted (as it is now), the one after it, and what both have said.

    `wasted` attempts began on the node after it had its notice, and went with it.
    """

    run: Run
    notice_sent: float
    before: Attempt
    said_before: Sequence[Said]
    last_line_before: float | None = None
    after: Attempt | None = None
    said_after: Sequence[Said] = ()
    wasted: int = 0

    @property
    def saved_on_notice(self) -> Said | None:
        """The last save after the notice, where the next node finds it, and not the copy of an earlier one."""
        known = max((one.step for one in self.said_before if one.at < self.notice_sent), default=-1)
        safe = of_kind(self.said_before, Kind.SAFE)
        return next((one for one in reversed(safe) if one.at >= self.notice_sent and one.step > known), None)

    @property
    def left_on_notice(self) -> bool:
        return self.before.exit_code == int(INTERRUPTED_EXIT_CODE)

    @property
    def went_on(self) -> Said | None:
        """The next attempt's word on where it begins."""
        return next(iter(of_kind(self.said_after, Kind.RESUMED, Kind.BEGAN)), None)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Times are seconds since 1970; None where nothing tells. `lost_steps` is estimated where the notice was not heard.

    `seconds_to_resume` run from the notice, `paid_seconds_without_work` are those of both attempts' containers. `faults`
    is empty where the drill passes.
    """

    notice_heard: bool
    saved_step: int | None
    resumed_step: int | None
    resumed_at: float | None
    resumed_on: str
    lost_seconds: float | None
    lost_steps: int | None
    seconds_to_resume: float | None
    paid_seconds_without_work: float | None
    usd: float | None
    faults: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.faults


def judge(seen: Seen, prices: Prices, stopped_watching: str = "") -> Verdict:
    """`stopped_watching` says why nobody looked any longer, where that was before the run went on."""
    heard = seen.left_on_notice or seen.saved_on_notice is not None
    saved = of_kind(seen.said_before, Kind.SAFE)
    went_on = seen.went_on
    resumed = went_on if went_on and went_on.kind is Kind.RESUMED else None
    lost = lost_seconds(seen) if went_on else None
    paid = _paid_without_work(seen, lost)
    return Verdict(
        notice_heard=heard,
        saved_step=saved[-1].step if saved else None,
        resumed_step=resumed.step if resumed else None,
        resumed_at=resumed.at if resumed else None,
        resumed_on=seen.after.capacity if seen.after else "",
        lost_seconds=lost,
        lost_steps=lost_steps(seen) if went_on else None,
        seconds_to_resume=resumed.at - seen.notice_sent if resumed else None,
        paid_seconds_without_work=sum(paid.values()) if paid else None,
        usd=_usd(paid, prices),
        faults=tuple(_faults(seen, heard=heard, lost=lost, stopped_watching=stopped_watching)),
    )


def work_ended(seen: Seen) -> float:
    """When the interrupted attempt did its last work.

    It ends with the save, where that made it leave. A lost host is told late, and lives two minutes after the notice.
    """
    stopped = seen.before.stopped or seen.notice_sent + NOTICE_SECONDS
    if seen.left_on_notice:
        last = seen.saved_on_notice
        return last.at if last else min(stopped, seen.last_line_before or stopped)
    return min(stopped, max(seen.last_line_before or 0.0, seen.notice_sent + NOTICE_SECONDS))


def lost_seconds(seen: Seen) -> float:
    """The work since the state from which the next attempt went on."""
    return max(0.0, work_ended(seen) - _state(seen).at)


def lost_steps(seen: Seen) -> int | None:
    """Known exactly where the last save was that on the notice; else estimated from the pace between the saves."""
    states = [one for one in seen.said_before if one.kind is not Kind.BEGAN]
    if not states:
        return None
    last, lost = states[-1], states[-1].step - _state(seen).step
    idle = max(0.0, work_ended(seen) - last.at)
    if idle == 0:
        return max(0, lost)
    first = states[0]
    if last.at <= first.at or last.step <= first.step:
        return None
    return max(0, lost + round(idle * (last.step - first.step) / (last.at - first.at)))


def _state(seen: Seen) -> Said:
    """When the work first had come as far as the next attempt took it up; without a word of it, when the attempt began."""
    step = seen.went_on.step if seen.went_on else 0
    began = Said(at=seen.before.started, kind=Kind.BEGAN)
    reached = [one for one in seen.said_before if one.step <= step and one.kind is not Kind.BEGAN]
    return max(reached, key=lambda one: one.step, default=began)


def _faults(seen: Seen, *, heard: bool, lost: float | None, stopped_watching: str) -> Iterator[str]:
    went_on = seen.went_on
    if went_on is None:
        yield stopped_watching or _why_over(seen)
    elif went_on.kind is Kind.BEGAN:
        yield "the next attempt found no valid checkpoint, and began anew"
    if seen.wasted:
        yield (
            "the run was tried again on the node that was about to go, which costs one of trainingAttempts. Check that "
            "the node's boot log (its log group, stream INSTANCE_ID/boot) tells of no failure"
        )
    if seen.before.stopped is not None and not heard:
        yield (
            "the run did not hear the notice: nothing was saved after it. Check that the program handles SIGTERM and is not "
            "behind a shell, and the watcher's log (the log group of the nodes, stream INSTANCE_ID/watcher)"
        )
    elif lost is not None and lost >= MOST_LOST_SECONDS:
        yield f"{lost:.0f} s of work were lost, and less than {MOST_LOST_SECONDS} s may be"


def _why_over(seen: Seen) -> str:
    if seen.run.is_over and seen.before.outcome == "done":
        return "the run was done before its node went; take one that has longer to go"
    because = f": {seen.run.error}, {seen.run.cause}" if seen.run.error else ""
    return f"the run did not go on ({seen.before.outcome}; run {seen.run.status.lower()}{because})"


def _paid_without_work(seen: Seen, lost: float | None) -> dict[str, float]:
    """Seconds by capacity: lost work, the rest of the old container's life, and the new one's until it went on."""
    if seen.after is None or seen.went_on is None or lost is None:
        return {}
    old = lost + max(0.0, (seen.before.stopped or seen.after.started) - work_ended(seen))
    paid = {seen.before.capacity: old}
    new = max(0.0, seen.went_on.at - seen.after.started)
    paid[seen.after.capacity] = paid.get(seen.after.capacity, 0.0) + new
    return paid


def _usd(paid: dict[str, float], prices: Prices) -> float | None:
    total = 0.0
    for capacity, seconds in paid.items():
        price = prices.of(capacity)
        if price is None:
            return None
        total += seconds / SECONDS_OF_AN_HOUR * price
    return total if paid else None
