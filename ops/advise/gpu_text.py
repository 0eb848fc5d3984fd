"""The text of an answer on accelerators. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

MOST_SHOWN = 12
Document = Mapping[str, Any]


def lines(report: Document) -> Iterator[str]:
    yield f"{TASKS[report['task']]} a model of {report['model']} in {report['region']}"
    yield from _answer(report)
    yield ""
    yield from _memory(report["memory"])
    if report["room_for_requests"]:
        room = report["room_for_requests"]
        yield f"It has room for {room} request{'' if room == 1 else 's'} of that length at once."
    yield from _sentences("Does not fit", report["does_not_fit"])
    yield from _better(report)
    yield from _fits(report["fits"])
    yield from _sentences("Assumptions", report["assumptions"])
    if report["warning"]:
        yield f"\nWarning: {report['warning']}"
    if report["stack_file"]:
        yield "\nInto the stack file, below config:"
        yield from report["stack_file"]


TASKS = {"inference": "Serving", "lora": "LoRA of", "full": "Full fine-tuning of", "pretrain": "Pre-training"}


def _answer(report: Document) -> Iterator[str]:
    answer = report["answer"]
    if answer is None:
        yield f"No answer: {report['why']}"
        return
    yield f"Take {answer['name']}: {report['why']}."
    yield f"  {_what(answer)}; {prices(answer)}"
    if answer["hours"] is not None:
        yield f"  {answer['hours']:,.0f} hours of work{_total(answer)}"
    if quantised := report["quantised"]:
        yield f"With {quantised['precision']} weights: {quantised['name']}, {prices(quantised)}; --precision {quantised['precision']} shows it"
    if cheaper := report["cheaper_alternative"]:
        yield f"Cheaper, with less compatibility: {cheaper['name']}, {prices(cheaper)}; models are compiled for Neuron first, on a machine with more memory than its own"


def _total(answer: Document) -> str:
    usd = answer["usd_on_demand"]
    return f", {usd:,.0f} USD on demand" if usd is not None else ""


def _what(fit: Document) -> str:
    text = f"{_chips(fit)} x {fit['accelerator']} of {fit['memory_gib_each']:g} GiB"
    if fit["link"]:
        text += f" over {fit['link']}"
    if fit["nodes"] > 1:
        text += f" on each of {fit['nodes']} nodes, {fit['efa_interfaces']} EFA interfaces each"
    return text


def _chips(fit: Document, nodes: int = 1) -> str:
    """How many are at work; `4 of 8` where the machine has more."""
    used, there = fit["accelerators_per_node"], fit["accelerators_of_instance"]
    return f"{nodes * used}" if used == there else f"{nodes * used} of {nodes * there}"


def prices(fit: Document) -> str:
    """On demand, on spot, and per hour of work that stays done."""
    usd = fit["on_demand_usd_hour"]
    where = f" in {fit['price_region']}" if fit["price_region"] else ""
    texts = [
        f"on demand {usd:,.3f} USD/h{where} ({fit['on_demand_read_on']})"
        if usd is not None
        else "no on-demand price known"
    ]
    if fit["spot_usd_hour"]:
        useful = fit["usd_per_useful_hour_on_spot"]
        worth = f", {_range(useful)} per useful hour" if useful else ", of which nothing useful comes"
        texts.append(f"spot {_range(fit['spot_usd_hour'])} ({fit['spot_read_on']}){worth}")
    elif fit["nodes"] > 1:
        texts.append("no spot for several nodes")
    else:
        texts.append("no spot price known")
    if fit["interruptions_a_month"] and fit["nodes"] == 1:
        texts.append(
            f"{fit['interruptions_a_month']} interrupted in a month (Spot Advisor, {fit['interruptions_read_on']})"
        )
    return "; ".join(texts)


def _range(pair: Sequence[float]) -> str:
    low, high = (f"{usd:,.3f}" for usd in pair)
    return low if low == high else f"{low} to {high}"


def _memory(memory: Document) -> Iterator[str]:
    count = memory["accelerators"]
    each = count > 1
    yield f"Memory in GiB{f', of all {count} accelerators and of each' if each else ''}"
    for part in [*memory["parts"], {"name": "needed", "gib": memory["gib"], "gib_each": memory["gib_each"]}]:
        figures = f"{part['gib']:10,.2f}" + (f" {part['gib_each']:10,.2f}" if each else "")
        yield f"  {part['name']:<17}{figures}  {part.get('formula', _usable(memory))}".rstrip()
    sources = {part["source"]: [] for part in memory["parts"]}
    for part in memory["parts"]:
        sources[part["source"]].append(part["name"])
    yield from (f"  {', '.join(names)}: {source}" for source, names in sources.items())


def _usable(memory: Document) -> str:
    usable = memory["usable_gib_each"]
    return f"of {usable:,.2f} usable on each" if usable is not None else "on one accelerator"


def _better(report: Document) -> Iterator[str]:
    found = [f"{fit['name']}: {fit['why']}; {prices(fit)}" for fit in report["better_today"]]
    found += [
        f"{fit['name']} would hold it for {fit['on_demand_usd_hour']:,.3f} USD/h, with code for Neuron, which this platform's training images do not run"
        for fit in report["elsewhere"]
    ]
    yield from _sentences("Today's types that beat it or hold more for little more", found)


def _fits(fits: Sequence[Document]) -> Iterator[str]:
    if not fits:
        return
    rest = len(fits) - MOST_SHOWN
    yield f"\nWhat holds it, cheapest on demand first (USD per hour){f', and {rest} more with --json' if rest > 0 else ''}"
    head = ("type", "chips", "link", "EFA", "on demand", "spot", "useful hour", "interrupted")
    rows = [head, *map(_row, fits[:MOST_SHOWN])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(fit: Document) -> tuple[str, ...]:
    usd, spot, useful = fit["on_demand_usd_hour"], fit["spot_usd_hour"], fit["usd_per_useful_hour_on_spot"]
    return (
        fit["name"],
        f"{_chips(fit, fit['nodes'])} x {fit['accelerator']} {fit['memory_gib_each']:g}",
        fit["link"] or "-",
        str(fit["efa_interfaces"] or "-"),
        f"{usd:,.3f}" if usd is not None else "not known",
        _range(spot) if spot else "-",
        _range(useful) if useful else "-",
        fit["interruptions_a_month"] or "-",
    )


def _sentences(title: str, texts: Iterable[str]) -> Iterator[str]:
    texts = list(texts)
    if texts:
        yield f"\n{title}"
        yield from (f"  - {text}" for text in texts)
