"""Processes killed while they save: every restart finds a complete checkpoint, and the last one promised."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gpu_node.checkpoint import CheckpointFolder

SCRIPT = Path(__file__).parent / "saving_process.py"
KILLS = 50


def start(folder: Path, steps: int, event: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-I", "-S", str(SCRIPT), str(folder), str(steps), str(event)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def promises(output: str) -> Iterator[tuple[str, int]]:
    """The whole lines of an output; a kill may cut the last one off."""
    for line in output.splitlines(keepends=True):
        if line.endswith("\n"):
            word, _, step = line.partition(" ")
            yield word, int(step)


def test_fifty_kills_at_random_moments_lose_nothing_that_was_saved(tmp_path: Path) -> None:
    chance, saved = random.Random(5), 0
    for kill in range(KILLS):
        process = start(tmp_path, steps=10**6)
        assert process.stdout is not None
        output = process.stdout.readline()
        for _ in range(chance.randrange(3)):
            output += process.stdout.readline()
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0, 0.02))
        process.kill()
        rest, errors = process.communicate()
        (word, loaded), *reports = promises(output + rest)

        assert process.returncode == -9, f"it ended before the kill: {errors}"
        assert word == "loaded" and loaded >= saved, f"kill {kill} lost step {saved}: {loaded} was loaded"
        saved = max([loaded, *(step for _, step in reports)])
    assert saved > KILLS / 2, "the processes were killed before they saved anything"


def test_a_kill_at_any_event_of_a_save_leaves_a_complete_checkpoint(tmp_path: Path) -> None:
    """Of three checkpoints the third is cut off, so that the clean-up of the first is cut off, too."""
    event, ended = 0, False
    while not ended:
        event += 1
        folder = tmp_path / str(event)
        output, errors = start(folder, steps=3, event=event).communicate()
        ended = ("saved", 3) in promises(output)
        assert ("saved", 2) in promises(output), f"it ended before the kill: {errors}"

        checkpoints = CheckpointFolder(folder)
        latest = checkpoints.latest()
        assert latest is not None and latest.step >= (3 if ended else 2), f"event {event} lost a checkpoint"
        checkpoints.prepare()
        assert not [name for name in os.listdir(folder) if name.startswith(".")], "a leftover stays for ever"
    assert event > 20, "the save was hardly ever cut off"
