"""Follows a run from the notice until it goes on elsewhere, and tells what happens meanwhile."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ops.aws_calls import AwsCallError
from ops.drill.experiment import look
from ops.drill.judge import Seen
from ops.drill.place import DrillClients, DrillRefused
from ops.drill.said import Kind, Said, last_line_at, of_kind, said
from ops.progress import duration
from ops.train.runs import Attempt, Run, read_run
from ops.train.stack import TrainingStack
from ops.train.view import headline

LOOK_SECONDS = 15
# One call that fails does not cost the report of an interruption that has happened.
MOST_FAILURES_IN_A_ROW = 8
# A log arrives after what it tells of.
LAST_LOOKS = 8


@dataclass(kw_only=True)
class Watch:
    """`notice_sent` and `deadline` are in seconds since 1970; `before` is the attempt on the node that goes."""

    clients: DrillClients
    stack: TrainingStack
    experiment_id: str
    notice_sent: float
    before: Attempt
    deadline: float
    sleep: Callable[[float], None]
    tell: Callable[[str], None]
    clock: Callable[[], float] = time.time
    _told: set[str] = field(default_factory=set, init=False)

    def until_it_goes_on(self, name: str) -> tuple[Seen, str]:
        """What was seen, and why nobody looked any longer where the run had not gone on by then ("" where it had).

        Raises AwsCallError where AWS fails again and again, and DrillRefused where the experiment breaks off.
        """
        looks_left = LAST_LOOKS
        while True:
            seen = self._look_in_spite_of_failures(name)
            self._tell_news(seen)
            if seen.went_on:
                # What the old node's agent sent last may come after the new node's first lines.
                self.sleep(LOOK_SECONDS)
                return self._look_in_spite_of_failures(name), ""
            looks_left -= seen.run.is_over
            if looks_left <= 0:
                return seen, ""
            now = self.clock()
            if now >= self.deadline:
                return seen, f"the run had not gone on when the time was up ({headline(seen.run, now)})"
            self.sleep(LOOK_SECONDS)

    def _look_in_spite_of_failures(self, name: str) -> Seen:
        for failures in range(1, MOST_FAILURES_IN_A_ROW + 1):
            try:
                return self._look(name)
            except AwsCallError as error:
                if failures == MOST_FAILURES_IN_A_ROW:
                    raise
                self.tell(f"{error} Looking again.")
                self.sleep(LOOK_SECONDS)
        raise AssertionError("the last failure is raised")

    def _tell_news(self, seen: Seen) -> None:
        for line in story(seen):
            if line not in self._told:
                self._told.add(line)
                self.tell(line)

    def _look(self, name: str) -> Seen:
        experiment = look(self.clients, self.experiment_id)
        if experiment.failed:
            raise DrillRefused(f"The experiment {experiment.id} is {experiment.status}: {experiment.reason}")
        run = read_run(self.clients, self.stack, name)
        before = self._as_it_is_now(run)
        after, said_after = self._after(run)
        return Seen(
            run=run,
            notice_sent=self.notice_sent,
            before=before,
            said_before=said(self.clients, before),
            last_line_before=last_line_at(self.clients, before),
            after=after,
            said_after=said_after,
            wasted=sum(one.started > self.notice_sent and self._goes_too(one) for one in run.attempts),
        )

    def _as_it_is_now(self, run: Run) -> Attempt:
        """The interrupted attempt among those of its job, ended or not."""
        same = [
            attempt
            for attempt in run.attempts
            if attempt.job_id == self.before.job_id and attempt.started <= self.notice_sent
        ]
        return max(same, key=lambda attempt: attempt.started, default=self.before)

    def _goes_too(self, attempt: Attempt) -> bool:
        """Whether it began on the node that is about to go, and goes with it."""
        return bool(attempt.node) and attempt.node == self.before.node

    def _after(self, run: Run) -> tuple[Attempt | None, Sequence[Said]]:
        """The first attempt since that went on, with what it said; until one did, the newest."""
        later = sorted(
            (one for one in run.attempts if one.started > self.notice_sent and not self._goes_too(one)),
            key=lambda one: one.started,
        )
        heard: Sequence[Said] = ()
        for attempt in later:
            heard = said(self.clients, attempt)
            if of_kind(heard, Kind.RESUMED, Kind.BEGAN):
                return attempt, heard
        return (later[-1] if later else None), heard


def story(seen: Seen) -> Iterator[str]:
    """A line for each thing that has happened since the notice, in their order."""
    since = seen.notice_sent
    saved = seen.saved_on_notice
    if saved:
        yield f"saved step {saved.step}, {duration(saved.at - since)} after the notice"
    if seen.before.stopped is not None:
        yield f"the attempt ended {duration(seen.before.stopped - since)} after the notice: {seen.before.outcome}"
    job = seen.run.jobs[-1] if seen.run.jobs else None
    if job and job.waiting_since is not None and job.waiting_since > since:
        yield f"waits for {job.capacity} capacity"
    if seen.after:
        yield f"a new attempt runs on {seen.after.capacity}, {duration(seen.after.started - since)} after the notice"
    went_on = seen.went_on
    if went_on:
        place = f"from step {went_on.step}" if went_on.kind is Kind.RESUMED else "from the beginning"
        yield f"goes on {place}, {duration(went_on.at - since)} after the notice"
    elif seen.run.is_over:
        yield f"the run is over: {seen.run.status.lower()}"
