"""An interactive node ends when nobody uses it or it is too old, on a clock that the tests turn."""

import os
import subprocess
from pathlib import Path
from signal import Signals
from typing import Any

import pytest

from gpu_node.watcher import announcer as announcer_module
from gpu_node.watcher.announcer import EARLY, LATE, Announcer
from gpu_node.watcher.node_end import Limits, NodeEnd, gpu_percent, terminate_node
from gpu_node.watcher.processes import Process

MINUTE, HOUR = 60, 3600
BOOTED_AT = 1_796_000_000


class Node:
    """A node with fake GPUs and terminals; `run` lets time pass in steps of 30 seconds."""

    def __init__(self, idle: int = 0, life: int = 0) -> None:
        self.clock = 1000.0
        self.typed_at = 0.0
        self.people: list[tuple[float, str]] = []
        self.signals: list[tuple[float, Signals]] = []
        self.ended: list[float] = []
        self.refusals = 0
        self.failure: Exception = OSError("no\nnetwork")
        self.processes = [Process(4711, 1)]
        limits = Limits(idle, life, BOOTED_AT)
        self.announcer = Announcer(self)
        self.end = NodeEnd(limits, self.announcer, self._tell, lambda: self.typed_at, self._terminate)

    @property
    def minutes(self) -> float:
        return (self.clock - 1000) / MINUTE

    def running(self) -> list[Process]:
        return self.processes

    def send(self, target: Any, signal: Signals, /) -> None:
        self.signals.append((self.minutes, signal))

    def _tell(self, text: str) -> None:
        self.people.append((self.minutes, text))

    def _terminate(self) -> None:
        self.ended.append(self.minutes)
        if len(self.ended) <= self.refusals:
            raise self.failure

    def run(self, until_minute: float) -> None:
        while self.minutes <= until_minute:
            self.end.step(self.clock, BOOTED_AT + self.clock - 1000)
            self.clock += 30


@pytest.fixture(autouse=True)
def every_process_handles_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcer_module, "handles", lambda pid, signal: True)


