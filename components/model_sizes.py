"""How much accelerator memory a model's weights take, as far as its name tells. Pure."""

import re
from collections.abc import Sequence

# 7B, 0.6B, 70b; not the active part of a mixture of experts (A3B), nor effective sizes (E2B), nor 8x7B, of which the
# experts share layers, so that the product says too much, nor 1_6b, which may be 1.6 or the sixth of a series.
SIZE = re.compile(r"(?<![a-z0-9.])(?<!\d_)(\d{1,4}(?:\.\d{1,3})?)b(?![a-z0-9])", re.IGNORECASE)
BYTES_PER_WEIGHT = 2
GIB = 2**30

# Formats below two bytes a weight, as names of models spell them; gpt-oss and bitnet come in no other.
SMALLER = re.compile(
    r"awq|gptq|gguf|bnb|fp8|fp4|int8|int4|8bit|4bit|8-bit|4-bit|w\d{1,2}a\d{1,2}|quant|exl\d|mlx|hqq|aqlm|bitnet|gpt-oss|(?<![a-z])q\d",
    re.IGNORECASE,
)
# Arguments that quantise, or hold weights elsewhere.
SMALLER_ARGUMENTS = ("--quantization", "-q", "--load-format", "--cpu-offload-gb", "--hf-overrides")


def weights_gib(model: str) -> float | None:
    """What the weights take at two bytes each, by the largest size in the last part of a model's name; None without one."""
    sizes = [float(size) for size in SIZE.findall(model.rpartition("/")[2])]
    return max(sizes) * 1e9 * BYTES_PER_WEIGHT / GIB if sizes else None


def describes_smaller_weights(model: str, arguments: Sequence[str]) -> bool:
    """Whether the name or the server's arguments say that weights take less than two bytes each on the accelerators."""
    names = [argument.partition("=")[0].partition(" ")[0].replace("_", "-") for argument in arguments]
    return SMALLER.search(model) is not None or any(name in SMALLER_ARGUMENTS for name in names)
