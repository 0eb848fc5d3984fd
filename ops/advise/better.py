"""Which of today's types beat an answer, and what each gives up. Pure."""

from ops.advise.choice import Choice
from ops.advise.fits import Fit
from ops.advise.hardware import chip_of, link_of, peak_flops
from ops.advise.question import Question

# A type is worth a word when it is cheaper, or has so much more memory for so little more money.
NOTABLY = 0.98
MORE_MEMORY, LITTLE_MORE = 1.5, 1.3
MOST = 5
# Speeds closer than this are the same for a choice.
ALIKE = 0.1


def better(choice: Choice) -> list[tuple[Fit, str]]:
    """Each with its reason: one of a family, the cheapest first."""
    answer = choice.answer
    if answer is None or answer.usd_hour is None:
        return []
    found: dict[str, tuple[Fit, str]] = {_family(answer): (answer, "")}
    for fit in choice.all_fits:
        named = choice.cheaper and fit.entry == choice.cheaper.entry
        if not named and _family(fit) not in found and (reason := _reason(fit, answer, choice.question)):
            found[_family(fit)] = fit, reason
    return list(found.values())[1 : MOST + 1]


def _family(fit: Fit) -> str:
    return fit.entry.instance_type.split(".")[0]


def _reason(fit: Fit, answer: Fit, question: Question) -> str:
    """Empty where the type does not beat the answer."""
    by_work = question.task == "pretrain"
    ours, usual = (
        (_usd_per_operation(fit), _usd_per_operation(answer)) if by_work else (fit.usd_hour, answer.usd_hour)
    )
    if ours is None or usual is None or _is_smaller_host(fit, answer):
        return ""
    memory = fit.entry.accelerator_memory_gib_each / answer.entry.accelerator_memory_gib_each
    if ours > usual * NOTABLY and not (memory >= MORE_MEMORY and ours <= usual * LITTLE_MORE):
        return ""
    money = f"{_percent(ours / usual)} {'for the same work' if by_work else 'per hour'}"
    return ", ".join([money, *_memory(fit, answer), *_speed(fit, answer, question), *_software(fit, answer)])


def _is_smaller_host(fit: Fit, answer: Fit) -> bool:
    """The same accelerators on a smaller machine: practice has its reasons for the larger one."""
    same = (fit.entry.accelerator_count, fit.entry.accelerator_memory_gib_each) == (
        answer.entry.accelerator_count,
        answer.entry.accelerator_memory_gib_each,
    )
    return same and fit.entry.memory_gib < answer.entry.memory_gib


def _usd_per_operation(fit: Fit) -> float | None:
    peak = peak_flops(fit.entry)
    return None if peak is None or fit.usd_hour is None else fit.usd_hour / (peak * fit.nodes)


def _percent(ratio: float) -> str:
    return f"{1 - ratio:.0%} cheaper" if ratio < 1 else f"{ratio - 1:.0%} dearer"


def _memory(fit: Fit, answer: Fit) -> list[str]:
    ours, usual = (f"{each.nodes * each.entry.accelerator_count} x {each.entry.accelerator_memory_gib_each:g}" for each in (fit, answer))  # fmt: skip
    return ["the same memory"] if ours == usual else [f"{ours} GiB instead of {usual}"]


def _speed(fit: Fit, answer: Fit, question: Question) -> list[str]:
    """Operations pace a training, memory paces an answer."""
    if question.task == "inference":
        speed, usual = chip_of(fit.entry).memory_gb_per_second, chip_of(answer.entry).memory_gb_per_second
        if not speed or not usual or abs(speed / usual - 1) <= ALIKE:
            return []
        return [f"memory of {speed:,g} instead of {usual:,g} GB/s, which paces every answer"]
    words = ["PCIe instead of NVLink, which slows sharded work"] if link_of(answer.entry) == "NVLink" and link_of(fit.entry) == "PCIe" else []  # fmt: skip
    ours, theirs = peak_flops(fit.entry), peak_flops(answer.entry)
    if question.task == "pretrain":
        return words
    if ours and theirs:
        ratio = ours * fit.nodes / (theirs * answer.nodes)
        return [
            "the same bf16 speed" if abs(ratio - 1) <= ALIKE else f"{ratio:.2g} times the bf16 speed",
            *words,
        ]
    fewer = fit.nodes * fit.entry.accelerator_count < answer.nodes * answer.entry.accelerator_count
    return ["fewer chips, so a run lasts longer", *words] if fewer else words


def _software(fit: Fit, answer: Fit) -> list[str]:
    same = fit.entry.accelerator_kind == answer.entry.accelerator_kind
    return [] if same else ["compiled for Neuron, with fewer models"]
