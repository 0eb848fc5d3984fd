"""Decides, part by part, whether vectors are copied or made anew, and says what that takes. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from ops.progress import duration
from ops.reindex.functions import IngestionFacts
from ops.reindex.lake import (
    INDEXED,
    INDEXING,
    REMOVING,
    RESTORED_DAYS,
    Document,
    Readable,
    StoredObject,
    Survey,
)
from ops.reindex.prices import BULK, RETRIEVALS, STANDARD, embedding_usd, retrieval_usd

MOST_NAMED = 20
MIB = 1024**2


class ArchiveChoice(Enum):
    """What is done about archived vectors."""

    RESTORE = "restore"
    RE_EMBED = "re-embed"


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What the operator has allowed."""

    archive: ArchiveChoice | None = None
    re_embed: bool = False


@dataclass(frozen=True, kw_only=True)
class PartOfDocument:
    """One part to be brought into the new index; `embed` when its vectors are made anew from the text."""

    document: Document
    part: int
    embed: bool

    @property
    def chunks(self) -> int:
        """As many as a whole part has; the last one of a document may have fewer."""
        return -(-self.document.chunks // self.document.parts)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What would be done.

    `archived` are the objects that must be read and cannot be yet, with how far they are; `archived_parts` the vectors
    that could be copied if they were not archived. `lost`, `incomplete`, `unfinished` and `leaving` are documents.
    """

    documents: Sequence[Document]
    parts: Sequence[PartOfDocument]
    archived: Mapping[str, Readable]
    archived_parts: Sequence[StoredObject]
    other_vectors: Sequence[str]
    lost: Sequence[str]
    incomplete: Sequence[str]
    unfinished: Sequence[str]
    leaving: Sequence[str]
    size_bytes: int

    @property
    def chunks(self) -> int:
        return sum(document.chunks for document in self.documents)

    @property
    def embedded_chunks(self) -> int:
        """Chunks whose vectors are made anew, counted by whole parts."""
        return sum(part.chunks for part in self.parts if part.embed)


def make_plan(
    survey: Survey, facts: IngestionFacts, choices: Choices, readable: Mapping[str, Readable]
) -> Plan:
    """`readable` says of each archived object whether it can be read already."""
    documents = survey.in_state(INDEXED)
    parts = [
        PartOfDocument(
            document=document, part=part, embed=_embeds(survey, facts, choices, readable, document, part)
        )
        for document in documents
        for part in range(document.parts)
    ]
    needed = set(_needed(parts))
    archived = {key: readable[key] for key in sorted(needed) if _is_unreadable(readable, key)}
    return Plan(
        documents=documents,
        parts=parts,
        archived=archived,
        archived_parts=_archived_parts(survey, facts, readable, documents),
        other_vectors=[document.key for document in documents if not _same_vectors(document, facts)],
        lost=[one.key for one in documents if one.parts and one.chunks_object not in survey.objects],
        incomplete=[
            one.key for one in documents if any(key not in survey.objects for key in one.part_objects)
        ],
        unfinished=[document.key for document in survey.in_state(INDEXING)],
        leaving=[document.key for document in survey.in_state(REMOVING)],
        size_bytes=sum(survey.objects[key].size_bytes for key in needed if key in survey.objects),
    )


def archived_keys(survey: Survey) -> list[str]:
    """The archived objects that a reindex could want to read."""
    wanted = (key for one in survey.in_state(INDEXED) for key in [one.chunks_object, *one.part_objects])
    return [key for key in wanted if key in survey.objects and survey.objects[key].archived]


def objections(plan: Plan, facts: IngestionFacts, choices: Choices) -> list[str]:
    """Why this plan cannot be carried out, each with its fix; empty when it can."""
    found = []
    if plan.lost:
        found.append(
            f"The text of these documents is not in the lake: {named(plan.lost)}. Fix: upload them again."
        )
    if plan.unfinished:
        found.append(
            f"These documents are being indexed at the moment: {named(plan.unfinished)}. "
            "Fix: wait until ingestion has finished and run this again; if they stay, look at `python -m ops redrive --show`."
        )
    if plan.other_vectors and not choices.re_embed:
        found.append(
            f"{len(plan.other_vectors)} documents have vectors of another model or dimension than {facts.model_id} with "
            f"{facts.dimensions}: {named(plan.other_vectors)}. Fix: add --re-embed, which makes them anew at the price above."
        )
    elif plan.incomplete and not choices.re_embed:
        found.append(
            f"Vectors of these documents are missing in the lake: {named(plan.incomplete)}. "
            "Fix: add --re-embed, which makes what is missing anew at the price above."
        )
    if plan.archived and choices.archive is None:
        found.append(
            f"{len(plan.archived)} objects that must be read are archived. "
            "Fix: add --glacier restore or --glacier re-embed; what both take is said above."
        )
    return found


def describe(plan: Plan, facts: IngestionFacts, runs: int) -> Iterator[str]:
    """What there is, and what each choice costs and lasts, in lines for the operator."""
    copied = sum(not part.embed for part in plan.parts)
    yield (
        f"{len(plan.documents)} documents with {plan.chunks} chunks; "
        f"{plan.size_bytes / MIB:.1f} MiB to read from the lake."
    )
    yield f"Vectors are copied for {copied} of {len(plan.parts)} parts and made anew for the others."
    if plan.leaving:
        yield f"Left out, since they are being removed: {named(plan.leaving)}."
    if plan.embedded_chunks:
        yield f"Embedding with {facts.model_id}: {_embedding(plan.embedded_chunks, facts, runs)}."
    yield from _archive_lines(plan, facts, runs)


def named(keys: Sequence[str]) -> str:
    """The keys as text, at most so many that one can still read them."""
    more = f" and {len(keys) - MOST_NAMED} more" if len(keys) > MOST_NAMED else ""
    return ", ".join(keys[:MOST_NAMED]) + more


def _archive_lines(plan: Plan, facts: IngestionFacts, runs: int) -> Iterator[str]:
    if not plan.archived_parts:
        return
    by_class = Counter(item.storage_class for item in plan.archived_parts)
    sizes: Counter[str] = Counter()
    for item in plan.archived_parts:
        sizes[item.storage_class] += item.size_bytes
    for storage_class, count in sorted(by_class.items()):
        size = sizes[storage_class]
        yield f"{count} parts with {size / MIB:.1f} MiB lie in {storage_class}."
        for tier in (BULK, STANDARD):
            usd = retrieval_usd(storage_class, tier, count, size, RESTORED_DAYS)
            hours = RETRIEVALS[(storage_class, tier)].hours
            yield f"  --glacier restore --restore-tier {tier.lower()}: {hours}, about {usd:.2f} USD."
    archived = {item.key for item in plan.archived_parts}
    chunks = sum(part.chunks for part in plan.parts if part.document.part_object(part.part) in archived)
    yield f"  --glacier re-embed: {_embedding(chunks, facts, runs)}."


def _embedding(chunks: int, facts: IngestionFacts, runs: int) -> str:
    """Chunks may be smaller than their limit, so this is the most that it can be."""
    tokens = chunks * facts.chunk_tokens
    usd = embedding_usd(facts.model_id, tokens)
    price = "at a price not known here" if usd is None else f"{usd:.2f} USD"
    lasts = duration(tokens / max(facts.tokens_per_minute * runs, 1) * 60)
    return f"at most {tokens} tokens, {price}, {lasts} at the configured pace"


def _embeds(
    survey: Survey,
    facts: IngestionFacts,
    choices: Choices,
    readable: Mapping[str, Readable],
    document: Document,
    part: int,
) -> bool:
    key = document.part_object(part)
    if not _same_vectors(document, facts) or key not in survey.objects:
        return True
    return _is_unreadable(readable, key) and choices.archive is ArchiveChoice.RE_EMBED


def _needed(parts: Sequence[PartOfDocument]) -> Iterator[str]:
    """The text is always read: vectors alone make no passage."""
    for part in parts:
        yield part.document.chunks_object
        if not part.embed:
            yield part.document.part_object(part.part)


def _archived_parts(
    survey: Survey, facts: IngestionFacts, readable: Mapping[str, Readable], documents: Sequence[Document]
) -> list[StoredObject]:
    keys = (key for one in documents if _same_vectors(one, facts) for key in one.part_objects)
    return [survey.objects[key] for key in keys if _is_unreadable(readable, key)]


def _is_unreadable(readable: Mapping[str, Readable], key: str) -> bool:
    """Objects that are not archived are not in `readable`."""
    return readable.get(key, Readable.NOW) is not Readable.NOW


def _same_vectors(document: Document, facts: IngestionFacts) -> bool:
    return (document.model_id, document.dimensions) == (facts.model_id, facts.dimensions)
