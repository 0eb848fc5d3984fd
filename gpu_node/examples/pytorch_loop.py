"""A plain PyTorch loop that goes on where it was interrupted, on one GPU or under torchrun.

Copy the folder `gpu_node/checkpoint` beside this file. CHECKPOINT_FOLDER names the run's folder on the shared disk,
such as /mnt/shared-data/checkpoints/run-1; SCRATCH_FOLDER, where there is one, a folder on the node's own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import torch  # ty: ignore[import-not-found]
import torch.distributed as distributed  # ty: ignore[import-not-found]
from checkpoint import Checkpointer


def agree(decision: int) -> int:
    """The greatest decision of all ranks: they save and leave after the same step, or would wait for each other."""
    if not distributed.is_initialized():
        return decision
    greatest = torch.tensor(decision, device="cuda" if torch.cuda.is_available() else "cpu")
    distributed.all_reduce(greatest, op=distributed.ReduceOp.MAX)
    return int(greatest.item())


def latest_of_rank_0(checkpoints: Checkpointer) -> Path | None:
    """Rank 0 looks, and every rank loads what it found."""
    found: list[Path | None] = [None]
    if checkpoints.rank == 0:
        latest = checkpoints.latest()
        found = [latest.path if latest else None]
    if distributed.is_initialized():
        distributed.broadcast_object_list(found)
    return found[0]


def train(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    loss_of: Callable[[torch.nn.Module, int], torch.Tensor],
    steps: int,
) -> None:
    """`loss_of(model, step)` takes its batch by the number of the step, so that a resumed run sees the same data."""
    folder, scratch = os.environ["CHECKPOINT_FOLDER"], os.environ.get("SCRATCH_FOLDER")
    with Checkpointer(folder, scratch_folder=scratch, agree=agree) as checkpoints:
        step = 0
        latest = latest_of_rank_0(checkpoints)
        if latest:
            state = torch.load(latest / "state.pt", map_location="cpu", weights_only=True)
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            torch.set_rng_state(state["random"])
            step = state["step"]

        def save(folder: Path) -> None:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save({**state, "random": torch.get_rng_state(), "step": step}, folder / "state.pt")

        while step < steps:
            optimizer.zero_grad()
            loss_of(model, step).backward()
            optimizer.step()
            step += 1
            if checkpoints.after_step(step, save):
                break  # the block ends with exit code 75: saved, resume me
        else:
            checkpoints.save(step, save)
