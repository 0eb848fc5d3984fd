"""The drill: a training that spot nodes are taken from again and again ends as if nothing had happened."""

import random
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpu_node.checkpoint import EXIT_INTERRUPTED
from tests.gpu_node.spot_node import SAVE_EVERY_STEPS, SpotNode, spot_node

STEPS = 800


@dataclass(frozen=True)
class Interruption:
    after_steps: int
    announced: bool


def market(seed: int, announced: tuple[bool, ...]) -> list[Interruption]:
    """Interruptions at random moments, in the order of `announced` shuffled."""
    chance = random.Random(seed)
    kinds = chance.sample(announced, len(announced))
    return [Interruption(chance.randrange(1, 3 * SAVE_EVERY_STEPS), kind) for kind in kinds]


def interrupt(node: SpotNode, interruption: Interruption, chance: random.Random) -> None:
    node.train(interruption.after_steps)
    if interruption.announced:
        node.metadata.interrupted = True
        assert node.metadata.noticed.wait(60), "the watcher does not see the notice"
        while not node.ended(0.02):
            node.feed(1)
    else:
        node.feed(chance.randrange(SAVE_EVERY_STEPS))
        node.ended(chance.uniform(0, 0.01))
        node.process.kill()
    node.close()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The result of a run that nobody interrupts."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with spot_node(folder, STEPS, folder / "shared", scratch=False) as node:
        node.feed(STEPS)
        node.close()
        assert node.result
        return node.result


@pytest.mark.parametrize(
    ("scratch", "announced"),
    [(False, (True,) * 3 + (False,) * 4), (True, (True,) * 4)],
    ids=["announced or not", "announced, local disk first"],
)
def test_an_interrupted_training_ends_with_the_same_bits(
    tmp_path: Path, undisturbed: str, scratch: bool, announced: tuple[bool, ...]
) -> None:
    chance, done, may_lose = random.Random(3), 0, 0
    for number, interruption in enumerate(market(11, announced)):
        with spot_node(tmp_path / str(number), STEPS, tmp_path / "shared", scratch) as node:
            lost = done - node.resumed_step
            # A kill between a save and its report leaves one step more than was reported.
            assert -1 <= lost <= may_lose, f"{lost} steps were lost with node {number - 1}"
            interrupt(node, interruption, chance)
        log = (tmp_path / str(number) / "watcher.log").read_text()
        expected = EXIT_INTERRUPTED if interruption.announced else -signal.SIGKILL
        assert node.process.returncode == expected, f"nobody would resume this run: {log}"
        done, may_lose = node.last_step, 0 if interruption.announced else SAVE_EVERY_STEPS - 1

    with spot_node(tmp_path / "last", STEPS, tmp_path / "shared", scratch) as node:
        assert node.resumed_step < STEPS, "the run was through before it was interrupted often enough"
        node.feed(STEPS - node.resumed_step)
        node.close()
    assert node.process.returncode == 0
    assert node.result == undisturbed, "an interrupted training learns something else"
