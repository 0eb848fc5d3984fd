"""A Hugging Face Trainer that goes on where it was interrupted.

Copy the folder `gpu_node/checkpoint` and `pytorch_loop.py` beside this file. Give the Trainer an `output_dir` on the
node's own disk, `save_strategy="no"` (when to save is decided here) and `save_total_limit=1`. It writes its checkpoint
there as always, and the callback puts it whole into the shared folder. For one node with any number of GPUs: of several
nodes each would hold a part of the files on a disk of its own. With more than one GPU, `python -m checkpoint.launch`
belongs in front of torchrun or accelerate.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch.distributed as distributed  # ty: ignore[import-not-found]
from checkpoint import Checkpointer, Decision
from pytorch_loop import agree, latest_of_rank_0
from transformers import Trainer, TrainerCallback  # ty: ignore[import-not-found]


class SaveAndLeave(TrainerCallback):
    """Saves when it is time, and ends the training when the node is about to go."""

    def __init__(self, checkpoints: Checkpointer) -> None:
        self.checkpoints = checkpoints
        self.leaves = False

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        decision = self.checkpoints.decide(state.global_step)
        self.leaves = self.leaves or decision is Decision.LEAVE
        control.should_save = control.should_save or decision is not Decision.GO_ON
        control.should_training_stop = control.should_training_stop or decision is Decision.LEAVE
        return control

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        if distributed.is_initialized():
            distributed.barrier()  # every rank writes files of its own, at least its random numbers
        written = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        self.checkpoints.save(
            state.global_step, lambda folder: shutil.copytree(written, folder, dirs_exist_ok=True)
        )
        return control


def train(trainer: Trainer, folder: str) -> Path:
    """Trains to the end, and saves the model in `folder`/result, which it returns; interrupted, leaves with exit code 75.

    Not in `output_dir`, which goes with the node.
    """
    result = Path(folder) / "result"
    with Checkpointer(folder, agree=agree) as checkpoints:
        callback = SaveAndLeave(checkpoints)
        trainer.add_callback(callback)
        latest = latest_of_rank_0(checkpoints)
        trainer.train(resume_from_checkpoint=str(latest) if latest else None)
        # Not should_stop: a notice after the last step interrupts nothing, and the run ends as done.
        if not callback.leaves:
            trainer.save_model(str(result))
    return result
