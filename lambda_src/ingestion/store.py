"""The objects of one document in the data lake: the document itself, its processed rows, its manifest."""

import gzip
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from botocore.exceptions import ClientError

from rag.aws_errors import typed_errors
from rag.errors import PipelineError

CHUNKS_PREFIX = "processed/chunks/"
EMBEDDINGS_PREFIX = "processed/embeddings/"
MAX_DOCUMENT_BYTES = 2 * 1024 * 1024
ABSENT = {"NoSuchKey", "404", "NotFound"}
CONFLICT = {"PreconditionFailed", "ConditionalRequestConflict", "412", "409"}


class ConflictError(PipelineError):
    """Another invocation changed the same document meanwhile."""

    status_code = 503
    code = "conflict"


class DocumentError(PipelineError):
    """The document itself cannot be indexed; trying again does not help."""

    code = "document"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What the index holds of one document. `version` is the ETag of the manifest object once written."""

    document_key: str
    document_etag: str
    sequencer: str
    model_id: str
    chunk_ids: tuple[str, ...]
    version: str = ""


class DocumentStore:
    """All access to the bucket. `s3` is a boto3 client."""

    def __init__(self, s3: Any, bucket: str) -> None:
        self._s3 = s3
        self._bucket = bucket

    def read_document(self, key: str) -> tuple[bytes, str] | None:
        """Content and ETag of the document; None when it is not there."""
        reply = self._reply_or_none(self._s3.get_object, key)
        if reply is None:
            return None
        if reply["ContentLength"] > MAX_DOCUMENT_BYTES:
            size = reply["ContentLength"]
            raise DocumentError(
                f"{key} has {size} bytes, a text document may have at most {MAX_DOCUMENT_BYTES}."
            )
        with typed_errors(f"Reading {key}"):
            return reply["Body"].read(), reply["ETag"]

    def has_document(self, key: str) -> bool:
        """Whether the document is there at this moment."""
        return self._reply_or_none(self._s3.head_object, key) is not None

    def read_manifest(self, key: str) -> Manifest | None:
        """The manifest of a document; None when the document is not indexed."""
        reply = self._reply_or_none(self._s3.get_object, manifest_key(key))
        if reply is None:
            return None
        with typed_errors(f"Reading the manifest of {key}"):
            fields: dict[str, Any] = json.loads(reply["Body"].read())
        chunk_ids: tuple[str, ...] = tuple(fields.pop("chunk_ids"))
        return Manifest(**fields, chunk_ids=chunk_ids, version=reply["ETag"])

    def write_manifest(self, manifest: Manifest, replaces: Manifest | None) -> None:
        """Write the manifest if nobody else did since `replaces` was read; else raise `ConflictError`."""
        fields = asdict(replace(manifest, version=""))
        del fields["version"]
        condition = {"IfMatch": replaces.version} if replaces else {"IfNoneMatch": "*"}
        body = json.dumps(fields).encode()
        self._conditional(
            self._s3.put_object, Key=manifest_key(manifest.document_key), Body=body, **condition
        )

    def delete_manifest(self, manifest: Manifest) -> None:
        """Delete the manifest if nobody else wrote it since it was read; else raise `ConflictError`."""
        key = manifest_key(manifest.document_key)
        self._conditional(self._s3.delete_object, Key=key, IfMatch=manifest.version)

    def write_rows(self, key: str, chunks: Iterable[Any], embeddings: Iterable[Any]) -> None:
        """Write both processed objects as gzip of JSON Lines; the same rows make the same bytes."""
        for processed_key, rows in zip(row_keys(key), (chunks, embeddings), strict=True):
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            with typed_errors(f"Writing {processed_key}"):
                self._s3.put_object(
                    Bucket=self._bucket, Key=processed_key, Body=gzip.compress(lines.encode(), mtime=0)
                )

    def delete_rows(self, key: str) -> None:
        """Delete both processed objects of a document."""
        for processed_key in row_keys(key):
            with typed_errors(f"Deleting {processed_key}"):
                self._s3.delete_object(Bucket=self._bucket, Key=processed_key)

    def _reply_or_none(self, call: Any, key: str) -> Any:
        """A missing object is reported as such only to a role that may list the bucket; else it is a 403."""
        with typed_errors(f"Reading {key}"):
            try:
                return call(Bucket=self._bucket, Key=key)
            except ClientError as error:
                if error.response["Error"]["Code"] in ABSENT:
                    return None
                raise

    def _conditional(self, call: Any, **arguments: Any) -> None:
        with typed_errors(f"Changing {arguments['Key']}"):
            try:
                call(Bucket=self._bucket, **arguments)
            except ClientError as error:
                if error.response["Error"]["Code"] in CONFLICT | ABSENT:
                    raise ConflictError(f"{arguments['Key']} was changed by another invocation.") from error
                raise


def manifest_key(key: str) -> str:
    """Where the manifest of the document `key` lies."""
    return f"{CHUNKS_PREFIX}{key}.manifest.json"


def row_keys(key: str) -> tuple[str, str]:
    """Where the chunks and the embeddings of the document `key` lie."""
    return f"{CHUNKS_PREFIX}{key}.jsonl.gz", f"{EMBEDDINGS_PREFIX}{key}.jsonl.gz"
