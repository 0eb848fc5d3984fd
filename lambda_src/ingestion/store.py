"""The objects of one document in the data lake: the document itself, its processed rows, its manifest."""

import gzip
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ingestion.bucket import Bucket, StoredObject
from ingestion.manifest import REVISION, Manifest

CHUNKS_PREFIX = "processed/chunks/"
EMBEDDINGS_PREFIX = "processed/embeddings/"
PART_NAME = re.compile(r"([0-9a-f]{12})/(\d{5,})\.(jsonl\.gz|claim)")
MARK_NAME = re.compile("[0-9a-f]{12}.mark")
CHUNKS_NAME = re.compile(r"([0-9a-f]{12})\.jsonl\.gz")
# A key of S3 has at most 1,024 bytes of UTF-8, and the longest name made here puts 54 around a document's key.
# https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
MAX_KEY_BYTES = 960
ROWS_SUFFIX, CLAIM_SUFFIX = "jsonl.gz", "claim"

Row = dict[str, Any]


class Listed(NamedTuple):
    """A document without its content."""

    etag: str
    size_bytes: int


class PartObject(NamedTuple):
    """An object of one part of a revision: its rows, or a run's claim on it."""

    revision: str
    part: int
    is_claim: bool
    key: str


class DocumentStore:
    """All access to the documents and to what is kept of them."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket

    def look_up(self, key: str) -> Listed | None:
        """The document's ETag and size at this moment; None when it is not there."""
        head = self.bucket.head(key)
        return Listed(head["ETag"], head["ContentLength"]) if head else None

    def read_document(self, key: str) -> StoredObject | None:
        """Content and ETag of the document; None when it is not there."""
        return self.bucket.read(key)

    def read_manifest(self, key: str) -> Manifest | None:
        """The manifest of a document; None when nothing is kept of it."""
        stored = self.bucket.read(manifest_key(key))
        return Manifest.from_json(*stored) if stored else None

    def write_manifest(self, manifest: Manifest, replaces: Manifest | None) -> Manifest:
        """Write the manifest if nobody else did since `replaces` was read; else raise `ConflictError`."""
        key, content = manifest_key(manifest.document_key), manifest.to_json()
        if replaces:
            return replace(manifest, version=self.bucket.replace(key, content, replaces.version))
        return replace(manifest, version=self.bucket.create(key, content))

    def delete_manifest(self, manifest: Manifest) -> None:
        """Delete the manifest if nobody else wrote it since it was read; else raise `ConflictError`."""
        self.bucket.delete_version(manifest_key(manifest.document_key), manifest.version)

    def write_chunks(self, key: str, revision: str, rows: Iterable[Row]) -> None:
        """Write the chunks of a revision, all in one object."""
        self.bucket.write(chunks_key(key, revision), pack(rows))

    def has_chunks(self, key: str, revision: str) -> bool:
        """Whether the chunks of a revision have been written."""
        return self.bucket.head(chunks_key(key, revision)) is not None

    def read_chunks(self, key: str, revision: str) -> list[Row] | None:
        """All chunks of a revision in order; None when they are not there."""
        stored = self.bucket.read(chunks_key(key, revision))
        return unpack(stored.content) if stored else None

    def read_part(self, key: str, revision: str, part: int) -> list[Row] | None:
        """The rows of a part in order; None when it has not been embedded."""
        stored = self.bucket.read(part_key(key, revision, part))
        return unpack(stored.content) if stored else None

    def has_part(self, key: str, revision: str, part: int) -> bool:
        """Whether a part has been embedded and indexed."""
        return self.bucket.head(part_key(key, revision, part)) is not None

    def done_parts(self, key: str, revision: str) -> set[int]:
        """The parts of a revision that have been embedded and indexed."""
        return {one.part for one in self._parts_of(key, revision) if not one.is_claim}

    def part_objects(self, key: str) -> list[PartObject]:
        """Rows and claims of all revisions."""
        revisions = filter(REVISION.fullmatch, self.bucket.folders(f"{EMBEDDINGS_PREFIX}{key}/"))
        return [one for revision in revisions for one in self._parts_of(key, revision)]

    def chunks_revisions(self, key: str) -> list[str]:
        """All revisions whose chunks are there."""
        prefix = f"{CHUNKS_PREFIX}{key}/"
        names = (CHUNKS_NAME.fullmatch(name[len(prefix) :]) for name in self.bucket.keys(prefix))
        return [name[1] for name in names if name]

    def mark_key(self, key: str, run: str) -> str:
        """Where a run marks that it serves an event of the document."""
        return f"{EMBEDDINGS_PREFIX}{key}/{run}.mark"

    def marks(self, key: str) -> list[str]:
        """The marks of all runs on the document, by their keys."""
        prefix = f"{EMBEDDINGS_PREFIX}{key}/"
        return [name for name in self.bucket.keys(prefix) if MARK_NAME.fullmatch(name[len(prefix) :])]

    def _parts_of(self, key: str, revision: str) -> list[PartObject]:
        prefix = f"{EMBEDDINGS_PREFIX}{key}/"
        found = self.bucket.keys(f"{prefix}{revision}/")
        names = [(PART_NAME.fullmatch(name[len(prefix) :]), name) for name in found]
        return [
            PartObject(match[1], int(match[2]), match[3] == CLAIM_SUFFIX, name)
            for match, name in names
            if match
        ]


def is_too_long(key: str) -> bool:
    """Whether a key leaves no room for the names of what is kept of the document."""
    return len(key.encode()) > MAX_KEY_BYTES


def manifest_key(key: str) -> str:
    """Where the manifest of the document `key` lies."""
    return f"{CHUNKS_PREFIX}{key}.manifest.json"


def chunks_key(key: str, revision: str) -> str:
    """Where the chunks of a revision lie."""
    return f"{CHUNKS_PREFIX}{key}/{revision}.{ROWS_SUFFIX}"


def part_key(key: str, revision: str, part: int) -> str:
    """Where the embeddings of a part lie."""
    return f"{EMBEDDINGS_PREFIX}{key}/{revision}/{part:05d}.{ROWS_SUFFIX}"


def claim_key(key: str, revision: str, part: int) -> str:
    """Where the claim of the run that works on a part lies."""
    return f"{EMBEDDINGS_PREFIX}{key}/{revision}/{part:05d}.{CLAIM_SUFFIX}"


def pack(rows: Iterable[Row]) -> bytes:
    """Gzip of JSON Lines; the same rows make the same bytes."""
    lines = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    return gzip.compress(lines.encode(), compresslevel=6, mtime=0)


def unpack(content: bytes) -> list[Row]:
    """The inverse of `pack`."""
    return [json.loads(line) for line in gzip.decompress(content).splitlines()]


def chunk_rows(chunks: Sequence[Any]) -> list[Row]:
    """The rows of the chunks object from `rag.chunking.Chunk`s."""
    return [
        {"chunk_number": number, "text": chunk.text, "heading": chunk.heading, "page": chunk.page}
        for number, chunk in enumerate(chunks)
    ]
