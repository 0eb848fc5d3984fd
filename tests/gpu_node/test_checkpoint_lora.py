"""The LoRA example: what it learns from a row, what memory it says it takes, and the image it runs in."""

import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from ops.capture.program import PROJECT_ROOT

EXAMPLES = PROJECT_ROOT / "gpu_node/examples"
DOCKERFILE = (EXAMPLES / "Dockerfile").read_text(encoding="utf-8")
# Of an A10G or an L4: components/accelerators.csv.
GPU_GIB = 22.35


@pytest.fixture
def lora(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module; of what it imports only the names are there."""
    libraries = {
        "torch": ("bfloat16", "cuda"),
        "datasets": ("load_dataset",),
        "peft": ("LoraConfig", "get_peft_model"),
        "hugging_face_trainer": ("train",),
        "transformers": ("AutoModelForCausalLM", "AutoTokenizer", "DataCollatorForSeq2Seq", "Trainer", "TrainingArguments", "set_seed"),
    }  # fmt: skip
    for name, members in libraries.items():
        module = ModuleType(name)
        vars(module).update({member: SimpleNamespace() for member in members})
        monkeypatch.setitem(sys.modules, name, module)
    script = ModuleType("lora_7b")
    path = EXAMPLES / "lora_7b.py"
    exec(compile(path.read_text(encoding="utf-8"), path, "exec"), vars(script))
    return script


class Words:
    """A tokenizer of which each word is a token: its length."""

    def apply_chat_template(
        self, chat: Any, tokenize: bool, add_generation_prompt: bool = False
    ) -> list[int]:
        assert tokenize
        text = " ".join(f"{turn['role']} {turn['content']}" for turn in chat)
        return [len(word) for word in f"{text}{' assistant' if add_generation_prompt else ''}".split()]


def test_only_the_answer_is_learned(lora: Any) -> None:
    row = {"instruction": "Why so", "context": " seen it ", "response": "it is thus"}
    learned = lora.example(row, Words(), 99)
    assert learned["input_ids"] == [4, 3, 2, 4, 2, 9, 2, 2, 4]
    assert learned["labels"] == [-100] * 6 + [2, 2, 4], "the model would learn to ask"
    assert len(learned["attention_mask"]) == len(learned["labels"])
    assert lora.is_learnable(learned)


def test_a_question_that_leaves_no_room_for_an_answer_is_left_out(lora: Any) -> None:
    row = {"instruction": "a b c d e f", "response": "g"}
    cut = lora.example(row, Words(), 4)
    assert (len(cut["input_ids"]), cut["labels"]) == (4, [-100] * 4)
    assert not lora.is_learnable(cut), "its loss would be no number"


def test_the_memory_that_the_guide_states_is_what_the_script_computes(lora: Any) -> None:
    needed = lora.needed_gib(1024, 16)
    guide = (PROJECT_ROOT / "docs/training.md").read_text(encoding="utf-8")
    assert f"| {needed:.1f} |" in guide and needed < GPU_GIB
    assert lora.adapter_parameters(16) == 40_370_176
    assert lora.needed_gib(4096, 16) > GPU_GIB, "the sum knows nothing of the tokens"


def test_a_gpu_that_is_too_small_ends_the_run_at_once(lora: Any) -> None:
    options = lora.parser().parse_args([])
    for gib, refused in ((14.6, True), (GPU_GIB, False)):
        lora.torch.cuda.mem_get_info = lambda gib=gib: (0, gib * 2**30)
        if refused:
            with pytest.raises(SystemExit, match="about 18.9 GiB, and the GPU has 14.6. Fix: lower --tokens"):
                lora.check_memory(options)
        else:
            assert lora.check_memory(options) is None


def test_the_adapter_goes_below_the_prefix_that_was_named(lora: Any, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/config.json").touch()
    (tmp_path / "adapter.safetensors").touch()
    found = list(lora.uploads(tmp_path, "s3://lake-abc/models/adapters/lora/"))
    assert [(bucket, key) for _, bucket, key in found] == [
        ("lake-abc", "models/adapters/lora/adapter.safetensors"),
        ("lake-abc", "models/adapters/lora/deep/config.json"),
    ]


def test_hadolint_finds_nothing() -> None:
    hadolint = Path(sysconfig.get_path("scripts")) / "hadolint"
    found = subprocess.run([hadolint, EXAMPLES / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_the_image_starts_from_the_same_python_as_the_api(lora: Any) -> None:
    of_api = (PROJECT_ROOT / "rag_api/Dockerfile").read_text(encoding="utf-8")
    (base,) = re.findall(r"^FROM (\S+)$", DOCKERFILE, re.MULTILINE)
    assert re.fullmatch(r"python:3\.13\.\d+-slim-\w+@sha256:[0-9a-f]{64}", base), "builds would differ"
    assert f"FROM {base}" in of_api, "one of the two was forgotten"


def test_packages_are_locked_by_hash_and_are_all_that_the_script_imports(lora: Any) -> None:
    lock = (EXAMPLES / "requirements.txt").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([a-z0-9-]+)==([^\s;]+)", lock, re.MULTILINE))
    wanted = re.findall(r"^([a-z0-9-]+)==(\S+)$", (EXAMPLES / "requirements.in").read_text(), re.MULTILINE)
    assert dict(wanted).items() <= pins.items(), "the lock is older than what it is made from"
    assert lock.count("--hash=sha256:") >= len(pins) and "--require-hashes" in DOCKERFILE
    text = "\n".join(path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.py"))
    imported = set(re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE)) - sys.stdlib_module_names
    own = {"checkpoint", *(path.stem for path in EXAMPLES.glob("*.py"))}
    assert imported - own <= set(dict(wanted)), "the image would lack a package"


def test_what_is_copied_is_let_through_to_the_build() -> None:
    ignore = (EXAMPLES / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    assert ignore[0] == "*", "secrets of the working directory could end up in the image"
    for source in re.findall(r"^COPY (\S+) ", DOCKERFILE, re.MULTILINE):
        assert list(PROJECT_ROOT.glob(source)), f"{source} is not there"
        assert any(source.startswith(line[1:]) for line in ignore if line[0] == "!"), f"{source} is left out"
