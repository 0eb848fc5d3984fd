"""An answer as one document, which both the text and the JSON show. Pure but for the tables."""

from datetime import date
from typing import Any

from ops.advise.assumptions import assumptions, misfits, why
from ops.advise.better import better
from ops.advise.block import render, room_for_requests, settings
from ops.advise.choice import Choice, elsewhere
from ops.advise.fits import Fit, usable_bytes
from ops.advise.hardware import link_of
from ops.advise.memory import GIB
from ops.advise.question import Question
from ops.advise.spot import per_useful_hour
from ops.instance_prices import age_warning, interruptions_row


def report(choice: Choice, today: date) -> dict[str, Any]:
    """Everything an answer has, in plain values."""
    question, answer = choice.question, choice.answer
    shown = [*([answer] if answer else []), *choice.all_fits]
    return {
        "task": question.task,
        "model": question.model.size,
        "region": question.region,
        "precision": question.precision,
        "answer": described(answer, question) if answer else None,
        "why": why(choice),
        "cheaper_alternative": described(choice.cheaper, question) if choice.cheaper else None,
        "quantised": {"precision": choice.quantised[0], **described(choice.quantised[1], question)}
        if choice.quantised
        else None,
        "memory": memory(choice),
        "room_for_requests": room_for_requests(choice),
        "does_not_fit": misfits(choice),
        "better_today": [{**described(fit, question), "why": reason} for fit, reason in better(choice)],
        "elsewhere": [described(fit, question) for fit in elsewhere(choice)],
        "fits": [described(fit, question) for fit in choice.all_fits],
        "assumptions": assumptions(choice),
        "warning": age_warning(today, [fit.price for fit in shown if fit.price]),
        "stack_file": render(settings(choice), question.precision or "bf16"),
    }


def described(fit: Fit, question: Question) -> dict[str, Any]:
    """One way to hold it. Prices are of all nodes, in USD per hour; None is not known."""
    price, share = fit.price, question.useful_share(fit.entry.instance_type, fit.price)
    taken_back, interruptions = interruptions_row(price), question.interruptions(price)
    spot = fit.spot_usd_hour
    hours = fit.hours(question)
    return {
        "name": fit.name,
        "instance_type": fit.entry.instance_type,
        "nodes": fit.nodes,
        "accelerator": fit.entry.accelerator,
        "accelerators_per_node": fit.accelerators,
        "accelerators_of_instance": fit.entry.accelerator_count,
        "memory_gib_each": fit.entry.accelerator_memory_gib_each,
        "link": link_of(fit.entry),
        "efa_interfaces": fit.entry.efa_interfaces,
        "on_demand_usd_hour": fit.usd_hour,
        "on_demand_read_on": _day(price.on_demand_read_on if price else None),
        "spot_usd_hour": list(spot) if spot else None,
        "spot_read_on": _day(price.spot_read_on if price and spot else None),
        "price_region": price.region if price else None,
        "price_source": price.source if price else "",
        "interruptions_a_month": taken_back.interruptions if taken_back else "",
        "interruptions_read_on": _day(taken_back.interruptions_read_on if taken_back else None),
        "interruptions_counted": interruptions.source if fit.nodes == 1 else None,
        "hours_between_interruptions": 1 / interruptions.per_hour if fit.nodes == 1 else None,
        "useful_share_on_spot": share if fit.nodes == 1 else None,
        "usd_per_useful_hour_on_spot": [per_useful_hour(usd, share) for usd in spot]
        if spot and share > 0
        else None,
        "hours": hours,
        "usd_on_demand": None if hours is None or fit.usd_hour is None else hours * fit.usd_hour,
    }


def _day(day: date | None) -> str | None:
    return day.isoformat() if day else None


def memory(choice: Choice) -> dict[str, Any]:
    """The parts on the accelerators of the answer, or on one where nothing holds it."""
    answer, need = choice.answer, choice.question.need()
    count = answer.nodes * answer.accelerators if answer else 1
    return {
        "accelerators": count,
        "parts": [
            {
                "name": part.name,
                "gib": part.all_bytes(count) / GIB,
                "gib_each": part.each_bytes(count) / GIB,
                "formula": part.formula,
                "source": part.source,
            }
            for part in need.parts
        ],
        "gib": need.all_bytes(count) / GIB,
        "gib_each": need.each_bytes(count) / GIB,
        "usable_gib_each": usable_bytes(answer.entry) / GIB if answer else None,
    }
