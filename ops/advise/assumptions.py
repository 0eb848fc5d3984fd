"""The sentences of an answer: why it is this one, what it rests on, and what would not fit. Pure."""

from dataclasses import replace

from components.accelerators import find, sold_in
from ops.advise.choice import Choice
from ops.advise.fits import LEAST_EFA_INTERFACES, MOST_NODES, USABLE_SHARE, fit_of, is_late, usable_bytes
from ops.advise.hardware import NEURON_PAGES, NVIDIA_SHEETS
from ops.advise.memory import GIB, STEP_TOKENS, Need, training
from ops.advise.models import billions
from ops.advise.practice import RULES, TRAINING_RULES
from ops.advise.question import UTILISATION, Question
from ops.advise.spot import Market
from ops.instance_prices import interruptions_row
from ops.progress import duration


def why(choice: Choice) -> str:
    """One sentence on the answer, or on there being none."""
    question, answer, practice = choice.question, choice.answer, choice.practice
    if answer is None:
        return f"No instance type that {question.region} sells and this platform runs holds it. Use a smaller precision, context or load, or another region."
    if practice and choice.follows_practice:
        late = (
            f"; even {MOST_NODES} nodes, the most of trainingNodes, take {_days(choice)}"
            if is_late(answer, question)
            else ""
        )
        return f"what practice takes for {question.task} of {practice.band}, and it fits{late}"
    cheapest = "the cheapest on demand of the NVIDIA types that hold it"
    if not practice:
        return cheapest
    return f"{cheapest}: {practice.instance_type}, which practice takes for {practice.band}, {_why_not(practice.instance_type, question)}"


def _why_not(instance_type: str, question: Question) -> str:
    entry = find(instance_type)
    if entry is None or instance_type not in sold_in(question.region):
        return f"is not sold in {question.region}"
    at_leisure = replace(question, tokens=None, days=None)
    if question.days and fit_of(entry, at_leisure, question.need()):
        return "has no published bf16 speed to plan days by"
    return "does not hold it"


def _days(choice: Choice) -> str:
    hours = choice.answer.hours(choice.question) if choice.answer else None
    return f"{(hours or 0) / 24:,.0f} days"


def assumptions(choice: Choice) -> list[str]:
    question = choice.question
    return [
        question.model.assumption,
        _load(question),
        *_practice(choice),
        *_precision(question),
        f"{USABLE_SHARE:.0%} of the memory that EC2 reports is usable; the rest is the driver's, and gaps",
        *_sharding(question),
        *_work(question),
        *_spot(choice),
        *_saves(choice),
        *_prices(choice),
        f"speeds: {NVIDIA_SHEETS}; {NEURON_PAGES}",
    ]


def _practice(choice: Choice) -> list[str]:
    if choice.practice is None:
        return []
    return [f"{RULES}; {TRAINING_RULES}" if choice.question.trains else RULES]


def _load(question: Question) -> str:
    if question.task == "inference":
        requests = "1 request" if question.load == 1 else f"{question.load} requests"
        return (
            f"{requests} of {question.context} tokens at once, prompt and answer; {STEP_TOKENS} tokens a step"
        )
    return f"{question.load} x {question.context} tokens on each accelerator at a time, activations recomputed in the backward pass"


def _precision(question: Question) -> list[str]:
    if question.task in ("full", "pretrain"):
        return ["bf16 with Adam in mixed precision"]
    words = {
        "bf16": "16-bit weights (fp16 on a T4, which has no bf16)",
        "int4": "4-bit weights in groups of 128",
    }
    return [
        f"{words.get(question.precision or '', '8-bit weights')}, a 16-bit KV cache"
        if not question.trains
        else f"{words.get(question.precision or '', '8-bit weights')} of the frozen model"
    ]


def _sharding(question: Question) -> list[str]:
    if not question.trains:
        return ["tensor parallelism over the accelerators of one node"]
    return [
        "weights, gradients and optimizer states sharded over all accelerators (ZeRO 3, FSDP)",
        f"several nodes only of types with {LEAST_EFA_INTERFACES} or more EFA interfaces, and only on demand or in a Capacity Block: Batch has no multi-node jobs on spot",
    ]