@pytest.fixture(autouse=True)
def gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What nvidia-smi prints; every other program is recorded beside it."""
    (tmp_path / "nvidia-smi").write_text(
        f'#!/bin/bash\n[[ "$*" == "--query-gpu=utilization.gpu --format=csv,noheader,nounits" ]] && . {tmp_path}/use\n'
    )
    (tmp_path / "aws").write_text(f'#!/bin/bash\necho "$@" >{tmp_path}/called; . {tmp_path}/use\n')
    for name in ("nvidia-smi", "aws"):
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "use").write_text("echo 0; echo 4")
    return tmp_path / "use"


def test_an_unused_node_warns_then_tells_its_work_then_ends_once_saved() -> None:
    node = Node(idle=60 * MINUTE)
    node.run(62)

    assert [minute for minute, _ in node.people] == [55, 60], "people would be surprised"
    assert "ends in 5 minutes" in node.people[0][1] and "idleMinutes is 60" in node.people[0][1]
    assert node.signals == [(60, LATE)], "the work would be lost"
    assert node.ended == [62], "the work had no time to be saved, or the node bills on"


def test_a_gpu_at_work_keeps_the_node(gpus: Path) -> None:
    gpus.write_text("echo 0; echo 5")
    node = Node(idle=30 * MINUTE)
    node.run(120)
    assert (node.people, node.ended) == ([], []), "a training run would be ended"

    gpus.write_text("echo 0; echo 0")
    node.run(153)
    assert node.ended and node.ended[0] == 152, "the time would not count from the last use"


def test_typing_keeps_the_node_and_an_open_terminal_does_not() -> None:
    node = Node(idle=30 * MINUTE)
    node.typed_at = 7.0
    node.run(26)
    assert len(node.people) == 1, "a terminal that nobody types at would keep a node for ever"

    node.typed_at = 8.0
    node.run(50)
    assert len(node.people) == 1 and not node.ended, "the node would end under somebody's hands"
    node.run(60)
    assert len(node.people) == 3, "the second warning would be missing"


@pytest.mark.parametrize("failure", ["echo '[N/A]'", "echo ERR!", "exit 9", "true"])
def test_a_gpu_that_cannot_be_read_counts_as_used(gpus: Path, failure: str) -> None:
    gpus.write_text(failure)
    node = Node(idle=30 * MINUTE)
    node.run(90)

    assert (gpu_percent(), node.ended) == (100, []), "a driver's hiccup would end a training run"


def test_a_node_reaches_its_longest_life_whatever_it_does(gpus: Path) -> None:
    gpus.write_text("echo 99")
    node = Node(idle=30 * MINUTE, life=2 * HOUR)
    node.run(122)

    assert node.signals == [(120, LATE)] and node.ended == [122], "a forgotten run would be paid for ever"
    assert "maximumLifeHours is 2" in node.people[0][1]


def test_without_limits_nothing_is_looked_at(gpus: Path) -> None:
    node = Node(life=10_000 * HOUR)
    gpus.unlink()
    node.run(600)

    assert (node.people, node.ended) == ([], [])


def test_an_end_that_is_refused_is_tried_again_and_the_work_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    node = Node(life=HOUR)
    node.refusals = 2
    node.run(63)

    assert node.ended == [62, 62.5, 63] and node.signals == [(60, LATE)], "the node would be paid for ever"
    assert "tried again: OSError: no network" in caplog.text


def test_an_interruption_after_a_refused_end_reaches_whoever_works_by_then() -> None:
    node = Node(life=HOUR)
    node.refusals = 99
    node.run(70)
    assert node.signals == [(60, LATE)], "the work would be told at every attempt"

    node.processes = [*node.processes, Process(5001, 7)]
    for _ in range(3):
        node.announcer.announce(LATE, "EC2 takes this node back")
        node.run(node.minutes)
    assert [signal for _, signal in node.signals[1:]] == [LATE, LATE], (
        "work that survived the refused end, or began after it, would be lost to the interruption, or told twice"
    )


def test_a_recommendation_after_a_refused_end_is_passed_on() -> None:
    node = Node(life=HOUR)
    node.refusals = 99
    node.run(63)
    node.announcer.announce(EARLY, "EC2 may take this node back")

    assert [signal for _, signal in node.signals] == [LATE, EARLY], (
        "the work would not save while there is time"
    )


def test_a_refused_end_takes_back_nothing_that_an_interruption_announced() -> None:
    node = Node(life=HOUR)
    node.refusals = 99
    node.announcer.announce(LATE, "EC2 takes this node back")
    node.run(63)
    node.announcer.announce(LATE, "EC2 takes this node back")

    assert node.signals == [(0, LATE)], "a job that is saving would be told to leave a second time"


def test_a_node_whose_end_was_refused_stays_once_it_is_used_again(gpus: Path) -> None:
    node = Node(idle=30 * MINUTE)
    node.refusals = 3
    node.run(32.5)
    assert len(node.ended) == 2, "the end would not be tried again"

    gpus.write_text("echo 90")
    node.run(60)
    assert len(node.ended) == 2, "a run that began meanwhile would be ended without a word"

    gpus.write_text("echo 0")
    node.run(92.5)
    assert node.signals == [(30, LATE), (90, LATE)], "the work of today would not be told of its end"
    assert node.ended[2:] == [92, 92.5], "the node would be paid for ever"


def test_an_end_that_is_under_way_is_not_asked_for_again() -> None:
    node = Node(life=HOUR)
    node.run(76.5)
    assert node.ended == [62], "each call lowers the group's wish, and a neighbour would be ended too"

    node.run(77)
    assert node.ended == [62, 77], "a node that did not end would be paid for ever"


def test_an_end_that_may_have_been_taken_is_not_asked_for_again_at_once() -> None:
    node = Node(life=HOUR)
    node.refusals, node.failure = 1, subprocess.TimeoutExpired("aws", 60)
    node.run(76.5)
    assert node.ended == [62], "the group would want two nodes fewer, and end a neighbour"


def test_the_group_wants_one_node_fewer(gpus: Path) -> None:
    terminate_node("eu-central-1", "i-0123456789abcdef0")

    assert (gpus.parent / "called").read_text().split() == [
        "autoscaling", "terminate-instance-in-auto-scaling-group", "--region", "eu-central-1",
        "--instance-id", "i-0123456789abcdef0", "--should-decrement-desired-capacity",
    ], "the group would start another node at once"  # fmt: skip
