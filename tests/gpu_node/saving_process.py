"""A process that saves checkpoints until it is killed: `saving_process.py FOLDER STEPS EVENT`.

Every line on its output is a promise: `loaded N` or `saved N`. It saves the next STEPS steps; with an EVENT above 0
it kills itself when it asks the file system for the EVENTth time in the last save. Runs on the standard library alone, as in a training container.
"""

import hashlib
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "gpu_node"))

from checkpoint import CheckpointFolder  # ty: ignore[import-not-found]

FILES = {"weights.bin": 4096, "optimizer/state.bin": 8192, "empty": 0}


def content(step: int, name: str) -> bytes:
    """What a file holds at a step, and at no other."""
    return hashlib.sha256(f"{step} {name}".encode()).digest() * FILES[name]


def write(folder: Path, step: int) -> None:
    for name in FILES:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content(step, name))


def kill_at(event: int) -> None:
    """Ends this process, as signal 9 does, before it asks the file system for anything once more."""
    left = event

    def count(name: str, _arguments: object) -> None:
        nonlocal left
        left -= name == "open" or name.startswith("os.")
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


def main(folder: str, steps: int, event: int) -> None:
    checkpoints = CheckpointFolder(folder, keep_last=2)
    checkpoints.prepare()
    latest = checkpoints.latest()
    step = latest.step if latest else 0
    if latest:
        for name in FILES:
            if (latest.path / name).read_bytes() != content(step, name):
                sys.exit(f"step {step} was loaded with a wrong {name}")
    print("loaded", step, flush=True)
    last = step + steps
    while step < last:
        step += 1
        if event and step == last:
            kill_at(event)
        checkpoints.save(step, lambda folder, step=step: write(folder, step))
        print("saved", step, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
