"""Language models by size: how many parameters, and the shape that decides what they keep in memory. Pure."""

import argparse
import re
from dataclasses import dataclass

BILLION = 1e9
# Adapters on every linear layer, as QLoRA advises (https://arxiv.org/abs/2305.14314, section 4).
ADAPTER_RANK = 16


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """The shape of a decoder with gated feed-forward layers, as in the model's config.json on Hugging Face.

    A mixture of experts has `experts` feed-forward blocks in each layer, of which `active_experts` see a token.
    """

    name: str
    layers: int
    hidden: int
    feed_forward: int
    heads: int
    key_value_heads: int
    head_size: int
    vocabulary: int
    tied_embeddings: bool = False
    experts: int = 1
    active_experts: int = 1

    @property
    def embedding_parameters(self) -> int:
        """Of the token embeddings and the output layer, which quantisation leaves as they are."""
        return self.vocabulary * self.hidden * (1 if self.tied_embeddings else 2)

    @property
    def parameters(self) -> int:
        """All weights of the matrices; norms are left out (less than a thousandth)."""
        return self.embedding_parameters + self.layers * self._layer_parameters(self.experts)

    @property
    def active_parameters(self) -> int:
        """Those that work on one token."""
        return self.embedding_parameters + self.layers * self._layer_parameters(self.active_experts)

    def _layer_parameters(self, experts: int) -> int:
        return sum(rows * columns for rows, columns in self._attention()) + experts * sum(
            rows * columns for rows, columns in self._block()
        )

    def adapter_parameters(self) -> int:
        """Of low-rank adapters on every linear layer: rank x (rows + columns) each."""
        matrices = self._attention() + self._block() * self.experts
        return self.layers * ADAPTER_RANK * sum(rows + columns for rows, columns in matrices)

    def _attention(self) -> list[tuple[int, int]]:
        queries, keys = self.heads * self.head_size, self.key_value_heads * self.head_size
        return [(self.hidden, queries), (self.hidden, keys), (self.hidden, keys), (queries, self.hidden)]

    def _block(self) -> list[tuple[int, int]]:
        return [(self.hidden, self.feed_forward)] * 2 + [(self.feed_forward, self.hidden)]


def _llama(name: str, layers: int, hidden: int, feed_forward: int, heads: int, key_value_heads: int,
           vocabulary: int, head_size: int = 128, **more: int) -> Architecture:  # fmt: skip
    return Architecture(
        name=name, layers=layers, hidden=hidden, feed_forward=feed_forward, heads=heads,
        key_value_heads=key_value_heads, head_size=head_size, vocabulary=vocabulary,
        tied_embeddings=bool(more.get("tied")), experts=more.get("experts", 1),
        active_experts=more.get("active", 1),
    )  # fmt: skip


