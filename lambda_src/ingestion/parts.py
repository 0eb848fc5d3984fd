"""Embeds one part of a document and writes it to the index, exactly once.

The order of the steps keeps the index exact, whoever works on the same document at the same time and wherever a run
breaks off. A run writes its claim before it reads the manifest again, and its rows before it reads the manifest once
more; whoever replaces or removes the document changes the manifest before it lists rows and claims. So one of the two
always sees the other.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ingestion.claims import BusyError, Claim
from ingestion.manifest import Manifest, own_ids
from ingestion.store import Row, chunks_key, pack, part_key
from ingestion.tools import Tools
from rag.errors import PipelineError, UnavailableError
from rag.search import IndexedChunk


def embed_part(tools: Tools, manifest: Manifest, part: int) -> bool:
    """True when the part is in the index and its rows are written; False when the document changed meanwhile.

    Raises `BusyError` while another run is at work on the part.
    """
    key, revision = manifest.document_key, manifest.revision
    if tools.store.has_part(key, revision, part):
        return True
    claim, follows_another = tools.claims.take(manifest, part)
    if not tools.is_current(manifest):
        discard(tools, claim)
        return False
    if not tools.store.has_part(key, revision, part):
        if follows_another:
            _clear(tools, claim)
        _embed_and_index(tools, manifest, claim)
    if not tools.is_current(manifest):
        discard(tools, claim)
        return False
    tools.claims.drop(claim)
    return True


def stop_stale_part(tools: Tools, key: str, revision: str, part: int) -> None:
    """Clear away what runs wrote of a part whose revision is not the document's any more."""
    claim = tools.claims.read(key, revision, part)
    if claim and tools.claims.lasts(claim):
        raise BusyError("Another run is still at work on a part of a replaced document.")
    if claim:
        discard(tools, claim)
    tools.store.bucket.delete([chunks_key(key, revision)])


def discard(tools: Tools, claim: Claim) -> None:
    """Delete all of a part, for a revision that no manifest will name again."""
    key, revision = claim.document_key, claim.revision
    tools.index.bulk_delete(tools.index_name, sorted(_written_ids(tools, claim)))
    tools.store.bucket.delete([part_key(key, revision, claim.part), chunks_key(key, revision)])
    tools.claims.drop(claim)


def embedded_text(chunk: Row) -> str:
    """What is embedded of a chunk: its text below the headings that it stands under."""
    return f"{chunk['heading']}\n\n{chunk['text']}" if chunk["heading"] else chunk["text"]


def indexed_chunk(key: str, revision: str, chunk: Row, model_id: str, embedding: list[float]) -> IndexedChunk:
    """A chunk as it stands in the index."""
    return IndexedChunk(
        document_key=key,
        chunk_number=chunk["chunk_number"],
        text=chunk["text"],
        page=chunk["page"],
        heading=chunk["heading"],
        revision=revision,
        model_id=model_id,
        embedding=embedding,
    )


def part_rows(chunks: Sequence[IndexedChunk], ids: Sequence[str | None]) -> list[Row]:
    """The rows of a part object."""
    return [
        {
            "chunk_number": chunk.chunk_number,
            "id": one,
            "model_id": chunk.model_id,
            "embedding": chunk.embedding,
        }
        for chunk, one in zip(chunks, ids, strict=True)
    ]


def chunks_of_part(tools: Tools, manifest: Manifest, part: int) -> list[Row]:
    """The rows of the chunks object that belong to a part."""
    rows = tools.store.read_chunks(manifest.document_key, manifest.revision)
    if rows is None:
        raise UnavailableError("The chunks of the document are not there (yet).")
    numbers = manifest.part_numbers(part)
    return rows[numbers.start : numbers.stop]


def _embed_and_index(tools: Tools, manifest: Manifest, claim: Claim) -> None:
    key, revision = claim.document_key, claim.revision
    try:
        chunks = _embedded(tools, manifest, claim.part)
    except Exception:
        with suppress(PipelineError):
            tools.claims.drop(claim)
        raise
    try:
        ids = tools.index.bulk_index(
            tools.index_name, chunks, tools.ids_to_write(key, revision, claim.numbers)
        )
        tools.store.bucket.write(part_key(key, revision, claim.part), pack(part_rows(chunks, ids)))
    except Exception:
        # Some chunks may be in the index without anybody knowing their ids.
        with suppress(PipelineError):
            tools.claims.break_off(claim)
        raise


def _embedded(tools: Tools, manifest: Manifest, part: int) -> list[IndexedChunk]:
    rows = chunks_of_part(tools, manifest, part)
    vectors: Any = tools.embedder.embed([embedded_text(row) for row in rows])
    return [
        indexed_chunk(manifest.document_key, manifest.revision, row, manifest.model_id, vector)
        for row, vector in zip(rows, vectors, strict=True)
    ]


def _clear(tools: Tools, claim: Claim) -> None:
    """Delete what a run that broke off left in the index; ids of ours are simply written over."""
    if not tools.gives_own_ids:
        tools.index.bulk_delete(tools.index_name, sorted(_found_ids(tools, claim)))


def _written_ids(tools: Tools, claim: Claim) -> set[str]:
    """The ids of all chunks that runs may have written to the index under a claim, as far as can be known."""
    if tools.gives_own_ids:
        return set(own_ids(claim.document_key, claim.revision, claim.numbers))
    rows = tools.store.read_part(claim.document_key, claim.revision, claim.part) or []
    return {row["id"] for row in rows} | _found_ids(tools, claim)


def _found_ids(tools: Tools, claim: Claim) -> set[str]:
    return set(
        tools.index.document_ids(
            tools.index_name, claim.document_key, revision=claim.revision, chunk_numbers=claim.numbers
        )
    )
