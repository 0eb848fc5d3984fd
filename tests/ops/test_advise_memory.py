"""The memory model of `ops advise`, held to published figures of known models and to what must always hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.advise.memory import (
    BYTES_PER_WEIGHT,
    GIB,
    Need,
    adapter_training,
    cache_bytes_per_token,
    inference,
    training,
    weight_bytes,
)
from ops.advise.models import (
    ARCHITECTURES,
    BILLION,
    Architecture,
    Model,
    model_like,
    model_of_size,
    parse_size,
)

GB = 1e9


def part(need: Need, name: str) -> float:
    return need.of(name)


# Parameters in billions, all and active, from each model's card on Hugging Face (safetensors metadata).
CARDS = {
    "llama-3.2-1b": (1.236, 1.236),
    "llama-3.2-3b": (3.213, 3.213),
    "llama-3.1-8b": (8.030, 8.030),
    "llama-3.1-70b": (70.554, 70.554),
    "llama-3.1-405b": (405.853, 405.853),
    "llama-2-7b": (6.738, 6.738),
    "llama-2-13b": (13.016, 13.016),
    "llama-2-70b": (68.977, 68.977),
    "mistral-7b": (7.242, 7.242),
    # https://mistral.ai/news/mixtral-of-experts: 46.7B in all, 12.9B for a token.
    "mixtral-8x7b": (46.703, 12.9),
    # https://mistral.ai/news/mixtral-8x22b: 141B in all, 39B for a token.
    "mixtral-8x22b": (140.6, 39.1),
    "qwen2.5-7b": (7.616, 7.616),
    "qwen2.5-14b": (14.770, 14.770),
    "qwen2.5-32b": (32.764, 32.764),
    "qwen2.5-72b": (72.706, 72.706),
    # https://huggingface.co/Qwen/Qwen3-235B-A22B: 235B in all, 22B for a token.
    "qwen3-235b-a22b": (235.1, 22.1),
}


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_the_shapes_count_to_the_published_parameters(name: str) -> None:
    total, active = CARDS[name]
    assert ARCHITECTURES[name].parameters == pytest.approx(total * BILLION, rel=0.002)
    assert ARCHITECTURES[name].active_parameters == pytest.approx(active * BILLION, rel=0.005)


@pytest.mark.parametrize(
    ("name", "precision", "published", "tolerance"),
    [
        # vLLM's log: model weights take 14.96GiB. https://github.com/vllm-project/vllm/pull/10511
        ("llama-3.1-8b", "bf16", 14.96 * GIB, 0.002),
        # 8B 16 GB, 70B 140 GB, 405B 810 GB. https://huggingface.co/blog/llama31
        ("llama-3.1-70b", "bf16", 140 * GB, 0.01),
        ("llama-3.1-405b", "bf16", 810 * GB, 0.01),
        # LLaMA 13B takes 26 GB of the 40 GB in figure 1. https://arxiv.org/abs/2309.06180
        ("llama-2-13b", "bf16", 26 * GB, 0.005),
        # 93.4 GB in 16 bits. https://canitrun.dev/models/mixtral-8x7b/, read 2026-12-02
        ("mixtral-8x7b", "bf16", 93.4 * GB, 0.001),
        # TheBloke/Llama-2-13B-chat-GPTQ, 4 bits in groups of 128: 7.26 GB. https://huggingface.co/datasets/Intel/ld_requests
        ("llama-2-13b", "int4", 7.26 * GB, 0.005),
    ],
)  # fmt: skip
def test_weights_are_as_large_as_published(
    name: str, precision: str, published: float, tolerance: float
) -> None:
    assert weight_bytes(model_like(name), precision) == pytest.approx(published, rel=tolerance)


# The blog counts 1k, 16k and 128k tokens in thousands of tokens and 2^30 bytes. https://huggingface.co/blog/llama31
@pytest.mark.parametrize(
    ("name", "tokens", "published_gib"),
    [
        ("llama-3.1-8b", 16_000, 1.95), ("llama-3.1-8b", 128_000, 15.62),
        ("llama-3.1-70b", 16_000, 4.88), ("llama-3.1-70b", 128_000, 39.06),
    ],
)  # fmt: skip
def test_the_cache_of_llama_3_is_as_large_as_published(name: str, tokens: int, published_gib: float) -> None:
    need = inference(model_like(name), "bf16", tokens, 1)
    assert part(need, "KV cache") == pytest.approx(published_gib * GIB, rel=0.003)


def test_the_cache_of_other_known_models_is_as_large_as_published() -> None:
    # Llama 2 7B without grouped queries: 512 KiB a token; Mixtral at 8k tokens: 1.07 GB (canitrun.dev).
    assert cache_bytes_per_token(model_like("llama-2-7b")) == 512 * 1024
    assert cache_bytes_per_token(model_like("mixtral-8x7b")) * 8192 == pytest.approx(1.07 * GB, rel=0.01)
    # OPT 13B: 800 KB a token = 2 x 5120 x 40 x 2. https://arxiv.org/abs/2309.06180, section 3
    opt = Architecture(name="opt-13b", layers=40, hidden=5120, feed_forward=20_480, heads=40, key_value_heads=40, head_size=128, vocabulary=50_272)  # fmt: skip
    model = Model(parameters=13e9, active_parameters=13e9, architecture=opt, assumption="")
    assert cache_bytes_per_token(model) == 800 * 1024
    # Qwen3 235B on four GPUs: 8.11 GiB hold 178,880 tokens. https://github.com/vllm-project/vllm/issues/21348
    need = inference(model_like("qwen3-235b-a22b"), "fp8", 178_880, 1)
    on_each = next(each for each in need.parts if each.name == "KV cache").each_bytes(4)
    assert on_each == pytest.approx(8.11 * GIB, rel=0.015)
    # Llama 3.1 8B: 3.81 GiB hold 1952 blocks of 16 tokens. https://github.com/vllm-project/vllm/issues/10517
    assert cache_bytes_per_token(model_like("llama-3.1-8b")) * 1952 * 16 == pytest.approx(
        3.81 * GIB, rel=0.002
    )


def test_the_activations_of_a_server_are_near_the_measured_ones() -> None:
    """vLLM on an H100, Llama 3 8B, 8,192 tokens a step: 1.26 GiB, the same on each of two GPUs."""
    measured = inference(model_like("llama-3.1-8b"), "bf16", 8192, 1)
    activations = next(each for each in measured.parts if each.name == "activations")
    assert activations.each_bytes(1) == activations.each_bytes(2) == pytest.approx(1.26 * GIB, rel=0.1)


@pytest.mark.parametrize(
    ("billions", "published_gb"),
    # GPT-2: at least 24 GB; a model of 7.5B: 120 GB. https://arxiv.org/abs/1910.02054, sections 3.1 and figure 1.
    # T5 11B: 176 GB to train against 22 GB to run (QLoRA's authors; https://gist.github.com/bigsnarfdude/fac2bacc78e98714ce6e94335b93e37b).
    [(1.5, 24), (7.5, 120), (11, 176)],
)
def test_training_with_adam_keeps_what_zero_says(billions: float, published_gb: float) -> None:
    need = training(model_of_size(billions * BILLION), 2048, 1)
    assert need.of("weights", "gradients", "optimizer states") == pytest.approx(published_gb * GB)


def test_sharding_over_64_gpus_leaves_each_what_zero_says() -> None:
    """7.5B parameters on 64 GPUs, all three states sharded: 1.9 GB on each. Figure 1 of the ZeRO paper."""
    need = training(model_of_size(7.5 * BILLION), 2048, 1)
    states = [each for each in need.parts if each.name in ("weights", "gradients", "optimizer states")]
    assert sum(each.each_bytes(64) for each in states) == pytest.approx(1.9 * GB, rel=0.02)


def test_adapters_have_as_many_parameters_as_peft_prints() -> None:
    """Rank 16 on every linear layer: 41,943,040 for Llama 3 8B and Mistral 7B, as PEFT's print_trainable_parameters says."""
    assert ARCHITECTURES["llama-3.1-8b"].adapter_parameters() == 41_943_040
    assert ARCHITECTURES["mistral-7b"].adapter_parameters() == 41_943_040


