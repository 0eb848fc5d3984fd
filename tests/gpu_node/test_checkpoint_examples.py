"""The examples, run on stand-ins for PyTorch and transformers, and what a training container needs of ours."""

import ast
import os
import pickle
import random
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy
import pytest

from gpu_node import checkpoint
from ops.capture.program import PROJECT_ROOT

EXAMPLES = PROJECT_ROOT / "gpu_node/examples"
PACKAGE = sorted((PROJECT_ROOT / "gpu_node/checkpoint").glob("*.py"))


class Network:
    """A model and an optimizer with one number."""

    def __init__(self) -> None:
        self.value = 1

    def state_dict(self) -> int:
        return self.value

    def load_state_dict(self, value: int) -> None:
        self.value = value

    def zero_grad(self) -> None:
        self.gradient = 0

    def step(self) -> None:
        self.value = self.value * 31 % 1009


def fake_torch(initialized: bool) -> dict[str, Any]:
    random_numbers = {"cpu": b"0", "cuda": b"0"}
    torch, distributed = ModuleType("torch"), ModuleType("torch.distributed")
    members = {
        "save": lambda value, path: path.write_bytes(pickle.dumps(value)),
        "load": lambda path, **_: pickle.loads(path.read_bytes()),
        "get_rng_state": lambda: random_numbers["cpu"],
        "set_rng_state": lambda state: random_numbers.update(cpu=state),
        "cuda": SimpleNamespace(
            is_available=lambda: True,
            get_rng_state=lambda: random_numbers["cuda"],
            set_rng_state=lambda state: random_numbers.update(cuda=state),
        ),
        "tensor": lambda value, device: SimpleNamespace(item=lambda: value),
        "distributed": distributed,
    }
    vars(torch).update(members)
    vars(distributed).update(
        is_initialized=lambda: initialized,
        all_reduce=lambda value, op: None,
        broadcast_object_list=lambda values: None,
        barrier=lambda: None,
        get_world_size=lambda: 2,
        all_gather_object=lambda states, own: states.__setitem__(
            slice(None), [own, {**own, "cpu": b"rank 1"}]
        ),
        ReduceOp=SimpleNamespace(MAX="max"),
    )
    return {"torch": torch, "torch.distributed": distributed}


def load(name: str, monkeypatch: pytest.MonkeyPatch, modules: dict[str, Any]) -> Any:
    """The example as a module that finds the package beside it and these modules installed."""
    for module_name, module in {"checkpoint": checkpoint, **modules}.items():
        monkeypatch.setitem(sys.modules, module_name, module)
    example = ModuleType(name)
    path = EXAMPLES / f"{name}.py"
    exec(compile(path.read_text(), path, "exec"), vars(example))
    return example


@pytest.mark.parametrize("initialized", [False, True], ids=["one process", "torchrun"])
def test_the_pytorch_loop_resumes_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, initialized: bool
) -> None:
    example = load("pytorch_loop", monkeypatch, fake_torch(initialized))
    monkeypatch.setenv("CHECKPOINT_FOLDER", str(tmp_path))
    seen: list[int] = []

    def loss_of(_: Network, step: int) -> Any:
        seen.append(step)
        if len(seen) == 5:
            os.kill(os.getpid(), signal.SIGTERM)
        return SimpleNamespace(backward=lambda: None)

    with pytest.raises(SystemExit) as left:
        example.train(Network(), Network(), loss_of, steps=12)
    assert left.value.code == 75, "nobody would resume the run"
    model = Network()
    example.train(model, Network(), loss_of, steps=12)

    assert seen == list(range(12)), "data are seen twice, or never"
    found = checkpoint.CheckpointFolder(tmp_path).latest()
    assert found and found.step == 12, "the result of the run is nowhere"
    assert example.torch.load(found.path / "state.pt")["step"] == 12


def draw(torch: Any) -> tuple[Any, ...]:
    """The next random numbers of every kind; PyTorch's stand-in counts."""
    cpu, cuda = int(torch.get_rng_state()), int(torch.cuda.get_rng_state())
    torch.set_rng_state(str(cpu + 1).encode())
    torch.cuda.set_rng_state(str(cuda + 1).encode())
    return random.random(), float(numpy.random.standard_normal()), cpu, cuda