# From each model's config.json; the tests hold the parameters counted from these shapes to the published ones.
ARCHITECTURES = {
    entry.name: entry
    for entry in (
        _llama("llama-3.2-1b", 16, 2048, 8192, 32, 8, 128_256, head_size=64, tied=1),
        _llama("llama-3.2-3b", 28, 3072, 8192, 24, 8, 128_256, tied=1),
        _llama("llama-3.1-8b", 32, 4096, 14_336, 32, 8, 128_256),
        _llama("llama-3.1-70b", 80, 8192, 28_672, 64, 8, 128_256),
        _llama("llama-3.1-405b", 126, 16_384, 53_248, 128, 8, 128_256),
        _llama("llama-2-7b", 32, 4096, 11_008, 32, 32, 32_000),
        _llama("llama-2-13b", 40, 5120, 13_824, 40, 40, 32_000),
        _llama("llama-2-70b", 80, 8192, 28_672, 64, 8, 32_000),
        _llama("mistral-7b", 32, 4096, 14_336, 32, 8, 32_000),
        _llama("mixtral-8x7b", 32, 4096, 14_336, 32, 8, 32_000, experts=8, active=2),
        _llama("mixtral-8x22b", 56, 6144, 16_384, 48, 8, 32_000, experts=8, active=2),
        _llama("qwen2.5-7b", 28, 3584, 18_944, 28, 4, 152_064),
        _llama("qwen2.5-14b", 48, 5120, 13_824, 40, 8, 152_064),
        _llama("qwen2.5-32b", 64, 5120, 27_648, 40, 8, 152_064),
        _llama("qwen2.5-72b", 80, 8192, 29_568, 64, 8, 152_064),
        _llama("qwen3-235b-a22b", 94, 4096, 1536, 64, 4, 151_936, experts=128, active=8),
    )
}
# What a bare size is taken for: today's dense models with shared key-value heads. What they keep grows along the list.
_DENSE = ("llama-3.2-1b", "llama-3.2-3b", "llama-3.1-8b", "qwen2.5-14b", "qwen2.5-32b", "llama-3.1-70b", "llama-3.1-405b")  # fmt: skip
_MIXTURES = ("mixtral-8x7b", "mixtral-8x22b", "qwen3-235b-a22b")
# How far a size may be above a known one and still be taken for it: 72B for 70B, 33B for 32B.
_TOLERANCE = 0.05
# A shape that is named may belong to a model whose vocabulary or depth was changed, but not to one of another class.
_LIKE_TOLERANCE = 1 / 3


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model to be placed. `assumption` says whose shape it is taken to have."""

    parameters: float
    active_parameters: float
    architecture: Architecture
    assumption: str

    @property
    def size(self) -> str:
        """As people say it: 7B, or 47B/13B for a mixture of experts."""
        sizes = dict.fromkeys((billions(self.parameters), billions(self.active_parameters)))
        return "/".join(sizes)


def billions(parameters: float) -> str:
    """Three digits, as in 7B, 0.35B or 1,400B."""
    text = f"{parameters / BILLION:,.3g}" if parameters < 1000 * BILLION else f"{parameters / BILLION:,.0f}"
    return f"{text}B"


def parse_size(text: str) -> tuple[float, float]:
    """All and active parameters of `7B`, `0.5B`, `350M` or `47B/13B`. Raises argparse.ArgumentTypeError."""
    found = re.fullmatch(
        r"(\d{1,5}(?:\.\d{1,3})?)([BM])(?:/(\d{1,5}(?:\.\d{1,3})?)([BM]))?", text.strip().upper()
    )
    if not found:
        raise argparse.ArgumentTypeError(
            f"{text!r} must be a number of parameters such as 7B or 350M, or total/active of a mixture such as 47B/13B"
        )
    unit = {"B": BILLION, "M": 1e6}
    total = float(found[1]) * unit[found[2]]
    active = float(found[3]) * unit[found[4]] if found[3] else total
    if not 1e6 <= active <= total <= 10_000 * BILLION:
        raise argparse.ArgumentTypeError(
            f"{text!r} must have 1M to 10000B parameters, of which no more are active than there are"
        )
    return total, active


def model_like(name: str, size: tuple[float, float] | None = None) -> Model:
    """A model of a known shape, with that model's own size unless another is told."""
    architecture = ARCHITECTURES[name]
    total, active = size or (float(architecture.parameters), float(architecture.active_parameters))
    return Model(
        parameters=total,
        active_parameters=active,
        architecture=architecture,
        assumption=f"the shape of {name}: {_shape(architecture)}",
    )


def unlike(name: str, size: tuple[float, float]) -> str:
    """Why a model of this size cannot have the shape of a known one; empty where the sizes are near."""
    known = ARCHITECTURES[name]
    sizes = (float(known.parameters), float(known.active_parameters))
    if all(abs(told / own - 1) <= _LIKE_TOLERANCE for told, own in zip(size, sizes, strict=True)):
        return ""
    told, own = ("/".join(dict.fromkeys(map(billions, pair))) for pair in (size, sizes))
    return (
        f"--like {name} has {own} parameters and --parameters says {told}: layers and weights would be of two models; "
        f"leave --parameters out, leave --like out, or name a model of about {told}"
    )


def model_of_size(total: float, active: float | None = None) -> Model:
    """A model of which only the size is known: the smallest known dense shape that is not smaller, or a known mixture."""
    active = total if active is None else active
    name = _mixture(total, active) if active < total else None
    name = name or _dense(active)
    architecture = ARCHITECTURES[name]
    return Model(
        parameters=total,
        active_parameters=active,
        architecture=architecture,
        assumption=f"the shape of {name}, since only the size is told: {_shape(architecture)}; --like NAME takes another",
    )


def _dense(parameters: float) -> str:
    fitting = (name for name in _DENSE if ARCHITECTURES[name].parameters >= parameters * (1 - _TOLERANCE))
    return next(fitting, _DENSE[-1])


def _mixture(total: float, active: float) -> str | None:
    for name in _MIXTURES:
        known = ARCHITECTURES[name]
        near = abs(known.parameters / total - 1), abs(known.active_parameters / active - 1)
        if max(near) <= _TOLERANCE:
            return name
    return None


def _shape(architecture: Architecture) -> str:
    experts = (
        f", {architecture.experts} experts of which {architecture.active_experts} work"
        if architecture.experts > 1
        else ""
    )
    return (
        f"{architecture.layers} layers of {architecture.hidden}, {architecture.key_value_heads} key-value heads of "
        f"{architecture.head_size} for {architecture.heads} query heads{experts}"
    )
