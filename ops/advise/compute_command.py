"""`python -m ops advise compute`: Lambda, ECS or EKS for a described workload."""

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import date
from typing import Any

from ops.advise.compute import amount, chosen, options
from ops.advise.compute_prices import MONTH_HOURS, MONTH_SECONDS, ComputePrices, compute_prices
from ops.advise.workload import BUSY_SHARE, Workload, gpu_node
from ops.cost.prices import age_warning


def run(arguments: argparse.Namespace, today: date) -> int:
    """0 with an answer, 1 when none of the three holds the workload."""
    document = report(_workload(arguments), today)
    print(json.dumps(document, indent=2) if arguments.json else "\n".join(lines(document)))
    return 0 if document["answer"] else 1


def _workload(arguments: argparse.Namespace) -> Workload:
    is_job = arguments.runs_per_month is not None
    rate = arguments.runs_per_month / MONTH_SECONDS if is_job else arguments.requests_per_second
    return Workload(
        seconds=arguments.seconds,
        memory_mib=arguments.memory_mib,
        requests_per_second=rate,
        region=arguments.region,
        peak_factor=1.0 if is_job else arguments.peak_factor,
        vcpus=arguments.vcpus,
        requests_per_process=arguments.requests_per_process,
        payload_mib=arguments.payload_mib,
        is_job=is_job,
        gpu=arguments.gpu,
        stateful=arguments.stateful,
        team_runs_kubernetes=arguments.team_runs_kubernetes,
    )


def report(workload: Workload, today: date) -> dict[str, Any]:
    """The three options, the one to take and what it rests on, in plain values."""
    found = options(workload)
    answer, why = chosen(workload, found)
    prices = compute_prices(workload.region)
    node = gpu_node(workload) if workload.gpu else None
    days = [price.read_on for price in prices] + ([node.on_demand_read_on] if node and node.on_demand_read_on else [])  # fmt: skip
    return {
        "workload": asdict(workload),
        "concurrent_in_the_busiest_time": workload.concurrent,
        "answer": answer.name if answer else None,
        "why": why,
        "options": [asdict(option) for option in found],
        "assumptions": assumptions(workload, prices),
        "prices": [{**asdict(price), "read_on": price.read_on.isoformat()} for price in prices],
        "warning": age_warning(today, days),
    }


def assumptions(workload: Workload, prices: ComputePrices) -> list[str]:
    load = (
        f"a run takes {workload.seconds:g} s, and nothing runs between runs"
        if workload.is_job
        else f"the busiest time has {workload.peak_factor:g} times the mean rate; a process in a container works on {workload.requests_per_process} requests at once and is planned {BUSY_SHARE:.0%} busy, at least one runs always"
    )
    return [
        load,
        f"a process takes {workload.processor:.3g} vCPU and {workload.memory_mib:,} MiB",
        *_prices(workload.region, prices),
        f"a month is {MONTH_HOURS} hours; x86 throughout; no free tier, no savings plan, no data transfer, logs or NAT",
    ]


def _prices(region: str, prices: ComputePrices) -> Iterator[str]:
    yield "prices: " + ", ".join(
        f"{price.service} {price.what} {f'{price.price_usd:.10f}'.rstrip('0')} USD per {price.unit}{f' in {price.region}' if price.region else ''} ({price.read_on})"
        for price in prices
    )
    if any(price.region not in (region, "") for price in prices):
        yield f"where the table has no price of {region}, that of another region is shown; python -m ops prices services --region {region} reads them"


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The text of an answer."""
    yield (
        f"Take {document['answer']}: {document['why']}."
        if document["answer"]
        else f"No answer: {document['why']}."
    )
    if not document["workload"]["is_job"]:
        yield f"  {amount(document['concurrent_in_the_busiest_time'])} requests at work at once in the busiest time"
    for option in document["options"]:
        usd = f"{option['usd_month']:,.2f} USD a month" if option["usd_month"] is not None else "not possible"
        yield f"\n{option['name']}: {usd}{', ' + option['shape'] if option['usd_month'] is not None else ''}"
        yield from (f"  - {text}" for text in (*option["blockers"], *option["remarks"]))
    yield "\nAssumptions"
    yield from (f"  - {text}" for text in document["assumptions"])
    if document["warning"]:
        yield f"\nWarning: {document['warning']}"