@pytest.mark.parametrize(
    ("name", "precision", "published_gb"),
    # LoRA and QLoRA of Llama 3.1, "estimated values": https://huggingface.co/blog/llama31
    [("llama-3.1-8b", "bf16", 16), ("llama-3.1-8b", "int4", 6), ("llama-3.1-70b", "bf16", 160), ("llama-3.1-70b", "int4", 48)],
)  # fmt: skip
def test_adapter_training_is_near_the_published_estimates(
    name: str, precision: str, published_gb: float
) -> None:
    need = adapter_training(model_like(name), precision, 512, 1)
    assert need.of("weights", "adapters", "gradients", "optimizer states") == pytest.approx(
        published_gb * GB, rel=0.12
    )


def test_65b_in_4_bits_trains_on_one_gpu_of_48_gb() -> None:
    """The headline of QLoRA, https://arxiv.org/abs/2305.14314, at its sequences of 512 tokens."""
    llama = Architecture(name="llama-65b", layers=80, hidden=8192, feed_forward=22_016, heads=64, key_value_heads=64, head_size=128, vocabulary=32_000)  # fmt: skip
    model = Model(
        parameters=llama.parameters, active_parameters=llama.parameters, architecture=llama, assumption=""
    )
    assert llama.parameters == pytest.approx(65.2e9, rel=0.005)
    assert adapter_training(model, "int4", 512, 1).each_bytes(1) < 48 * GB
    assert adapter_training(model, "bf16", 512, 1).each_bytes(1) > 130 * GB


SIZES = st.floats(min_value=0.01, max_value=2000).map(lambda billions: billions * BILLION)
TOKENS = st.integers(min_value=16, max_value=200_000)
LOADS = st.integers(min_value=1, max_value=512)
PRECISIONS = st.sampled_from(sorted(BYTES_PER_WEIGHT))
COUNTS = st.integers(min_value=1, max_value=512)


