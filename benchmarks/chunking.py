"""Documents to chunks against well-known splitters, in one run: `python -m benchmarks.chunking`.

Our side does everything from a Markdown file's bytes to chunks, structure and cleaning included; the others cut decoded
text by its characters, which is the fastest that each of them can do. They live in an environment of their own.
"""

import subprocess
import sys
import time
import venv
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from benchmarks.mixed_text import KINDS, mixed_documents

ROOT = Path(__file__).parents[1]
REQUIREMENTS = ROOT / "benchmarks" / "requirements-splitters.txt"
ENVIRONMENT = ROOT / ".bench" / "splitters"
SIZE_BYTES = 20_000_000
ROUNDS = 2
SIZE_TOKENS, OVERLAP_TOKENS = 400, 60
# So many characters of English are one token, in our estimate and nearly so in a model's count.
CHARACTERS_PER_TOKEN = 4
SIZE, OVERLAP = SIZE_TOKENS * CHARACTERS_PER_TOKEN, OVERLAP_TOKENS * CHARACTERS_PER_TOKEN
TARGET_RATIO = 1.0

PROGRAM = "import sys; sys.path.insert(0, 'lambda_src'); from benchmarks.chunking import main; main()"

Splitter = Callable[[bytes], list[str]]


def ours() -> Splitter:
    from ingestion.extraction import extract
    from rag.chunking import chunk_blocks

    def split(content: bytes) -> list[str]:
        chunks = chunk_blocks(extract("raw/mixed.md", content), SIZE_TOKENS, OVERLAP_TOKENS)
        return [chunk.text for chunk in chunks]

    return split


def langchain() -> Splitter:
    module = import_module("langchain_text_splitters")
    splitter = module.RecursiveCharacterTextSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP)
    return lambda content: splitter.split_text(content.decode())


def llama_index() -> Splitter:
    module = import_module("llama_index.core.node_parser")
    # Its own tokenizer would make it slower: it takes the length of what this gives.
    splitter = module.SentenceSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP, tokenizer=lambda text: text)
    return lambda content: splitter.split_text(content.decode())


def semantic() -> Splitter:
    splitter = import_module("semantic_text_splitter").TextSplitter(SIZE, overlap=OVERLAP)
    return lambda content: splitter.chunks(content.decode())


OTHERS = {
    "langchain-text-splitters": langchain,
    "llama-index-core": llama_index,
    "semantic-text-splitter": semantic,
}


def seconds_per_document(splitters: dict[str, Splitter], documents: list[bytes]) -> dict[str, list[float]]:
    """The best time of each splitter for each document; all take a document in turn, so that a busy machine hits all."""
    best = {name: [float("inf")] * len(documents) for name in splitters}
    for _ in range(ROUNDS):
        for number, document in enumerate(documents):
            for name, split in splitters.items():
                start = time.perf_counter()
                split(document)
                best[name][number] = min(best[name][number], time.perf_counter() - start)
    return best


def main() -> None:
    documents = mixed_documents(SIZE_BYTES)
    size = sum(map(len, documents)) / 1e6
    splitters = {"ours": ours()} | {name: make() for name, make in OTHERS.items()}
    best = seconds_per_document(splitters, documents)
    totals = {name: sum(times) for name, times in best.items()}
    print(
        f"{size:.0f} MB in {len(documents)} documents, chunks of {SIZE_TOKENS} tokens, overlap {OVERLAP_TOKENS}; MB/s"
    )
    print(f"{'':34}{'all':>8}", *(f"{kind:>21}" for kind in KINDS))
    for name, times in best.items():
        label = name if name == "ours" else f"{name} {version(name)}"
        parts = [size / len(KINDS) / sum(times[number :: len(KINDS)]) for number in range(len(KINDS))]
        print(f"{label:34}{size / totals[name]:8.1f}", *(f"{part:21.1f}" for part in parts))
    for name in OTHERS:
        print(f"ours / {name}: {totals[name] / totals['ours']:.2f}")
    ratio = min(totals[name] for name in OTHERS) / totals["ours"]
    print(f"ours / the fastest other: {ratio:.2f} (target: at least {TARGET_RATIO})")


def run_apart() -> None:
    """Run this file in the environment of the others, made at the first time."""
    python = ENVIRONMENT / "bin" / "python"
    made_of = ENVIRONMENT / REQUIREMENTS.name
    if not made_of.exists() or made_of.read_bytes() != REQUIREMENTS.read_bytes():
        print(f"Setting up {ENVIRONMENT.relative_to(ROOT)} (once, about a minute) ...", file=sys.stderr)
        venv.create(ENVIRONMENT, clear=True, with_pip=True)
        install = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
            REQUIREMENTS,
        ]
        subprocess.run(install, check=True)
        made_of.write_bytes(REQUIREMENTS.read_bytes())
    subprocess.run([python, "-c", PROGRAM], check=True, cwd=ROOT)


if __name__ == "__main__":
    run_apart()
