"""A small training that is worth resuming: `training_process.py STEPS SAVE_EVERY_STEPS SHARED_FOLDER [SCRATCH_FOLDER]`.

It learns with momentum from random batches, so weights, momentum and the state of the random numbers all have to come
back. Its data come as lines on the standard input, one for each step; after a step it prints `step N`, at the end
`result` and a checksum of all weights.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "gpu_node"))

from checkpoint import Checkpointer, SaveInterval  # ty: ignore[import-not-found]

SIZE = 32


class Training:
    def __init__(self) -> None:
        self.random = np.random.default_rng(7)
        self.weights = self.random.normal(size=(SIZE, SIZE))
        self.momentum = np.zeros_like(self.weights)

    def learn(self) -> None:
        batch = self.random.normal(size=(64, SIZE))
        error = np.tanh(batch @ self.weights) - np.roll(batch, 1, axis=1)
        self.momentum = 0.9 * self.momentum + batch.T @ error / 64
        self.weights = self.weights - 0.01 * self.momentum

    def save(self, folder: Path) -> None:
        np.savez(folder / "arrays.npz", weights=self.weights, momentum=self.momentum)
        (folder / "random.json").write_text(json.dumps(self.random.bit_generator.state))

    def load(self, folder: Path) -> None:
        with np.load(folder / "arrays.npz") as arrays:
            self.weights, self.momentum = arrays["weights"], arrays["momentum"]
        self.random.bit_generator.state = json.loads((folder / "random.json").read_text())


def main(steps: int, save_every_steps: int, shared: str, scratch: str | None = None) -> None:
    training = Training()
    interval = SaveInterval(steps=save_every_steps)
    with Checkpointer(shared, scratch_folder=scratch, interval=interval) as checkpoints:
        latest = checkpoints.latest()
        step = latest.step if latest else 0
        if latest:
            training.load(latest.path)
        print("resumed", step, flush=True)
        while step < steps:
            if not sys.stdin.readline():
                sys.exit("the data ended")
            training.learn()
            step += 1
            leave = checkpoints.after_step(step, training.save)
            print("step", step, flush=True)
            if leave:
                break
        else:
            print("result", hashlib.sha256(training.weights.tobytes()).hexdigest(), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
