"""Copies an indexed document into another index, part by part, for `python -m ops reindex`.

The caller holds the event source back meanwhile, so no other run works on documents. Doing a step again does no harm.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ingestion.bucket import ArchivedError
from ingestion.manifest import Manifest
from ingestion.parts import chunks_of_part, embedded_text, indexed_chunk, part_rows
from ingestion.store import Row, pack, part_key
from ingestion.tools import Tools
from rag.errors import PipelineError, code_and_reason
from rag.log import failure_fields, log_event
from rag.search import IndexedChunk


class ReindexError(PipelineError):
    """The request cannot be met as it is; its text says why."""

    code = "reindex"


@dataclass(frozen=True, kw_only=True)
class CopyRequest:
    """Bring one part of a document into `index`; with `re_embed` vectors that cannot be used are made anew."""

    document_key: str
    index: str
    part: int
    re_embed: bool


def reindex(tools: Tools, request: Any) -> dict[str, Any]:
    """The answer to a direct call, or `{"error": {"code", "message"}}`; never raises.

    `{"document_key", "index", "part", "re_embed"}` is answered with `{"document_key", "part", "written", "skipped",
    "embedding_tokens"}`, and `{"document_key", "index", "finish": true}` with `{"complete", "expected", "found"}`.
    """
    try:
        answer = _answer(tools, request)
    except Exception as error:
        log_event("reindex_failed", level="ERROR", **failure_fields(error))
        code, message = code_and_reason(error)
        return {"error": {"code": code, "message": message}}
    log_event("reindexed", **{"document_key": request["document_key"], "index": request["index"], **answer})
    return answer


def _answer(tools: Tools, request: Any) -> dict[str, Any]:
    match request:
        case {"document_key": str(key), "index": str(index), "finish": True}:
            return _finish(tools, _indexed_manifest(tools, key), index)
        case {"document_key": str(key), "index": str(index), "part": int(part)}:
            is_wanted = request.get("re_embed", False) is True
            copy = CopyRequest(document_key=key, index=index, part=part, re_embed=is_wanted)
            return _copy(tools, _indexed_manifest(tools, key), copy)
    raise ReindexError("The request needs document_key and index, and either part or finish.")


def _indexed_manifest(tools: Tools, key: str) -> Manifest:
    manifest = tools.store.read_manifest(key)
    if manifest is None or manifest.state != "indexed":
        state = f"in the state {manifest.state}" if manifest else "not there"
        raise ReindexError(f"The manifest of {key} is {state}; only an indexed document can be copied.")
    return manifest


def _copy(tools: Tools, manifest: Manifest, request: CopyRequest) -> dict[str, Any]:
    key, revision = manifest.document_key, manifest.revision
    if not 0 <= request.part < manifest.parts:
        raise ReindexError(f"{key} has no part {request.part}, it has {manifest.parts}.")
    numbers = manifest.part_numbers(request.part)
    found = tools.index.document_ids(request.index, key, revision=revision, chunk_numbers=numbers)
    written = 0
    if len(found) != len(numbers):
        chunks = _chunks(tools, manifest, request)
        if not tools.gives_own_ids:
            # A run that broke off wrote some of them under ids that only a search tells.
            tools.index.bulk_delete(request.index, sorted(found))
        ids = tools.ids_to_write(key, revision, numbers)
        written = len(tools.index.bulk_index(request.index, chunks, ids))
    return {
        "document_key": key,
        "part": request.part,
        "written": written,
        "skipped": len(numbers) - written,
        "embedding_tokens": tools.embedder.tokens,
    }


def _chunks(tools: Tools, manifest: Manifest, request: CopyRequest) -> list[IndexedChunk]:
    """The chunks of the part with their vectors; those made anew are kept in the lake before anything else."""
    key, revision = manifest.document_key, manifest.revision
    texts = chunks_of_part(tools, manifest, request.part)
    vectors = _kept_vectors(tools, manifest, request)
    is_new = vectors is None
    if vectors is None:
        vectors = tools.embedder.embed([embedded_text(row) for row in texts])
    model_id = tools.settings.pipeline.embedding_model_id
    chunks = [
        indexed_chunk(key, revision, row, model_id, vector)
        for row, vector in zip(texts, vectors, strict=True)
    ]
    if is_new:
        # On CLASSIC the ids come later and stand in the manifest.
        ids: Sequence[str | None] = tools.ids_to_write(
            key, revision, manifest.part_numbers(request.part)
        ) or [None] * len(chunks)
        tools.store.bucket.write(part_key(key, revision, request.part), pack(part_rows(chunks, ids)))
    return chunks


def _kept_vectors(tools: Tools, manifest: Manifest, request: CopyRequest) -> list[list[float]] | None:
    """The vectors in the lake; None when they cannot be used and may be made anew."""
    try:
        rows = tools.store.read_part(manifest.document_key, manifest.revision, request.part)
    except ArchivedError:
        if not request.re_embed:
            raise
        return None
    if rows is not None and all(_fits(tools, row) for row in rows):
        return [row["embedding"] for row in rows]
    if not request.re_embed:
        reason = (
            "are not in the lake" if rows is None else "were made by another model or have another length"
        )
        raise ReindexError(f"The vectors of part {request.part} of {manifest.document_key} {reason}.")
    return None


def _fits(tools: Tools, row: Row) -> bool:
    pipeline = tools.settings.pipeline
    return (
        row["model_id"] == pipeline.embedding_model_id
        and len(row["embedding"]) == pipeline.embedding_dimensions
    )


def _finish(tools: Tools, manifest: Manifest, index: str) -> dict[str, Any]:
    """Count what a search finds of the document in `index`; when that is all, the manifest records the new index."""
    ids = tools.index.document_ids(index, manifest.document_key, revision=manifest.revision)
    is_complete = len(ids) == manifest.chunks
    if is_complete:
        pipeline = tools.settings.pipeline
        copied = replace(
            manifest,
            index=index,
            model_id=pipeline.embedding_model_id,
            dimensions=pipeline.embedding_dimensions,
            chunk_ids=() if tools.gives_own_ids else tuple(sorted(ids)),
        )
        tools.store.write_manifest(copied, manifest)
    return {"complete": is_complete, "expected": manifest.chunks, "found": len(ids)}
