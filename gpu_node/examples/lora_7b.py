"""Fine-tunes a 7B model with LoRA on one GPU of 24 GB, and goes on where it was interrupted: `python lora_7b.py`.

By default Qwen2.5-7B-Instruct learns Dolly's 15,011 questions and answers. The adapter is left in CHECKPOINT_FOLDER/result,
and with --upload s3://BUCKET/models/adapters/NAME in the data lake too. The Dockerfile beside this file makes the image.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch  # ty: ignore[import-not-found]
from datasets import load_dataset  # ty: ignore[import-not-found]
from hugging_face_trainer import train
from peft import LoraConfig, get_peft_model  # ty: ignore[import-not-found]
from transformers import (  # ty: ignore[import-not-found]
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    Trainer,
    TrainingArguments,
    set_seed,
)

GIB = 1 << 30
# Qwen2.5-7B's own numbers, from the config.json of the model.
PARAMETERS, LAYERS, HIDDEN, INTERMEDIATE, KEY_VALUE, VOCABULARY = 7_615_616_512, 28, 3584, 18944, 512, 152_064
LINEAR_LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
# What the CUDA context, the libraries and the gaps between tensors take: an assumption.
OVERHEAD_BYTES = 1.5 * GIB
NO_LABEL = -100
SEED = 1


def adapter_parameters(rank: int) -> int:
    """Of the two matrices beside each linear layer: one takes its input to `rank` numbers, one takes them to its output."""
    sides = [(HIDDEN, HIDDEN)] * 2 + [(HIDDEN, KEY_VALUE)] * 2 + [(HIDDEN, INTERMEDIATE)] * 3
    return LAYERS * rank * sum(first + second for first, second in sides)


def needed_gib(tokens: int, rank: int) -> float:
    """GPU memory for `tokens` at once, in GiB: 18.9 for 1024 of them and rank 16. Computed, not measured.

    Weights in bf16; for the adapter weights, gradients and Adam's two moments in fp32; the input of each layer in bf16,
    and what one layer computes anew in the backward pass; the logits in bf16 and, with their gradient, in fp32.
    """
    weights = 2 * PARAMETERS
    adapter = 16 * adapter_parameters(rank)
    inputs = 2 * tokens * HIDDEN * LAYERS
    one_layer = tokens * (8 * HIDDEN + 4 * INTERMEDIATE) * 4
    logits = tokens * VOCABULARY * (2 + 4 + 4 + 4)
    return (weights + adapter + inputs + one_layer + logits + OVERHEAD_BYTES) / GIB


def conversation(row: Mapping[str, str]) -> list[dict[str, str]]:
    """A row of Dolly, or of any data with the same columns, as a chat."""
    context = row.get("context", "").strip()
    question = f"{row['instruction']}\n\n{context}" if context else row["instruction"]
    return [{"role": "user", "content": question}, {"role": "assistant", "content": row["response"]}]


def example(row: Mapping[str, str], tokenizer: Any, most_tokens: int) -> dict[str, Sequence[int]]:
    """The tokens of a row, cut at `most_tokens`; only those of the answer are learned."""
    chat = conversation(row)
    question = tokenizer.apply_chat_template(chat[:1], tokenize=True, add_generation_prompt=True)
    tokens = tokenizer.apply_chat_template(chat, tokenize=True)[:most_tokens]
    labels = [NO_LABEL] * min(len(question), len(tokens)) + tokens[len(question) :]
    return {"input_ids": tokens, "attention_mask": [1] * len(tokens), "labels": labels}


def is_learnable(row: Mapping[str, Sequence[int]]) -> bool:
    """A question that fills all the room leaves nothing to learn, and a loss that is no number."""
    return any(label != NO_LABEL for label in row["labels"])


def read_rows(name: str) -> Any:
    """A data set of the Hugging Face Hub by its name, or JSON lines by a path such as /mnt/shared-data/datasets/x.jsonl."""
    if name.endswith((".jsonl", ".json")):
        return load_dataset("json", data_files=name, split="train")
    return load_dataset(name, split="train")


def make_model(options: argparse.Namespace) -> Any:
    """The weights go to the GPU file by file: the node's own memory need not hold them."""
    model = AutoModelForCausalLM.from_pretrained(
        options.model, dtype=torch.bfloat16, device_map={"": options.device}
    )
    model.config.use_cache = False  # of no use in training, and refused beside checkpointed gradients
    wanted = LoraConfig(
        r=options.rank, lora_alpha=2 * options.rank, lora_dropout=0.05, target_modules=list(LINEAR_LAYERS),
        task_type="CAUSAL_LM",
    )  # fmt: skip
    return get_peft_model(model, wanted)