def test_a_resumed_run_draws_the_random_numbers_that_an_undisturbed_one_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = load("pytorch_loop", monkeypatch, fake_torch(False))

    def drawn(folder: str, interrupted_at: int) -> list[tuple[Any, ...]]:
        monkeypatch.setenv("CHECKPOINT_FOLDER", str(tmp_path / folder))
        numbers: list[tuple[Any, ...]] = []

        def loss_of(_: Network, step: int) -> Any:
            numbers.append(draw(example.torch))
            if step == interrupted_at:
                os.kill(os.getpid(), signal.SIGTERM)
            return SimpleNamespace(backward=lambda: None)

        for _ in range(2):
            random.seed(1)
            numpy.random.seed(1)
            numpy.random.standard_normal()  # leaves a second number for the next call
            example.torch.set_rng_state(b"0")
            example.torch.cuda.set_rng_state(b"0")
            with suppress(SystemExit):
                example.train(Network(), Network(), loss_of, steps=6)
        return numbers

    assert drawn("interrupted", interrupted_at=3) == drawn("undisturbed", interrupted_at=-1)


def test_each_rank_gets_its_own_random_numbers_back(monkeypatch: pytest.MonkeyPatch) -> None:
    example = load("pytorch_loop", monkeypatch, fake_torch(True))
    states = example.random_states()
    for rank, expected in ((1, b"rank 1"), (0, b"0"), (3, b"rank 1")):
        example.restore_random_states(states, rank)
        assert example.torch.get_rng_state() == expected, "two ranks would drop the same activations"


class FakeTrainer:
    """Saves and stops as the Trainer does: a checkpoint in its output folder, then `on_save`."""

    def __init__(self, output_folder: Path, interrupted_at: int = 0) -> None:
        self.args = SimpleNamespace(output_dir=str(output_folder))
        self.state = SimpleNamespace(global_step=0)
        self.interrupted_at = interrupted_at
        self.saved_model = ""

    def add_callback(self, callback: Any) -> None:
        self.callback = callback

    def train(self, resume_from_checkpoint: str | None) -> None:
        if resume_from_checkpoint:
            self.state.global_step = int((Path(resume_from_checkpoint) / "trainer_state.json").read_text())
        control = SimpleNamespace(should_save=False, should_training_stop=False)
        while self.state.global_step < 9 and not control.should_training_stop:
            self.state.global_step += 1
            if self.state.global_step == self.interrupted_at:
                os.kill(os.getpid(), signal.SIGTERM)
            control.should_save = False
            control = self.callback.on_step_end(self.args, self.state, control, model=None)
            if control.should_save:
                written = Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}"
                written.mkdir(parents=True)
                (written / "trainer_state.json").write_text(str(self.state.global_step))
                self.callback.on_save(self.args, self.state, control, model=None)
        if self.interrupted_at > self.state.global_step:
            os.kill(os.getpid(), signal.SIGTERM)

    def save_model(self, folder: str) -> None:
        self.saved_model = folder


@pytest.mark.parametrize("initialized", [False, True], ids=["one process", "torchrun"])
def test_the_trainer_resumes_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, initialized: bool
) -> None:
    transformers = SimpleNamespace(Trainer=FakeTrainer, TrainerCallback=object)
    modules = {**fake_torch(initialized), "transformers": transformers}
    loop = load("pytorch_loop", monkeypatch, modules)
    example = load("hugging_face_trainer", monkeypatch, {**modules, "pytorch_loop": loop})
    first = FakeTrainer(tmp_path / "node-1", interrupted_at=4)
    barriers: list[list[str]] = []
    example.distributed.barrier = lambda: barriers.append(os.listdir(tmp_path / "shared"))

    with pytest.raises(SystemExit) as left:
        example.train(first, str(tmp_path / "shared"))
    assert (left.value.code, first.state.global_step) == (75, 4), "the training did not stop for the notice"
    assert not first.saved_model, "half a model would be published"
    second = FakeTrainer(tmp_path / "node-2")
    example.train(second, str(tmp_path / "shared"))
    assert os.listdir(tmp_path / "shared") == ["step-4"], "it began anew"
    assert second.saved_model == str(tmp_path / "shared/result"), "the model would go with the node"
    assert barriers == ([[]] if initialized else []), "files that other ranks still write would be left out"


def test_a_trainer_that_is_told_after_its_last_step_saves_its_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transformers = SimpleNamespace(Trainer=FakeTrainer, TrainerCallback=object)
    modules = {**fake_torch(False), "transformers": transformers}
    loop = load("pytorch_loop", monkeypatch, modules)
    example = load("hugging_face_trainer", monkeypatch, {**modules, "pytorch_loop": loop})
    trainer = FakeTrainer(tmp_path / "node", interrupted_at=10)
    example.train(trainer, str(tmp_path / "shared"))

    assert trainer.state.global_step == 9 and trainer.saved_model, "the run would succeed without a result"


@pytest.mark.parametrize("path", PACKAGE, ids=lambda path: path.name)
def test_the_package_runs_on_python_3_9_without_any_other_package(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        assert all(name.partition(".")[0] in sys.stdlib_module_names for name in names), ast.unparse(node)
