"""The steps of a reindex, from a look at the lake to the moved alias, and the deletion of an old index."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ops.parallel import in_parallel
from ops.progress import Progress, confirmed, someone_is_there
from ops.reindex import rebuild
from ops.reindex.functions import Functions, IngestionFacts
from ops.reindex.lake import WORKERS, Lake, Readable
from ops.reindex.pause import EventSource, paused
from ops.reindex.plan import Choices, Plan, archived_keys, describe, make_plan, objections
from ops.reindex.prices import BULK, RETRIEVALS

DEFAULT_RUNS = 4


class RefusedError(Exception):
    """It cannot or must not be done as things are; the message says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Platform:
    """What a reindex works on."""

    functions: Functions
    facts: IngestionFacts
    lake: Lake
    lambda_client: Any
    sqs: Any
    say: Callable[[str], None]
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, kw_only=True)
class Order:
    """What the operator asked for. Without `sure` somebody at the terminal is asked."""

    index: str
    choices: Choices
    tier: str = BULK
    runs: int | None = None
    sure: bool = False


def reindex(platform: Platform, order: Order) -> dict[str, Any]:
    """The whole procedure; what was done, for machines. Safe to run again at any time."""
    facts, say = platform.facts, platform.say
    status = platform.functions.vector_index(action="status", alias=facts.alias)
    if status["targets"] == [order.index]:
        say(f"The alias {facts.alias} points to {order.index} already; there is nothing to do.")
        return {"done": True, "index": order.index, "old_indexes": []}
    _check_dimension(status, order.index, facts)
    source = EventSource(platform.lambda_client, platform.functions.ingestion, platform.sleep)
    runs = _runs(order, source)
    plan = _plan(platform, order)
    say(f"From {', '.join(status['targets']) or 'nothing'} to {order.index} ({facts.dimensions} dimensions):")
    for line in describe(plan, facts, runs):
        say(line)
    _refuse(objections(plan, facts, order.choices))
    if plan.archived:
        return _restore(platform, order, plan)
    if not source.is_on:
        say(
            "Ingestion is off already, by a broken-off run or a sleeping stack; it is switched on at the end."
        )
    _ask(f"Hold ingestion back, fill {order.index} and move the alias {facts.alias}?", order.sure)
    with paused(source, say):
        filled = _rebuild(platform, order, source, runs)
    old = [name for name in status["targets"] if name != order.index]
    say(
        f"The alias {facts.alias} points to {order.index}: {filled.written} chunks written, {filled.skipped} there before."
    )
    for name in old:
        say(f"{name} is kept; when all is well, delete it with --delete-old {name}.")
    return {"done": True, "index": order.index, "old_indexes": old, **asdict(filled)}


def delete_index(platform: Platform, index: str, *, sure: bool) -> dict[str, Any]:
    """Deletes an index that no search uses any more, after a question."""
    status = platform.functions.vector_index(action="status", alias=platform.facts.alias)
    if index in status["targets"]:
        raise RefusedError(
            f"The alias {status['alias']} points to {index}: searches use it, so it is not deleted."
        )
    if index not in status["indexes"]:
        raise RefusedError(f"There is no index {index}; there are: {', '.join(sorted(status['indexes']))}.")
    chunks = status["indexes"][index]["documents"]
    _ask(f"Delete the index {index} with {chunks} chunks for ever?", sure)
    platform.functions.vector_index(action="delete_index", index=index)
    platform.say(f"Deleted {index}.")
    return {"done": True, "deleted": index, "chunks": chunks}


def _rebuild(platform: Platform, order: Order, source: EventSource, runs: int) -> rebuild.Filled:
    """With ingestion held back: look again, fill, check, move. An error says how to go on."""
    functions, facts = platform.functions, platform.facts
    target = rebuild.Target(index=order.index, runs=runs)
    try:
        source.wait_for_runs(platform.sqs, facts.queue_url, facts.timeout_seconds)
        plan = _plan(platform, order)
        _refuse(objections(plan, facts, order.choices))
        if plan.archived:
            raise RefusedError("More objects were archived meanwhile.")
        rebuild.create_index(functions, facts, order.index)
        filled = rebuild.fill(functions, plan, target)
        rebuild.wait_until_visible(functions, plan, target, platform.sleep)
        rebuild.finish(functions, plan.documents, target)
    except BaseException:
        platform.say("Broken off; the alias is where it was. The same command goes on where this run ended.")
        raise
    rebuild.move_alias(functions, facts.alias, order.index)
    return filled


def _plan(platform: Platform, order: Order) -> Plan:
    """Looks at the whole lake."""
    with Progress("Documents found", None) as progress:
        survey = platform.lake.survey(progress.advance)
    archived = archived_keys(survey)
    readable: dict[str, Readable] = dict(
        zip(archived, in_parallel(platform.lake.readable, archived, WORKERS), strict=True)
    )
    return make_plan(survey, platform.facts, order.choices, readable)


def _restore(platform: Platform, order: Order, plan: Plan) -> dict[str, Any]:
    """Asks for what must be read and cannot be; nothing else is touched until it can."""
    wanted = [key for key, state in plan.archived.items() if state is Readable.NO]
    if wanted:
        _ask(f"Restore {len(wanted)} objects ({order.tier.lower()})?", order.sure)
        in_parallel(lambda key: platform.lake.restore(key, order.tier), wanted, WORKERS)
    hours = RETRIEVALS[("GLACIER", order.tier)].hours
    under_way = len(plan.archived) - len(wanted)
    platform.say(f"{len(wanted)} objects are being restored, {under_way} were on their way already.")
    platform.say(f"Run the same command again in {hours} (later for DEEP_ARCHIVE).")
    return {"done": False, "restoring": len(wanted), "restoring_before": under_way}


def _check_dimension(status: dict[str, Any], index: str, facts: IngestionFacts) -> None:
    there = status["indexes"].get(index)
    if there and there["dimension"] != facts.dimensions:
        raise RefusedError(
            f"The index {index} has {there['dimension']} dimensions, but {facts.model_id} is set up with "
            f"{facts.dimensions}. Fix: use another name."
        )


def _runs(order: Order, source: EventSource) -> int:
    """Runs of the function at once. The embedding budget is shared among as many as the event source may start."""
    limit = source.maximum_concurrency or DEFAULT_RUNS
    return min(order.runs or limit, limit)


def _refuse(reasons: Sequence[str]) -> None:
    if reasons:
        raise RefusedError("\n".join(reasons))


def _ask(question: str, sure: bool) -> None:
    if sure:
        return
    if not someone_is_there():
        raise RefusedError("Nobody is at the terminal to be asked. Fix: add --yes.")
    if not confirmed(question):
        raise RefusedError("Nothing was changed.")