def needs(model: Model, precision: str, context: int, load: int) -> list[Need]:
    return [
        inference(model, precision, context, load),
        adapter_training(model, precision, context, load),
        training(model, context, load),
    ]


@given(SIZES, SIZES, PRECISIONS, TOKENS, LOADS, COUNTS)
def test_a_larger_model_never_needs_less(one: float, other: float, precision: str, context: int, load: int, count: int) -> None:  # fmt: skip
    """Of which only the size is known, so that its shape grows in steps."""
    sizes = sorted((one, other))
    less, more = (inference(model_of_size(size), precision, context, load) for size in sizes)
    assert less.each_bytes(count) <= more.each_bytes(count) * (1 + 1e-9)
    states = ("weights", "adapters", "gradients", "optimizer states", "activations")
    for less, more in zip(
        *(needs(model_of_size(size), precision, context, load) for size in sizes), strict=True
    ):
        assert less.of(*states) <= more.of(*states) * (1 + 1e-9)


@given(st.sampled_from(sorted(ARCHITECTURES)), SIZES, SIZES, PRECISIONS, TOKENS, LOADS, COUNTS)
def test_more_parameters_of_one_shape_never_need_less(name: str, one: float, other: float, precision: str, context: int, load: int, count: int) -> None:  # fmt: skip
    models = [model_like(name, (size, size)) for size in sorted((one, other))]
    for less, more in zip(*(needs(model, precision, context, load) for model in models), strict=True):
        assert less.each_bytes(count) <= more.each_bytes(count) * (1 + 1e-9)


@given(SIZES, PRECISIONS, TOKENS, TOKENS, LOADS, LOADS, COUNTS)
def test_more_context_or_load_never_needs_less(parameters: float, precision: str, context: int, further: int, load: int, more: int, count: int) -> None:  # fmt: skip
    for less, larger in zip(
        needs(model_of_size(parameters), precision, min(context, further), min(load, more)),
        needs(model_of_size(parameters), precision, max(context, further), max(load, more)),
        strict=True,
    ):
        assert less.each_bytes(count) <= larger.each_bytes(count) * (1 + 1e-9)


@given(SIZES, PRECISIONS, TOKENS, LOADS, COUNTS)
def test_the_parts_are_all_of_it(
    parameters: float, precision: str, context: int, load: int, count: int
) -> None:
    for need in needs(model_of_size(parameters), precision, context, load):
        assert sum(each.all_bytes(count) for each in need.parts) == pytest.approx(need.all_bytes(count))
        assert sum(each.each_bytes(count) for each in need.parts) == pytest.approx(need.each_bytes(count))


@given(SIZES, PRECISIONS, TOKENS, LOADS, COUNTS)
def test_quantised_weights_never_need_more_and_more_chips_never_more_each(parameters: float, precision: str, context: int, load: int, count: int) -> None:  # fmt: skip
    plain = needs(model_of_size(parameters), "bf16", context, load)
    for quantised, whole in zip(
        needs(model_of_size(parameters), precision, context, load), plain, strict=True
    ):
        assert quantised.each_bytes(count) <= whole.each_bytes(count) * (1 + 1e-9)
        assert whole.each_bytes(count + 1) <= whole.each_bytes(count) * (1 + 1e-9)


def test_a_cache_is_split_over_no_more_chips_than_it_has_heads() -> None:
    cache = next(
        each
        for each in inference(model_like("llama-3.1-70b"), "bf16", 4096, 1).parts
        if each.name == "KV cache"
    )
    assert cache.each_bytes(16) == cache.each_bytes(8), "each key-value head would lie on half a chip"


@pytest.mark.parametrize(
    ("text", "size"),
    [("7B", (7e9, 7e9)), ("0.5b", (5e8, 5e8)), ("350M", (3.5e8, 3.5e8)), ("47B/13B", (47e9, 13e9))],
)
def test_sizes_are_read_as_people_write_them(text: str, size: tuple[float, float]) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "7", "B", "7 B", "13B/47B", "0B", "-7B", "7B/", "99999B", "0.1M"])
def test_a_size_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Exception, match="must (be|have)"):
        parse_size(text)


@pytest.mark.parametrize(
    ("total", "active", "name"),
    [
        (7, 7, "llama-3.1-8b"), (8, 8, "llama-3.1-8b"), (13, 13, "qwen2.5-14b"), (33, 33, "qwen2.5-32b"),
        (72, 72, "llama-3.1-70b"), (1000, 1000, "llama-3.1-405b"), (47, 13, "mixtral-8x7b"), (141, 39, "mixtral-8x22b"),
        (30, 3, "llama-3.2-3b"),
    ],
)  # fmt: skip
def test_a_bare_size_is_taken_for_a_known_shape_and_says_so(total: float, active: float, name: str) -> None:
    model = model_of_size(total * BILLION, active * BILLION)
    assert model.architecture.name == name
    assert name in model.assumption and "--like" in model.assumption
