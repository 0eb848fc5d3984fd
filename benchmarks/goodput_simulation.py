"""A year on spot nodes, second by second of paid time: what of it is work that stays done."""

import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

NOTICE_SECONDS = 120.0
YEAR_SECONDS = 365 * 24 * 3600.0


@dataclass(frozen=True)
class Life:
    """The paid time of one node, from its launch to its loss, and whether the loss was announced."""

    seconds: float
    announced: bool


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How a training saves. The loop stands still for `blocked_seconds`; after `copy_seconds` more, in the
    background, the checkpoint would outlive the node. `notice_save_seconds` is the save on notice; None: there is
    none. The work between two saves is `interval_seconds`; infinite: only a finished job is saved.
    """

    interval_seconds: float
    blocked_seconds: float
    copy_seconds: float = 0.0
    notice_save_seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class Node:
    """What a new node costs before the first step of work; `job_seconds` is the work after which a job is done."""

    boot_seconds: float
    restore_seconds: float
    job_seconds: float = math.inf
    ends_after_save: bool = False


@dataclass
class Account:
    """Seconds of paid time. All but `useful` is lost: `repeated` is work that was done and has to be done again."""

    useful: float = 0.0
    booting: float = 0.0
    restoring: float = 0.0
    saving: float = 0.0
    repeated: float = 0.0
    leaving: float = 0.0

    @property
    def paid(self) -> float:
        return self.useful + self.booting + self.restoring + self.saving + self.repeated + self.leaving

    @property
    def goodput(self) -> float:
        return self.useful / self.paid


def lives(
    mean_hours: float, missed_share: float, chance: random.Random, seconds: float = YEAR_SECONDS
) -> Iterator[Life]:
    """Nodes lost at a constant rate, one after the other, until `seconds` are paid for."""
    while seconds > 0:
        life = min(seconds, chance.expovariate(1 / (mean_hours * 3600)))
        yield Life(life, chance.random() >= missed_share)
        seconds -= life


def simulate(nodes: Iterable[Life], plan: Plan, node: Node) -> Account:
    """What becomes of the paid time of these nodes."""
    account, saved = Account(), 0.0
    for life in nodes:
        saved = _Run(life, plan, node, account, saved).end()
    account.useful += saved
    return account


class _Run:
    """The life of one node, which finds `saved` seconds of the job done and leaves more of them."""

    def __init__(self, life: Life, plan: Plan, node: Node, account: Account, saved: float) -> None:
        self.life, self.plan, self.node, self.account, self.saved = life, plan, node, account, saved
        self.now, self.work = 0.0, saved
        self.copies: list[tuple[float, float]] = []  # when a copy is complete, and of how much work
        told = life.announced and plan.notice_save_seconds is not None
        self.stop = max(0.0, life.seconds - NOTICE_SECONDS) if told else life.seconds
        self.told = told

    def end(self) -> float:
        """The work of the unfinished job that outlives the node."""
        self.account.booting += self._spend(self.node.boot_seconds)
        if self.saved > 0:
            self.account.restoring += self._spend(self.node.restore_seconds)
        while self.now < self.stop:
            self._work_and_save()
        if self.told:
            self._save_on_notice()
        self._land_copies(self.life.seconds)
        self.account.repeated += self.work - self.saved
        return self.saved

    def _spend(self, seconds: float) -> float:
        """Lets time pass, at most to the end of the node; returns how much passed."""
        spent = min(seconds, self.life.seconds - self.now)
        self.now += spent
        return spent

    def _work_and_save(self) -> None:
        left = min(self.plan.interval_seconds, self.node.job_seconds - self.work)
        if self.now + left >= self.stop:
            self.work += self.stop - self.now
            self.now = self.stop
            return
        self.work += left
        self.now += left
        blocked = self._spend(self.plan.blocked_seconds)
        self.account.saving += blocked
        if blocked < self.plan.blocked_seconds:
            return
        if self.work >= self.node.job_seconds:
            self.account.useful += self.work
            self.work = self.saved = 0.0
            self.copies.clear()
        elif self.plan.copy_seconds:
            self.copies.append((self.now + self.plan.copy_seconds, self.work))
        else:
            self.saved = self.work

    def _save_on_notice(self) -> None:
        """A copy under way is given up for the last save; what follows it until the end of the node is lost."""
        self._land_copies(self.now)
        self.copies.clear()
        if self.work > self.saved:
            needed = self.plan.notice_save_seconds or 0.0
            spent = self._spend(needed)
            self.account.saving += spent
            if spent >= needed:
                self.saved = self.work
        rest = self._spend(NOTICE_SECONDS)
        if not self.node.ends_after_save:
            self.account.leaving += rest

    def _land_copies(self, until: float) -> None:
        self.saved = max([self.saved, *(work for complete, work in self.copies if complete <= until)])
