"""The answer among the types that fit: what practice takes where it fits, else the cheapest. Pure but for the tables."""

from dataclasses import dataclass

from components.accelerators import find, sold_in
from ops.advise.fits import Fit, fit_of, fits, is_late
from ops.advise.hardware import chip_of
from ops.advise.practice import PRECISIONS, Practice, practice_for
from ops.advise.question import Question

# Fewer bits are worth a word when they cost at most this part.
MUCH_LESS = 0.7


@dataclass(frozen=True, kw_only=True)
class Choice:
    """`question` has the precision that was chosen; `answer` is None where nothing of the region holds it."""

    question: Question
    answer: Fit | None
    practice: Practice | None
    follows_practice: bool
    cheaper: Fit | None
    quantised: tuple[str, Fit] | None
    all_fits: tuple[Fit, ...]


def choose(question: Question) -> Choice:
    practice = practice_for(question)
    chosen = question.with_precision(_precision(question, practice))
    found = fits(chosen)
    usual = _named(found, practice.instance_type) if practice else None
    answer = usual or _cheapest(found, chosen)
    return Choice(
        question=chosen,
        answer=answer,
        practice=practice,
        follows_practice=usual is not None,
        cheaper=_cheaper_neuron(found, answer) if not chosen.trains else None,
        quantised=_quantised(question, chosen, answer),
        all_fits=tuple(fit for fit in found if not is_late(fit, chosen) or _is_faster(fit, answer, chosen)),
    )


def _precision(question: Question, practice: Practice | None) -> str:
    """The first that fits what practice takes, else the first that fits anything; trained weights are bf16."""
    if question.precision or question.task in ("full", "pretrain"):
        return question.precision or "bf16"
    usual = find(practice.instance_type) if practice else None
    asked = [question.with_precision(precision) for precision in PRECISIONS]
    held = [each for each in asked if fit_of(usual, each, each.need())] if usual else []
    anywhere = (each for each in asked if fits(each))
    return (next(iter(held), None) or next(anywhere, asked[0])).precision or PRECISIONS[0]


def _named(found: list[Fit], instance_type: str) -> Fit | None:
    return next((fit for fit in found if fit.entry.instance_type == instance_type), None)


def _cheaper_neuron(found: list[Fit], answer: Fit | None) -> Fit | None:
    """Inferentia or Trainium that serves it for less, if any does."""
    usual = answer.usd_hour if answer else None
    return next(
        (
            fit
            for fit in found
            if fit.entry.accelerator_kind == "neuron"
            and usual is not None
            and fit.usd_hour is not None
            and fit.usd_hour < usual
        ),
        None,
    )


def _quantised(question: Question, chosen: Question, answer: Fit | None) -> tuple[str, Fit] | None:
    """The most precise weights of fewer bits that are served for much less, where the precision was left open."""
    if question.trains or question.precision or answer is None or answer.usd_hour is None:
        return None
    for precision in PRECISIONS[PRECISIONS.index(chosen.precision or PRECISIONS[0]) + 1 :]:
        asked = question.with_precision(precision)
        fit = _cheapest(fits(asked), asked)
        if fit and fit.usd_hour is not None and fit.usd_hour <= answer.usd_hour * MUCH_LESS:
            return precision, fit
    return None


def _is_faster(fit: Fit, answer: Fit | None, question: Question) -> bool:
    """Where even the answer is late."""
    hours, usual = fit.hours(question), answer.hours(question) if answer else None
    return hours is not None and usual is not None and hours <= usual


def _cheapest(found: list[Fit], question: Question) -> Fit | None:
    """The cheapest that runs today's models as they are: a GPU with bf16. One that ends in time, else the fastest."""
    able = [
        fit for fit in found if fit.entry.accelerator_kind == "nvidia" and chip_of(fit.entry).bf16_tflops != 0
    ]
    in_time = [fit for fit in able if not is_late(fit, question)]
    fastest = sorted(able, key=lambda fit: fit.hours(question) or 0)
    return next(iter(in_time or fastest or found), None)


def elsewhere(choice: Choice) -> list[Fit]:
    """Trainium that would hold a training for less, which this platform's training images do not run."""
    question, answer = choice.question, choice.answer
    if not question.trains or answer is None:
        return []
    entries = [
        entry for name in sorted(sold_in(question.region)) if (entry := find(name)) and name.startswith("trn")
    ]
    held = [fit for entry in entries if (fit := fit_of(entry, question, question.need(), anywhere=True))]
    usual = _usd(answer, question)
    return [
        fit for fit in held if usual is not None and (usd := _usd(fit, question)) is not None and usd < usual
    ]


def _usd(fit: Fit, question: Question) -> float | None:
    """Of the whole training where its length is known, else of an hour."""
    hours = fit.hours(question)
    if fit.usd_hour is None or (hours is None and question.operations() is not None):
        return None
    return fit.usd_hour * (1 if hours is None else hours)