def _work(question: Question) -> list[str]:
    tokens, days = question.trained_tokens(), question.wanted_days()
    if not tokens:
        return []
    told = "" if question.tokens else ", 20 per active parameter (https://arxiv.org/abs/2203.15556)"
    within = f", within {days:g} days" if days else ""
    return [
        f"{billions(tokens)} tokens{told}{within}, at {UTILISATION:.0%} of the bf16 peak (https://arxiv.org/abs/2407.21783)"
        + ("; types without a published peak are left out" if days else "")
    ]


def _spot(choice: Choice) -> list[str]:
    """How often the answer is taken to be interrupted, and that the others have their own."""
    question, answer = choice.question, choice.answer
    if answer is None or answer.nodes > 1:
        return []
    told = question.interruptions(answer.price)
    others = "" if question.interruption_hours else "; the other types by their own groups"
    return [
        f"on spot {answer.entry.instance_type}: an interruption every {1 / told.per_hour:,.4g} h ({told.source}){others}",
        Market().text,
    ]


def _saves(choice: Choice) -> list[str]:
    if not choice.question.trains or choice.answer is None or choice.answer.nodes > 1:
        return []
    seconds = choice.question.save_seconds(1)
    late = (
        "; longer than the notice of two minutes, so that work since the last save is lost each time"
        if seconds > 120
        else ""
    )
    return [f"a checkpoint takes {duration(seconds)} to the shared files at 500 MiB/s{late}"]


def _prices(choice: Choice) -> list[str]:
    region = choice.question.region
    shown = [fit.price for fit in (choice.answer, *choice.all_fits) if fit and fit.price]
    foreign = sorted({price.region for price in shown} - {region})
    texts = [
        f"prices are of Linux in {' and '.join(sorted({price.region for price in shown})) or 'no region'}, on the days told"
    ]
    rows = [row for price in shown if (row := interruptions_row(price)) and row.interruptions_read_on]
    if days := [row.interruptions_read_on for row in rows if row.interruptions_read_on]:
        regions = " and ".join(sorted({row.region for row in rows}))
        texts.append(
            f"shares of interrupted instances are of AWS's Spot Advisor for {regions}, {min(days)}; python -m ops prices refresh does not renew them"
        )
    if foreign:
        texts.append(
            f"prices of {region} are not in the table, so those of {', '.join(foreign)} are shown; python -m ops prices refresh --region {region} reads them"
        )
    return texts


def misfits(choice: Choice) -> list[str]:
    """What people might try and would not fit."""
    question, answer = choice.question, choice.answer
    texts = [*_one_node(choice), *_full_precision(choice)]
    if question.task == "lora" and answer and answer.entry.accelerator_count:
        whole = training(question.model, question.context, question.load)
        texts += _refused(
            f"Full fine-tuning with Adam on one {answer.entry.instance_type}",
            whole,
            answer.entry.instance_type,
        )
    return texts


def _one_node(choice: Choice) -> list[str]:
    practice, question = choice.practice, choice.question
    names = {practice.instance_type} if practice else set()
    if choice.answer:
        names.add(choice.answer.entry.instance_type)
    what = {
        "full": "Full fine-tuning with Adam",
        "pretrain": "Pre-training with Adam",
        "lora": "LoRA",
        "inference": "Inference",
    }[question.task]
    return [
        text for name in sorted(names) for text in _refused(f"{what} on one {name}", question.need(), name)
    ]


def _full_precision(choice: Choice) -> list[str]:
    question, answer = choice.question, choice.answer
    if answer is None or question.precision == "bf16":
        return []
    return _refused(
        f"16-bit weights on {answer.entry.instance_type}",
        question.with_precision("bf16").need(),
        answer.entry.instance_type,
    )


def _refused(what: str, need: Need, instance_type: str) -> list[str]:
    entry = find(instance_type)
    if entry is None:
        return []
    count, usable = entry.accelerator_count, usable_bytes(entry)
    each = need.each_bytes(count)
    if each <= usable:
        return []
    on = f"on each of {count} accelerators" if count > 1 else "on its accelerator"
    return [f"{what}: {each / GIB:,.1f} GiB {on}, of which {usable / GIB:,.1f} are usable"]
