"""One rank of a training: `rank_process.py RANKS FOLDER [--fails RANK] [--slow]`, with RANK in the environment.

The ranks take their steps together until FOLDER/enough exists, and agree through files in FOLDER/steps. Rank 0 prints
`ready` after the first step, and `saved` after each save. `--fails` lets one rank end with an error of its own once
FOLDER/fail exists, while the others go on alone, and `--slow` lets a save take half a second.
"""

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "gpu_node"))

from checkpoint import Checkpointer, SaveInterval  # ty: ignore[import-not-found]

LOOK_SECONDS = 0.002
SAVE_SECONDS = 0.5


class Ranks:
    """An all-reduce over files."""

    def __init__(self, count: int, folder: Path) -> None:
        self._count, self._folder, self._calls = count, folder, 0

    def agree(self, own: int) -> int:
        self._calls += 1
        temporary = self._folder / f".{self._calls}-{RANK}"
        temporary.write_text(str(own))
        temporary.rename(self._folder / f"{self._calls}-{RANK}")
        paths = [self._folder / f"{self._calls}-{rank}" for rank in range(self._count)]
        while not all(path.exists() for path in paths):
            if os.getppid() != PARENT:
                sys.exit("the agent is gone")
            time.sleep(LOOK_SECONDS)
        return max(int(path.read_text()) for path in paths)


RANK, PARENT = int(os.environ.get("RANK", "0")), os.getppid()


def main(options: argparse.Namespace) -> None:
    folder: Path = options.folder
    (folder / "steps").mkdir(exist_ok=True)
    ranks = Ranks(options.ranks, folder / "steps")
    agree = int if options.fails is not None else ranks.agree
    step = 0

    def write(path: Path) -> None:
        time.sleep(SAVE_SECONDS if options.slow else 0)
        (path / "state").write_text(str(step))

    interval = SaveInterval(seconds=10**9)
    with Checkpointer(folder / "shared", interval=interval, agree=agree) as checkpoints:
        while not agree(int((folder / "enough").exists())):
            step += 1
            leaves = checkpoints.after_step(step, write)
            saved = list((folder / "shared").glob("step-*"))
            if RANK == 0 and step == 1:
                print("ready", flush=True)
            if RANK == 0 and saved and not leaves:
                print("saved", flush=True)
                (folder / "enough").touch()
            if leaves:
                break
            if options.fails == RANK and (folder / "fail").exists():
                sys.exit(3)
            time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("ranks", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fails", type=int)
    parser.add_argument("--slow", action="store_true")
    main(parser.parse_args())
