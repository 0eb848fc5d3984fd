"""What the data lake holds of the indexed documents: their manifests, chunks and vectors, and what is archived."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ops.aws_calls import AwsCallError, error_code, told
from ops.parallel import in_parallel

CHUNKS_PREFIX = "processed/chunks/"
EMBEDDINGS_PREFIX = "processed/embeddings/"
MANIFEST_SUFFIX = ".manifest.json"
ARCHIVED = ("GLACIER", "DEEP_ARCHIVE")
# Requests to S3 at the same time; a client needs as many connections.
WORKERS = 16
# How long a restored copy is kept beside the archived object; both are paid for.
RESTORED_DAYS = 7

INDEXED, INDEXING, REMOVING = "indexed", "indexing", "removing"


class Readable(Enum):
    """Whether an archived object can be read."""

    NOW = "now"
    SOON = "soon"
    NO = "no"


@dataclass(frozen=True, kw_only=True)
class StoredObject:
    key: str
    size_bytes: int
    storage_class: str

    @property
    def archived(self) -> bool:
        return self.storage_class in ARCHIVED


@dataclass(frozen=True, kw_only=True)
class Document:
    """A manifest: which vectors the index should hold of one document."""

    key: str
    state: str
    revision: str
    model_id: str
    dimensions: int
    chunks: int
    parts: int

    @property
    def chunks_object(self) -> str:
        return f"{CHUNKS_PREFIX}{self.key}/{self.revision}.jsonl.gz"

    @property
    def part_objects(self) -> list[str]:
        return [self.part_object(part) for part in range(self.parts)]

    def part_object(self, part: int) -> str:
        return f"{EMBEDDINGS_PREFIX}{self.key}/{self.revision}/{part:05d}.jsonl.gz"


@dataclass(frozen=True, kw_only=True)
class Survey:
    """All documents, in the order of their keys, and the processed objects by key."""

    documents: Sequence[Document]
    objects: Mapping[str, StoredObject]

    def in_state(self, *states: str) -> list[Document]:
        return [document for document in self.documents if document.state in states]


class Lake:
    """The bucket. `s3` is a boto3 client with at least `WORKERS` connections."""

    def __init__(self, s3: Any, bucket: str) -> None:
        self._s3 = s3
        self._bucket = bucket

    def survey(self, advance: Callable[[int], None] = lambda count: None) -> Survey:
        """Reads everything once; `advance` is told of each manifest."""
        objects = {
            item.key: item for prefix in (CHUNKS_PREFIX, EMBEDDINGS_PREFIX) for item in self._list(prefix)
        }
        keys = [key for key in objects if key.startswith(CHUNKS_PREFIX) and key.endswith(MANIFEST_SUFFIX)]

        def read(key: str) -> Document | None:
            document = self._manifest(key)
            advance(1)
            return document

        documents = [document for document in in_parallel(read, keys, WORKERS) if document]
        return Survey(documents=sorted(documents, key=lambda document: document.key), objects=objects)

    def readable(self, key: str) -> Readable:
        """Whether an archived object has been restored.

        https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadObject.html, response header x-amz-restore
        """
        with told(f"reading the state of {key}"):
            restore = self._s3.head_object(Bucket=self._bucket, Key=key).get("Restore", "")
        if not restore:
            return Readable.NO
        return Readable.SOON if 'ongoing-request="true"' in restore else Readable.NOW

    def restore(self, key: str, tier: str) -> None:
        """Asks for a copy that can be read; asking twice does no harm. `tier` is Bulk or Standard."""
        from botocore.exceptions import ClientError

        request = {"Days": RESTORED_DAYS, "GlacierJobParameters": {"Tier": tier}}
        with told(f"restoring {key}"):
            try:
                self._s3.restore_object(Bucket=self._bucket, Key=key, RestoreRequest=request)
            except ClientError as error:
                if error_code(error) != "RestoreAlreadyInProgress":
                    raise

    def _list(self, prefix: str) -> Iterator[StoredObject]:
        with told(f"listing {prefix} of the bucket {self._bucket}"):
            pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
            for page in pages:
                for item in page.get("Contents", ()):
                    yield StoredObject(
                        key=item["Key"],
                        size_bytes=item["Size"],
                        storage_class=item.get("StorageClass", "STANDARD"),
                    )

    def _manifest(self, key: str) -> Document | None:
        """None when it was deleted since it was listed."""
        from botocore.exceptions import ClientError

        with told(f"reading {key}"):
            try:
                body = self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read()
            except ClientError as error:
                if error_code(error) == "NoSuchKey":
                    return None
                raise
        return _document(key, body)


def _document(key: str, body: bytes) -> Document:
    try:
        fields = json.loads(body)
        return Document(
            key=fields["document_key"],
            state=fields["state"],
            revision=fields["revision"],
            model_id=fields["model_id"],
            dimensions=fields["dimensions"],
            chunks=fields["chunks"],
            parts=fields["parts"],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise AwsCallError(
            f"{key} is no manifest of this version ({type(error).__name__}: {error}). "
            "Fix: delete it, and copy the document onto itself, which indexes it anew."
        ) from error
