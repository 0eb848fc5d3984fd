"""Brings index and processed objects of one document in step with what the bucket holds now.

Every change is handled by looking at the bucket, not at the event: events come late, twice or in any order.
The manifest is written last and only if nobody else wrote it meanwhile; an invocation that lost starts over.
"""

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ingestion.events import ObjectChange, is_older, newest
from ingestion.store import ConflictError, DocumentError, DocumentStore, Manifest
from rag.chunking import chunk
from rag.search import IndexedChunk, OpenSearchClient

RAW_PREFIX = "raw/"
TEXT_SUFFIXES = (".txt", ".md")
CONFLICT_ATTEMPTS = 5
# Calls of the embedding model at the same time; it takes one text per call.
EMBEDDING_WORKERS = 4


@dataclass(frozen=True, kw_only=True)
class Ingestion:
    """What is needed to handle a change. `embed` is called from several threads."""

    store: DocumentStore
    index: OpenSearchClient
    index_alias: str
    embed: Callable[[str], list[float]]
    model_id: str
    collection_generation: str

    def handle(self, change: ObjectChange) -> str:
        """`indexed`, `removed`, `stale` (a newer change is in already) or `skipped` (no text document)."""
        if not is_document(change.key):
            return "skipped"
        # Ids that this invocation wrote before it lost; they stand in no manifest, and no search finds them yet.
        unlisted: set[str] = set()
        for attempt in range(CONFLICT_ATTEMPTS):
            manifest = self.store.read_manifest(change.key)
            # After a conflict it is done again in any case: the loser may have overwritten a winner's chunk.
            if attempt == 0 and manifest and is_older(change.sequencer, manifest.sequencer):
                return "stale"
            try:
                return self._synchronise(change, manifest, unlisted)
            except ConflictError as error:
                conflict = error
        raise conflict

    def _synchronise(self, change: ObjectChange, manifest: Manifest | None, unlisted: set[str]) -> str:
        document = self.store.read_document(change.key)
        if document is None:
            self._remove(change.key, manifest, unlisted)
            return "removed"
        content, etag = document
        chunks = self._chunks(change.key, content)
        old_ids = unlisted | self._known_ids(change.key, manifest)
        new_ids = self.index.bulk_index(self.index_alias, chunks, self._own_ids(change.key, len(chunks)))
        unlisted.update(new_ids)
        self.store.write_rows(change.key, *_rows(chunks))
        self.index.bulk_delete(self.index_alias, sorted(old_ids - set(new_ids)))
        written = Manifest(
            document_key=change.key,
            document_etag=etag,
            sequencer=newest(change.sequencer, manifest.sequencer if manifest else ""),
            model_id=self.model_id,
            chunk_ids=tuple(new_ids),
        )
        self.store.write_manifest(written, manifest)
        return "indexed"

    def _remove(self, key: str, manifest: Manifest | None, unlisted: set[str]) -> None:
        self.index.bulk_delete(self.index_alias, sorted(unlisted | self._known_ids(key, manifest)))
        self.store.delete_rows(key)
        if manifest:
            self.store.delete_manifest(manifest)
        if self.store.has_document(key):
            raise ConflictError(f"{key} was written again while it was being removed.")

    def _known_ids(self, key: str, manifest: Manifest | None) -> set[str]:
        """The manifest knows what is not searchable yet, the index what a broken-off invocation left."""
        return {*(manifest.chunk_ids if manifest else ()), *self.index.document_ids(self.index_alias, key)}

    def _own_ids(self, key: str, count: int) -> list[str] | None:
        """Ids that follow from key and number, or None where the collection gives them (CLASSIC)."""
        if self.collection_generation == "CLASSIC":
            return None
        digest = hashlib.sha256(key.encode()).hexdigest()
        return [f"{digest}-{number}" for number in range(count)]

    def _chunks(self, key: str, content: bytes) -> list[IndexedChunk]:
        try:
            pieces = chunk(content.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise DocumentError(f"{key} is not UTF-8 text (byte {error.start}): save it as UTF-8.") from None
        with ThreadPoolExecutor(EMBEDDING_WORKERS) as workers:
            vectors = list(workers.map(self.embed, pieces))
        return [
            IndexedChunk(
                document_key=key, chunk_number=number, text=piece, model_id=self.model_id, embedding=vector
            )
            for number, (piece, vector) in enumerate(zip(pieces, vectors, strict=True))
        ]


def is_document(key: str) -> bool:
    """Whether the object is a text document that this function reads."""
    return key.startswith(RAW_PREFIX) and key.lower().endswith(TEXT_SUFFIXES)


def _rows(chunks: Sequence[IndexedChunk]) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    texts: list[dict[str, object]] = [{"chunk_number": one.chunk_number, "text": one.text} for one in chunks]
    vectors: list[dict[str, object]] = [
        {"chunk_number": one.chunk_number, "model_id": one.model_id, "embedding": one.embedding}
        for one in chunks
    ]
    return texts, vectors
