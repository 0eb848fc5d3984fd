"""Ends an interactive node that nobody uses, or that has reached its longest life, and its group's wish for it."""

from __future__ import annotations

import logging
import math
import subprocess
from collections.abc import Callable
from typing import NamedTuple

from .announcer import LATE, Announcer, one_line

log = logging.getLogger("watcher")

STEP_SECONDS = 30.0
# Nobody at the terminals is surprised, and the work has the time that an interruption would leave it.
WARNING_SECONDS = 300
LEAVING_SECONDS = 120
# A second call for a node that is ending already would take another wish, and with it a neighbour, from the group.
ENDING_SECONDS = 900
# A GPU that drives nothing shows 0; a notebook that holds a model shows 0 too, and is idle.
IDLE_BELOW_PERCENT = 5
GPU_QUERY = ("nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits")
COMMAND_TIMEOUT_SECONDS = 60


class Limits(NamedTuple):
    """In seconds; 0 is never. `started_at` is a Unix time."""

    idle: int
    life: int
    started_at: int


class NodeEnd:
    """One step looks at the GPUs, the terminals and the clock; `clock` only grows, `now` is the Unix time.

    Use is work on any GPU, or typing at any terminal: an open but forgotten terminal keeps no node, and neither does
    work of the CPU. GPUs that cannot be read count as used, and are left to the longest life.
    """

    def __init__(
        self,
        limits: Limits,
        announcer: Announcer,
        tell_people: Callable[[str], None],
        last_input: Callable[[], float],
        terminate: Callable[[], None],
    ) -> None:
        self._limits = limits
        self._announcer = announcer
        self._tell_people = tell_people
        self._last_input = last_input
        self._terminate = terminate
        self._seen_input = -1.0
        self._used_at = 0.0
        self._warned_of = ""
        self._leaves_at = 0.0
        self._reason = ""
        self._refused = False

    def step(self, clock: float, now: float) -> None:
        """Warns, then tells the work to leave, then ends the node.

        An end that is refused is tried again at every step, unless the node is in use again. The work was told of an
        end that did not come: an interruption has the signal for itself again.
        """
        if not self._reason or self._refused:
            remaining, reason = self._remaining(clock, now)
            if remaining > 0:
                self._reason, self._refused = "", False
                self._warn(remaining, reason)
                return
        if not self._reason:
            self._reason, self._leaves_at = reason, clock + LEAVING_SECONDS
            self._tell_people(
                f"This node ends in {LEAVING_SECONDS // 60} minutes: {reason}. Save your work now."
            )
        if not self._refused:
            self._announcer.announce(LATE, self._announced)
        if clock >= self._leaves_at:
            self._end(clock)

    @property
    def _announced(self) -> str:
        return f"this node ends: {self._reason}"

    def _warn(self, remaining: float, reason: str) -> None:
        if remaining > WARNING_SECONDS:
            self._warned_of = ""
        elif self._warned_of != reason:
            self._warned_of = reason
            self._tell_people(f"This node ends in {math.ceil(remaining / 60)} minutes: {reason}.")

    def _end(self, clock: float) -> None:
        log.warning("the node is ended: %s", self._reason)
        try:
            self._terminate()
        except subprocess.TimeoutExpired as error:
            # AWS may have taken the call all the same: it is not made again before the node should be gone.
            log.error("whether the node is ended is not known: %s", one_line(error))
        except (OSError, subprocess.SubprocessError) as error:
            log.error("the node could not be ended, which is tried again: %s", one_line(error))
            self._refused = True
            self._announcer.forget(LATE, self._announced)
            return
        self._leaves_at = clock + ENDING_SECONDS

    def _remaining(self, clock: float, now: float) -> tuple[float, str]:
        ends = []
        if self._limits.idle:
            if self._in_use():
                self._used_at = clock
            reason = f"it is idle (idleMinutes is {self._limits.idle // 60}; work of a GPU or typing here keeps it)"
            ends.append((self._used_at + self._limits.idle - clock, reason))
        if self._limits.life:
            reason = f"it reaches its longest life (maximumLifeHours is {self._limits.life // 3600})"
            ends.append((self._limits.started_at + self._limits.life - now, reason))
        return min(ends)

    def _in_use(self) -> bool:
        last_input, self._seen_input = self._seen_input, self._last_input()
        return self._seen_input > last_input or gpu_percent() >= IDLE_BELOW_PERCENT


def gpu_percent() -> int:
    """The use of the busiest GPU; 100 when it cannot be read."""
    try:
        answer = subprocess.run(
            GPU_QUERY, stdout=subprocess.PIPE, text=True, timeout=COMMAND_TIMEOUT_SECONDS, check=True
        )
        return max(map(int, answer.stdout.split()))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        log.warning("the use of the GPUs cannot be read, so the node counts as used: %s", one_line(error))
        return 100


def terminate_node(region: str, instance_id: str) -> None:
    """Ends the node for good: its group wants one node fewer. The image's AWS CLI signs the call."""
    command = ["aws", "autoscaling", "terminate-instance-in-auto-scaling-group", "--region", region]
    command += ["--instance-id", instance_id, "--should-decrement-desired-capacity"]
    subprocess.run(command, stdout=subprocess.DEVNULL, timeout=COMMAND_TIMEOUT_SECONDS, check=True)
