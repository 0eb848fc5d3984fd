"""Brings index and processed objects of a document in step with what the bucket holds now.

Every change is handled by looking at the bucket, not at the event: events come late, twice or in any order. What is
to be done next follows from the document and its manifest alone, so a run that broke off is simply done again.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ingestion.bucket import ConflictError
from ingestion.embedder import chunks_per_part
from ingestion.errors import DocumentError
from ingestion.events import PartToEmbed, Task
from ingestion.extraction import EXTRACTOR_VERSION, READ_SECONDS, extract, is_document, max_bytes
from ingestion.finish import finish, remove, tidy
from ingestion.manifest import Manifest, fingerprint
from ingestion.marks import Marks
from ingestion.parts import embed_part, embedded_text, stop_stale_part
from ingestion.store import MAX_KEY_BYTES, Listed, Row, chunk_rows, is_too_long
from ingestion.tools import Tools
from rag.chunking import chunk_blocks
from rag.tokens import estimate_tokens

CONFLICT_ATTEMPTS = 5


class Outcome(NamedTuple):
    """What came of a task: `indexed`, `fanned_out` (its parts wait in the queue), `embedded` (one part, others are
    missing), `unchanged`, `removed`, `stale` (a part of a replaced revision) or `skipped` (no document)."""

    name: str
    chunks: int = 0
    parts: int = 0


@dataclass(frozen=True)
class Ingestion:
    """Handles tasks one after the other, within one run."""

    tools: Tools

    def handle(self, task: Task) -> Outcome:
        """Raises `DocumentError` for what no further try can mend, else errors that one may."""
        if isinstance(task, PartToEmbed):
            return _until_undisturbed(lambda: self._part(task))
        return self._change(task.key)

    def _change(self, key: str) -> Outcome:
        if not is_document(key):
            return Outcome("skipped")
        if is_too_long(key):
            return self._too_long(key)
        marks = Marks(self.tools.claims)
        mark = marks.put(key)
        try:
            outcome = _until_undisturbed(lambda: self._synchronise(key))
        except DocumentError:
            marks.drop(key, mark)
            raise
        # After any other error the mark stays, for what was begun may have nobody else to end it.
        marks.drop(key, mark)
        return outcome

    def _synchronise(self, key: str) -> Outcome:
        manifest = self.tools.store.read_manifest(key)
        document = self.tools.store.look_up(key)
        if document is None:
            remove(self.tools, key, manifest)
            return Outcome("removed")
        if manifest and self._describes(manifest, document):
            if manifest.state == "indexed":
                tidy(self.tools, manifest)
                return Outcome("unchanged", manifest.chunks)
            return self._resume(manifest)
        return self._begin(key, document, manifest)

    def _too_long(self, key: str) -> Outcome:
        if self.tools.store.look_up(key) is None:
            return Outcome("removed")
        raise DocumentError(
            f"The key has more than the {MAX_KEY_BYTES} bytes that a document's key may have."
        )

    def _part(self, task: PartToEmbed) -> Outcome:
        manifest = self.tools.store.read_manifest(task.key)
        if manifest is None or manifest.revision != task.revision or manifest.state == "removing":
            stop_stale_part(self.tools, task.key, task.revision, task.part)
            return Outcome("stale")
        if manifest.state == "indexed":
            tidy(self.tools, manifest)
            return Outcome("unchanged", manifest.chunks)
        if not self._fits(manifest):
            # Index or model were replaced while parts of the document waited: it is begun anew.
            return self._change(task.key)
        if task.part >= manifest.parts:
            return Outcome("stale")
        return self._embed(manifest, task.part)

    def _describes(self, manifest: Manifest, document: Listed) -> bool:
        """Whether the manifest is about this content, cut, embedded and indexed as it would be now."""
        is_same = manifest.fingerprint == self._fingerprint(document.etag)
        return is_same and manifest.state != "removing" and self._fits(manifest)

    def _fits(self, manifest: Manifest) -> bool:
        """Whether the vectors are those of the model, in the index, that this function works with."""
        pipeline = self.tools.settings.pipeline
        return (
            manifest.model_id == pipeline.embedding_model_id
            and manifest.dimensions == pipeline.embedding_dimensions
            and manifest.index == self.tools.index_name
        )

    def _fingerprint(self, etag: str) -> str:
        settings = self.tools.settings
        return fingerprint(etag, settings.chunk_tokens, settings.chunk_overlap_tokens, EXTRACTOR_VERSION)

    def _begin(self, key: str, document: Listed, before: Manifest | None) -> Outcome:
        """The manifest comes first: what no manifest has named yet would look like something left behind."""
        try:
            rows = self._cut(key, document)
        except DocumentError:
            # Its old text is not in the lake any more, so no answer may quote it.
            remove(self.tools, key, before, document.etag)
            raise
        settings = self.tools.settings
        size = chunks_per_part(
            [estimate_tokens(embedded_text(row)) for row in rows],
            settings.embedding_tokens_per_minute,
            self.tools.embedder.deadline.remaining_seconds(),
        )
        manifest = Manifest(
            document_key=key,
            document_etag=document.etag,
            fingerprint=self._fingerprint(document.etag),
            state="indexing",
            revision=secrets.token_hex(6),
            model_id=settings.pipeline.embedding_model_id,
            dimensions=settings.pipeline.embedding_dimensions,
            index=self.tools.index_name,
            chunks=len(rows),
            parts=-(-len(rows) // size),
            chunks_per_part=size,
            superseded=before.retired() if before else (),
        )
        manifest = self.tools.store.write_manifest(manifest, before)
        now = self.tools.store.look_up(key)
        if now is None or now.etag != document.etag:
            # Whoever dealt with that may have done so before there was this manifest to be seen.
            raise ConflictError("The document was changed while it was read.")
        self.tools.store.write_chunks(key, manifest.revision, rows)
        return self._go_on(manifest)

    def _resume(self, manifest: Manifest) -> Outcome:
        key = manifest.document_key
        if not self.tools.store.has_chunks(key, manifest.revision):
            document = Listed(manifest.document_etag, 0)
            self.tools.store.write_chunks(key, manifest.revision, self._cut(key, document))
        return self._go_on(manifest)

    def _go_on(self, manifest: Manifest) -> Outcome:
        """Embed a document of one part now; of a larger one, send what is missing to the queue."""
        if manifest.parts == 1:
            return self._embed(manifest, 0)
        key, revision = manifest.document_key, manifest.revision
        missing = set(range(manifest.parts)) - self.tools.store.done_parts(key, revision)
        if not missing:
            return self._finish(manifest)
        self.tools.queue.send_parts(
            [PartToEmbed(key=key, revision=revision, part=part) for part in sorted(missing)]
        )
        return Outcome("fanned_out", manifest.chunks, len(missing))

    def _embed(self, manifest: Manifest, part: int) -> Outcome:
        if not embed_part(self.tools, manifest, part):
            return Outcome("stale")
        return self._finish(manifest)

    def _finish(self, manifest: Manifest) -> Outcome:
        is_complete = finish(self.tools, manifest)
        return Outcome("indexed" if is_complete else "embedded", manifest.chunks, manifest.parts)

    def _cut(self, key: str, document: Listed) -> list[Row]:
        if document.size_bytes > max_bytes(key):
            raise DocumentError(
                f"{key} has {document.size_bytes} bytes, a document of its kind may have at most {max_bytes(key)}: "
                "split it."
            )
        stored = self.tools.store.read_document(key)
        if stored is None or stored.etag != document.etag:
            raise ConflictError("The document was written again while it was read.")
        settings = self.tools.settings
        # The rest of the time is for its chunks.
        seconds = min(READ_SECONDS, self.tools.embedder.deadline.remaining_seconds() / 2)
        blocks = extract(key, stored.content, seconds)
        return chunk_rows(chunk_blocks(blocks, settings.chunk_tokens, settings.chunk_overlap_tokens))


def _until_undisturbed(step: Callable[[], Outcome]) -> Outcome:
    """When another run changed the same document meanwhile, the step is done again from its start."""
    for _ in range(CONFLICT_ATTEMPTS):
        try:
            return step()
        except ConflictError as error:
            conflict = error
    raise conflict
