"""Sentence embeddings from the model that the package `wordllama` carries: nothing is downloaded.

Its own loader looks for the tokenizer in another folder than the one it is shipped in, so both files are read here.
Where the package cannot be installed (it has no wheel for Linux on Arm, nor for Python 3.14), every word gets a vector
by chance: texts are near then that share words, and nothing is known of their meaning.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

MODEL_DIMENSIONS = 256
# How many vectors there are for words where no model is.
CHANCE_WORDS = 8192
Model = tuple[Callable[[str], list[int]], Any]


def has_meaning() -> bool:
    """Whether the model is installed, so that texts of like meaning are near without sharing words."""
    return find_spec("wordllama") is not None


@lru_cache(maxsize=1)
def _model() -> Model:
    """What makes tokens of a text, and the vector of each token."""
    return _wordllama() if has_meaning() else _by_chance()


def _wordllama() -> Model:
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    spec = find_spec("wordllama")
    assert spec is not None and spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    weights = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids, weights.astype(np.float32)


def _by_chance() -> Model:
    weights = np.random.default_rng(0).standard_normal((CHANCE_WORDS, MODEL_DIMENSIONS), dtype=np.float32)

    def tokenize(text: str) -> list[int]:
        return [crc32(word.rstrip("s").encode()) % CHANCE_WORDS for word in re.findall(r"\w+", text.lower())]

    return tokenize, weights


def tokens(text: str) -> list[int]:
    """The model's own tokens of `text`."""
    return _model()[0](text)


def embedding(text: str, dimensions: int = MODEL_DIMENSIONS) -> list[float]:
    """The normalised mean of the tokens' vectors, with zeros behind it up to `dimensions`.

    Zeros add nothing to an inner product, so a longer vector finds exactly what the model's own 256 numbers find.
    """
    if dimensions < MODEL_DIMENSIONS:
        raise ValueError(f"dimensions is {dimensions}, the model makes {MODEL_DIMENSIONS}.")
    vector = np.zeros(dimensions, dtype=np.float32)
    ids = tokens(text) or [0]
    mean = _model()[1][ids].mean(axis=0)
    vector[:MODEL_DIMENSIONS] = mean / (np.linalg.norm(mean) or 1)
    return [float(number) for number in vector]


def nearness(question: str, sentences: list[str]) -> list[float]:
    """The cosine of each sentence with the question."""
    asked = np.array(embedding(question))
    return [float(asked @ np.array(embedding(sentence))) for sentence in sentences]
