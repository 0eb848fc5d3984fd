"""Fills the new index and moves the alias to it, once every chunk is shown to be there."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ops.aws_calls import AwsCallError
from ops.parallel import in_parallel
from ops.progress import Progress, duration
from ops.reindex.functions import Functions, IngestionFacts
from ops.reindex.lake import Document
from ops.reindex.plan import PartOfDocument, Plan, named

# CLASSIC shows new documents after up to a minute, and one that scaled to zero needs half a minute to wake up.
VISIBLE_POLL_SECONDS = 10
VISIBLE_MOST_SECONDS = 600


class IncompleteError(Exception):
    """The new index lacks something, so the alias stays where it is; the message names the documents."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """The index to be filled, and how many runs of the function fill it at once."""

    index: str
    runs: int


@dataclass(frozen=True, kw_only=True)
class Filled:
    """What was done. `skipped` chunks were there already, from a run that was broken off."""

    written: int
    skipped: int
    embedding_tokens: int


def create_index(functions: Functions, facts: IngestionFacts, index: str) -> None:
    """Makes the index, or finds it there already with the same dimension."""
    functions.vector_index(
        action="create_index", index=index, dimension=facts.dimensions, generation=facts.generation
    )


def fill(functions: Functions, plan: Plan, target: Target) -> Filled:
    """Brings every part into the index. Raises IncompleteError after all of them, if some could not be brought."""
    failures: list[tuple[str, str]] = []
    with Progress("Parts", len(plan.parts)) as progress:

        def copy(one: PartOfDocument) -> dict[str, Any]:
            try:
                answer = functions.reindex(
                    document_key=one.document.key, index=target.index, part=one.part, re_embed=one.embed
                )
            except AwsCallError as error:
                failures.append((one.document.key, str(error)))
                progress.note(f"{one.document.key}, part {one.part}: {error}")
                answer = {}
            progress.advance()
            return answer

        answers = in_parallel(copy, plan.parts, target.runs)
    if failures:
        keys = sorted({key for key, _ in failures})
        raise IncompleteError(f"{len(keys)} documents could not be copied: {named(keys)}. {failures[0][1]}")
    return Filled(
        written=sum(answer.get("written", 0) for answer in answers),
        skipped=sum(answer.get("skipped", 0) for answer in answers),
        embedding_tokens=sum(answer.get("embedding_tokens", 0) for answer in answers),
    )


def wait_until_visible(
    functions: Functions, plan: Plan, target: Target, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Returns when a search would find exactly as many chunks as the documents have; the wait is bounded."""
    found = 0
    with Progress("Searchable chunks", plan.chunks) as progress:
        for _ in range(VISIBLE_MOST_SECONDS // VISIBLE_POLL_SECONDS):
            found = functions.vector_index(action="count", index=target.index)["documents"]
            progress.reach(found)
            if found >= plan.chunks:
                break
            sleep(VISIBLE_POLL_SECONDS)
    if found > plan.chunks:
        raise IncompleteError(
            f"The index {target.index} has {found} chunks instead of {plan.chunks}: documents changed since an earlier, "
            f"broken-off run. Fix: delete it with --delete-old {target.index}, or fill one of another name."
        )
    if found < plan.chunks:
        raise IncompleteError(
            f"The index {target.index} shows {found} of {plan.chunks} chunks after {duration(VISIBLE_MOST_SECONDS)}."
        )


def finish(functions: Functions, documents: Sequence[Document], target: Target) -> None:
    """Has the function compare each document with the index and note in its manifest what is there.

    Raises IncompleteError with the documents of which something is missing.
    """
    with Progress("Documents checked", len(documents)) as progress:

        def check(document: Document) -> str | None:
            try:
                answer = functions.reindex(document_key=document.key, index=target.index, finish=True)
                missing = (
                    "" if answer.get("complete") else f"{answer.get('found')} of {answer.get('expected')}"
                )
            except AwsCallError as error:
                missing = str(error)
            progress.advance()
            return f"{document.key} ({missing})" if missing else None

        incomplete = [one for one in in_parallel(check, documents, target.runs) if one]
    if incomplete:
        raise IncompleteError(
            f"{len(incomplete)} documents are incomplete in {target.index}: {named(incomplete)}."
        )


def move_alias(functions: Functions, alias: str, index: str) -> None:
    """Lets searches use the index from now on, and makes sure that they do."""
    functions.vector_index(action="move_alias", alias=alias, to=index)
    targets = functions.vector_index(action="status", alias=alias)["targets"]
    if targets != [index]:
        raise AwsCallError(
            f"The alias {alias} points to {', '.join(targets) or 'nothing'} instead of {index}."
        )
