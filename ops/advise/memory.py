"""How much accelerator memory a model needs, part by part, each with its formula and where it is from. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from ops.advise.models import ADAPTER_RANK, Model

GIB = 1024**3
# Bytes of a weight. Four bits come with a scale and a zero point for every 128 weights: 4 + (16 + 4) / 128 bits
# (GPTQ and AWQ with groups of 128); NF4 of QLoRA has 4.127 bits (https://arxiv.org/abs/2305.14314, section 3).
BYTES_PER_WEIGHT = {"bf16": 2.0, "fp8": 1.0, "int8": 1.0, "int4": (4 + 20 / 128) / 8}
UNQUANTISED = "bf16"
CACHE_BYTES = 2
# What a server takes in one step unless told otherwise; vLLM's own default is 2,048 to 16,384 by version and GPU.
STEP_TOKENS = 8192
SAMPLED_SEQUENCES = 256

ZERO = "ZeRO, https://arxiv.org/abs/1910.02054, section 3.1"
LORA = "LoRA, https://arxiv.org/abs/2106.09685, section 4"
RECOMPUTATION = "https://arxiv.org/abs/2205.05198, sections 4 and 5"
PAGED_ATTENTION = "https://arxiv.org/abs/2309.06180, section 3"
PROFILE = "vLLM's memory profile, https://github.com/vllm-project/vllm/pull/10511"


@dataclass(frozen=True, kw_only=True)
class Part:
    """One thing that lies in memory. It is split over at most `most_ways` accelerators; None is any number, 1 is none."""

    name: str
    size_bytes: float
    formula: str
    source: str
    most_ways: int | None = None

    def each_bytes(self, accelerators: int) -> float:
        """On every one of so many accelerators."""
        return self.size_bytes / min(accelerators, self.most_ways or accelerators)

    def all_bytes(self, accelerators: int) -> float:
        """On all of them together."""
        return accelerators * self.each_bytes(accelerators)


@dataclass(frozen=True)
class Need:
    """What must fit; the parts are all of it."""

    parts: tuple[Part, ...]

    def each_bytes(self, accelerators: int) -> float:
        return sum(part.each_bytes(accelerators) for part in self.parts)

    def all_bytes(self, accelerators: int) -> float:
        return accelerators * self.each_bytes(accelerators)

    def of(self, *names: str) -> float:
        """Bytes of these parts, once."""
        return sum(part.size_bytes for part in self.parts if part.name in names)


def cache_bytes_per_token(model: Model) -> int:
    """Keys and values of one token in every layer, in 16 bits; grouped queries share key-value heads."""
    shape = model.architecture
    return 2 * shape.layers * shape.key_value_heads * shape.head_size * CACHE_BYTES


def weight_bytes(model: Model, precision: str) -> float:
    """Embeddings and the output layer stay in 16 bits; the rest has the precision."""
    embeddings = min(model.architecture.embedding_parameters, model.parameters)
    rest = model.parameters - embeddings
    return embeddings * BYTES_PER_WEIGHT[UNQUANTISED] + rest * BYTES_PER_WEIGHT[precision]


def inference(model: Model, precision: str, context: int, requests: int) -> Need:
    """A server with `requests` of `context` tokens at once, split over accelerators by tensor parallelism."""
    shape = model.architecture
    hidden, block = shape.hidden, shape.feed_forward * shape.active_experts
    step = STEP_TOKENS * (4 * hidden + 3 * block) * 2
    return Need(
        (
            _weights(model, precision),
            Part(
                name="KV cache",
                size_bytes=cache_bytes_per_token(model) * context * requests,
                formula=f"2 x {shape.layers} layers x {shape.key_value_heads} key-value heads x {shape.head_size} x {CACHE_BYTES} bytes x {context} tokens x {requests} requests",
                source=PAGED_ATTENTION,
                most_ways=shape.key_value_heads,
            ),
            Part(
                name="activations",
                size_bytes=step + SAMPLED_SEQUENCES * shape.vocabulary * 8,
                formula=f"{STEP_TOKENS} tokens a step x (4 x {hidden} + 3 x {block}) x 2 bytes, and {SAMPLED_SEQUENCES} rows of {shape.vocabulary} scores x 8 bytes",
                source=PROFILE,
                most_ways=1,
            ),
        )
    )


def training(model: Model, context: int, batch: int) -> Need:
    """Every weight trained with Adam in mixed precision, 16 bytes a parameter, sharded over all accelerators (ZeRO 3, FSDP)."""
    total = model.parameters
    states = (("weights", 2, "in bf16"), ("gradients", 2, "in bf16"), ("optimizer states", 12, "in fp32: a copy, momentum and variance"))  # fmt: skip
    parts = [
        Part(
            name=name,
            size_bytes=total * size,
            formula=f"{model.size} parameters x {size} bytes {what}",
            source=ZERO,
        )
        for name, size, what in states
    ]
    return Need((*parts, *_activations(model, context, batch)))


def adapter_training(model: Model, precision: str, context: int, batch: int) -> Need:
    """Low-rank adapters on every linear layer above a frozen model, sharded over all accelerators (FSDP)."""
    adapters = model.architecture.adapter_parameters()
    count = f"{adapters / 1e6:.4g}M of adapters (rank {ADAPTER_RANK}, every linear layer)"
    states = (("adapters", 4, "in fp32"), ("gradients", 4, "in fp32"), ("optimizer states", 8, "in fp32: momentum and variance"))  # fmt: skip
    parts = [
        Part(name=name, size_bytes=adapters * size, formula=f"{count} x {size} bytes {what}", source=LORA)
        for name, size, what in states
    ]
    return Need((_weights(model, precision), *parts, *_activations(model, context, batch)))


def _weights(model: Model, precision: str) -> Part:
    size = BYTES_PER_WEIGHT[precision]
    kept = "" if precision == UNQUANTISED else f", embeddings x {BYTES_PER_WEIGHT[UNQUANTISED]:g}"
    return Part(
        name="weights",
        size_bytes=weight_bytes(model, precision),
        formula=f"{model.size} parameters x {size:.4g} bytes ({precision}){kept}",
        source="arithmetic; a mixture of experts holds all experts",
    )


def _activations(model: Model, context: int, batch: int) -> Iterable[Part]:
    """Of every accelerator, whatever the sharding: each works on sequences of its own."""
    shape = model.architecture
    tokens = context * batch
    yield Part(
        name="activations",
        size_bytes=tokens * (2 * shape.hidden * shape.layers + 34 * shape.hidden + 8 * shape.vocabulary),
        formula=f"{batch} x {context} tokens x ({shape.layers} layers x 2 x {shape.hidden} kept + 34 x {shape.hidden} of one layer recomputed + {shape.vocabulary} scores x 8)",
        source=f"{RECOMPUTATION}; scores and their gradients in fp32",
        most_ways=1,
    )
    layer = (model.parameters - min(shape.embedding_parameters, model.parameters)) / shape.layers
    yield Part(
        name="layers at work",
        size_bytes=2 * 2 * layer,
        formula=f"2 layers unsharded x {layer / 1e6:.4g}M parameters x 2 bytes",
        source="FSDP gathers the next layer while one works; https://arxiv.org/abs/2304.11277, section 3",
        most_ways=1,
    )