def training_arguments(options: argparse.Namespace, output_folder: str) -> Any:
    """One row at a time, sixteen to a step. When to save is not the Trainer's to decide."""
    return TrainingArguments(
        output_dir=output_folder, save_strategy="no", save_total_limit=1, report_to="none", logging_steps=10, disable_tqdm=True,
        num_train_epochs=options.epochs, max_steps=options.steps, learning_rate=2e-4, lr_scheduler_type="cosine",
        warmup_ratio=0.03, per_device_train_batch_size=1, gradient_accumulation_steps=16,
        bf16=True, use_cpu=options.device == "cpu", seed=SEED,
        gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": False},
    )  # fmt: skip


def check_memory(options: argparse.Namespace) -> None:
    """Ends the run before the model is downloaded, where the GPU is too small for it."""
    if options.device == "cpu":
        return
    needed, there = needed_gib(options.tokens, options.rank), torch.cuda.mem_get_info()[1] / GIB
    if needed > there:
        raise SystemExit(
            f"{options.tokens} tokens take about {needed:.1f} GiB, and the GPU has {there:.1f}. Fix: lower --tokens, or use "
            "an instance type whose GPU has more memory."
        )


def uploads(folder: Path, place: str) -> Iterator[tuple[str, str, str]]:
    """File, bucket and key of everything in `folder`, for a place such as s3://BUCKET/models/adapters/NAME."""
    bucket, _, prefix = place.removeprefix("s3://").rstrip("/").partition("/")
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path), bucket, f"{prefix}/{path.relative_to(folder).as_posix()}"


def main(options: argparse.Namespace) -> None:
    check_memory(options)
    set_seed(SEED)  # before the adapter gets its first, random weights
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    rows = read_rows(options.data)
    rows = rows.map(lambda row: example(row, tokenizer, options.tokens), remove_columns=rows.column_names)
    folder = os.environ["CHECKPOINT_FOLDER"]
    trainer = Trainer(
        model=make_model(options),
        args=training_arguments(options, os.environ.get("SCRATCH_FOLDER", "/tmp/output")),
        train_dataset=rows.filter(is_learnable),
        data_collator=DataCollatorForSeq2Seq(tokenizer, pad_to_multiple_of=8),
        processing_class=tokenizer,
    )
    result = train(trainer, folder)
    if options.upload:
        import boto3

        client = boto3.client("s3")
        for file, bucket, key in uploads(result, options.upload):
            client.upload_file(file, bucket, key)
    print(f"The adapter is in {options.upload or result}.")


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--model", default="Qwen/Qwen2.5-7B-Instruct")
    options.add_argument("--data", default="databricks/databricks-dolly-15k")
    options.add_argument("--tokens", type=int, default=1024, help="most tokens of a row")
    options.add_argument("--rank", type=int, default=16)
    options.add_argument("--epochs", type=float, default=1)
    options.add_argument("--steps", type=int, default=-1, help="in place of --epochs")
    options.add_argument("--device", default="cuda:0", choices=("cuda:0", "cpu"))
    options.add_argument("--upload", default="", help="such as s3://BUCKET/models/adapters/NAME")
    return options


if __name__ == "__main__":
    main(parser().parse_args())
