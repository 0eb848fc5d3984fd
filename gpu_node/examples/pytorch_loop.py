"""A plain PyTorch loop that goes on where it was interrupted, on one GPU or under torchrun.

Copy the folder `gpu_node/checkpoint` beside this file, and start torchrun with `python -m checkpoint.launch` in front.
CHECKPOINT_FOLDER names the run's folder on the shared disk, such as /mnt/shared-data/checkpoints/run-1; SCRATCH_FOLDER,
where there is one, a folder on the node's own. `python -m ops train run` sets both.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import torch  # ty: ignore[import-not-found]
import torch.distributed as distributed  # ty: ignore[import-not-found]
from checkpoint import Checkpointer, Decision


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


def random_states() -> list[dict[str, Any]]:
    """The state of the random numbers of every rank, in plain types that `weights_only` loads; for all ranks to call."""
    legacy: Any = numpy.random.get_state()
    name, keys, *rest = legacy
    own = {"python": random.getstate(), "numpy": [name, keys.tolist(), *rest], "cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        own["cuda"] = torch.cuda.get_rng_state()  # of this rank's GPU, where dropout draws
    if not distributed.is_initialized():
        return [own]
    states: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(states, own)
    return states


def restore_random_states(states: list[dict[str, Any]], rank: int) -> None:
    """A rank that is new since then takes those of another."""
    own = states[rank % len(states)]
    random.setstate(own["python"])
    numpy.random.set_state(tuple(own["numpy"]))
    torch.set_rng_state(own["cpu"])
    if "cuda" in own and torch.cuda.is_available():
        torch.cuda.set_rng_state(own["cuda"])


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
            restore_random_states(state["random"], checkpoints.rank)
            step = state["step"]

        while step < steps:
            optimizer.zero_grad()
            loss_of(model, step).backward()
            optimizer.step()
            step += 1
            decision = checkpoints.decide(step)
            if decision is not Decision.GO_ON or step == steps:
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
                state["random"] = random_states()
                checkpoints.save(step, lambda folder, state=state: torch.save(state, folder / "state.pt"))
            if decision is Decision.LEAVE:
                break  # the block ends with exit code 75: saved, resume me
