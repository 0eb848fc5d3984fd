"""Checkpoints that a lost node cannot spoil: each is complete, or it is not there.

Standard library only, Python 3.9 or newer, no other package of ours: copy this folder into any
training container.

    with Checkpointer("/mnt/shared-data/checkpoints/run-1") as checkpoints:
        latest = checkpoints.latest()
        step = load(latest.path) if latest else 0
        while step < last_step:
            train_one_step()
            step += 1
            if checkpoints.after_step(step, write):  # write(folder) leaves files in it, closed
                break

SIGTERM (the node is about to go) saves once and ends the block with exit code 75; SIGUSR1 saves soon and goes on.
"""

from .checkpointer import EXIT_INTERRUPTED, Checkpointer, Decision
from .folder import CheckpointFolder
from .interval import SaveInterval, young_daly_seconds
from .manifest import Checkpoint, CheckpointError

__all__ = [
    "EXIT_INTERRUPTED",
    "Checkpoint",
    "CheckpointError",
    "CheckpointFolder",
    "Checkpointer",
    "Decision",
    "SaveInterval",
    "young_daly_seconds",
]
