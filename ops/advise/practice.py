"""What people take for the well-known questions, worked out by the rules they go by. Pure but for the tables."""

from dataclasses import dataclass

from components.accelerators import find, sold_in
from ops.advise.fits import HOST_SHARE, Fit, fit_of
from ops.advise.hardware import link_of
from ops.advise.memory import BYTES_PER_WEIGHT, GIB, UNQUANTISED
from ops.advise.models import BILLION, model_of_size
from ops.advise.question import Question
from ops.instance_prices import REFERENCE_REGION

# The types that guides and examples are written for; what came later is told as beating them, or not.
USUAL = ("g5.", "p4d.24xlarge", "p5.48xlarge")
# In this order a precision is chosen where none is asked for.
PRECISIONS = ("bf16", "int8", "int4")
# Of a training script and its libraries, beside the checkpoint that it reads.
PROCESS_GIB = 2
RULES = f"practice is the cheapest of {', '.join(name.rstrip('.') for name in USUAL)} that holds the size at the usual load"
TRAINING_RULES = "training wants NVLink between its GPUs and a host with memory for the whole checkpoint in 16 bits, pre-training the least money for the work"


@dataclass(frozen=True, kw_only=True)
class Band:
    """A well-known question. Sizes are a little wider than its name: Llama 3 8B, Qwen 14B and 72B are meant too."""

    task: str
    name: str
    from_billions: float
    to_billions: float


BANDS = (
    Band(task="inference", name="7B-13B", from_billions=6.5, to_billions=14.8),
    Band(task="lora", name="7B-13B", from_billions=6.5, to_billions=14.8),
    Band(task="lora", name="30B-70B", from_billions=28, to_billions=73),
    Band(task="full", name="30B-70B", from_billions=28, to_billions=73),
    Band(task="pretrain", name="7B and more", from_billions=6.5, to_billions=10_000),
)


@dataclass(frozen=True, kw_only=True)
class Practice:
    """The type that the rules give for a band."""

    band: str
    instance_type: str


def practice_for(question: Question) -> Practice | None:
    """None for a question that practice has no one answer to."""
    size = question.model.parameters / BILLION
    bands = (
        band
        for band in BANDS
        if band.task == question.task and band.from_billions <= size <= band.to_billions
    )
    band, held = next(bands, None), _held(_usual_question(question))
    if band is None or not held:
        return None
    return Practice(band=band.name, instance_type=held[0].entry.instance_type)


def _usual_question(question: Question) -> Question:
    """The same task and size without the wishes of this question, where every type is sold."""
    model = model_of_size(question.model.parameters, question.model.active_parameters)
    context, load = (2048, 1) if question.trains else (4096, 4)
    return Question(task=question.task, model=model, region=REFERENCE_REGION, context=context, load=load)


def _held(usual: Question) -> list[Fit]:
    """Every usual type that the rules allow, in every precision, the cheapest first."""
    entries = [entry for name in sorted(sold_in(usual.region)) if name.startswith(USUAL) and (entry := find(name))]  # fmt: skip
    asked = [usual.with_precision(precision) for precision in PRECISIONS]
    fits = [fit for each in asked for entry in entries if (fit := fit_of(entry, each, each.need()))]
    allowed = [fit for fit in fits if not usual.trains or _trains_well(fit, usual)]
    return sorted(allowed, key=lambda fit: _usd(fit, usual))


def _trains_well(fit: Fit, question: Question) -> bool:
    checkpoint = question.model.parameters * BYTES_PER_WEIGHT[UNQUANTISED] / GIB
    has_link = fit.nodes * fit.accelerators == 1 or link_of(fit.entry) == "NVLink"
    return has_link and fit.entry.memory_gib * HOST_SHARE >= checkpoint + PROCESS_GIB


def _usd(fit: Fit, question: Question) -> float:
    """Of the whole work where its length is known, else of an hour."""
    hours = fit.hours(question)
    return (fit.usd_hour or float("inf")) * (1 if hours is None else hours)
