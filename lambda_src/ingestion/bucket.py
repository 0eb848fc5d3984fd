"""The calls of S3 that ingestion needs, with errors of our own. Objects are read whole."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from rag.aws_errors import typed_errors
from rag.errors import PipelineError, UnavailableError

ABSENT = {"NoSuchKey", "404", "NotFound"}
# 412 when somebody else was there before, 409 when both came at once.
# https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
CONFLICT = {"PreconditionFailed", "ConditionalRequestConflict", "412", "409"}
ARCHIVED = {"InvalidObjectState"}
# https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
DELETES_PER_CALL = 1000
CONTROL_CHARACTERS = re.compile("[\0-\x1f\ufffe\uffff]")


class ConflictError(PipelineError):
    """Another run changed the same object meanwhile."""

    status_code = 503
    code = "conflict"


class ArchivedError(PipelineError):
    """The object lies in an archive of S3 and must be restored before it can be read."""

    code = "archived"


class StoredObject(NamedTuple):
    """What was read."""

    content: bytes
    etag: str


class Bucket:
    """One bucket. `s3` is a boto3 client.

    On a versioned bucket all this is about current versions: what has a delete marker is absent.
    """

    def __init__(self, s3: Any, name: str) -> None:
        self._s3 = s3
        self._name = name

    def read(self, key: str) -> StoredObject | None:
        """Content and ETag; None for a missing object. Raises `ArchivedError`."""
        reply = self._reply_or_none(self._s3.get_object, key)
        if reply is None:
            return None
        with typed_errors(f"Reading {key}"):
            return StoredObject(reply["Body"].read(), reply["ETag"])

    def head(self, key: str) -> dict[str, Any] | None:
        """`ETag` and `ContentLength` among others; None for a missing object."""
        return self._reply_or_none(self._s3.head_object, key)

    def write(self, key: str, content: bytes) -> str:
        """Write whatever is there; returns the ETag."""
        with typed_errors(f"Writing {key}"):
            return self._s3.put_object(Bucket=self._name, Key=key, Body=content)["ETag"]

    def create(self, key: str, content: bytes) -> str:
        """Write where nothing is; raises `ConflictError`. Returns the ETag."""
        return self._conditional(self._s3.put_object, key, Body=content, IfNoneMatch="*")["ETag"]

    def replace(self, key: str, content: bytes, etag: str) -> str:
        """Write over the object that has this ETag; raises `ConflictError`. Returns the new ETag."""
        return self._conditional(self._s3.put_object, key, Body=content, IfMatch=etag)["ETag"]

    def delete_version(self, key: str, etag: str) -> None:
        """Delete the object if it has this ETag; raises `ConflictError`."""
        self._conditional(self._s3.delete_object, key, IfMatch=etag)

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; missing ones are no error."""
        # The bulk call carries keys in XML 1.0, which cannot hold control characters.
        for key in filter(CONTROL_CHARACTERS.search, keys):
            with typed_errors("Deleting a processed object"):
                self._s3.delete_object(Bucket=self._name, Key=key)
        keys = [key for key in keys if not CONTROL_CHARACTERS.search(key)]
        for start in range(0, len(keys), DELETES_PER_CALL):
            objects = [{"Key": key} for key in keys[start : start + DELETES_PER_CALL]]
            with typed_errors("Deleting processed objects"):
                reply = self._s3.delete_objects(Bucket=self._name, Delete={"Objects": objects, "Quiet": True})
            # The call is answered with 200 even when objects in it could not be deleted.
            if reply.get("Errors"):
                codes = sorted({error["Code"] for error in reply["Errors"]})
                raise UnavailableError(
                    f"{len(reply['Errors'])} objects were not deleted: {', '.join(codes)}."
                )

    def keys(self, prefix: str) -> list[str]:
        """All keys that begin with `prefix` and have no further slash behind it."""
        return [one["Key"] for page in self._pages(prefix) for one in page.get("Contents", [])]

    def folders(self, prefix: str) -> list[str]:
        """What stands between `prefix` and the next slash, for all keys below."""
        return [
            one["Prefix"][len(prefix) : -1]
            for page in self._pages(prefix)
            for one in page.get("CommonPrefixes", [])
        ]

    def _pages(self, prefix: str) -> Iterator[dict[str, Any]]:
        position: dict[str, str] = {}
        while True:
            with typed_errors(f"Listing {prefix}"):
                page = self._s3.list_objects_v2(Bucket=self._name, Prefix=prefix, Delimiter="/", **position)
            yield page
            if not page.get("IsTruncated"):
                return
            position = {"ContinuationToken": page["NextContinuationToken"]}

    def _reply_or_none(self, call: Any, key: str) -> Any:
        """A missing object is reported as such only to a role that may list the bucket; else it is a 403."""
        with typed_errors(f"Reading {key}"):
            try:
                return call(Bucket=self._name, Key=key)
            except ClientError as error:
                if error.response["Error"]["Code"] in ABSENT:
                    return None
                if error.response["Error"]["Code"] in ARCHIVED:
                    raise ArchivedError(f"{key} lies in an archive: restore it first.") from error
                raise

    def _conditional(self, call: Any, key: str, **arguments: Any) -> Any:
        with typed_errors(f"Changing {key}"):
            try:
                return call(Bucket=self._name, Key=key, **arguments)
            except ClientError as error:
                if error.response["Error"]["Code"] in CONFLICT | ABSENT:
                    raise ConflictError(f"{key} was changed by another run.") from error
                raise
