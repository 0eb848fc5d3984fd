"""What is in the lake already, and which of it is the same as what is here."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ops.aws_calls import error_code, told
from ops.parallel import in_parallel
from ops.transfer.checksums import holds_same_bytes


def objects_below(client: Any, bucket: str, prefix: str) -> dict[str, int]:
    """Length by key of every object whose key starts with `prefix`. Raises AwsCallError."""
    found: dict[str, int] = {}
    with told(f"listing s3://{bucket}/{prefix}"):
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            found |= {item["Key"]: item["Size"] for item in page.get("Contents", [])}
    return found


def head_of(client: Any, bucket: str, key: str) -> dict[str, Any]:
    """What S3 tells of an object, with its checksum; empty when it is gone. Raises AwsCallError."""
    from botocore.exceptions import ClientError

    with told(f"reading the checksum of {key}"):
        try:
            return client.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
        except ClientError as error:
            if error_code(error) in ("404", "NoSuchKey", "NotFound"):
                return {}
            raise


def unchanged_keys(
    client: Any,
    bucket: str,
    candidates: Sequence[tuple[str, str]],
    concurrency: int,
    step: Callable[[], None],
) -> set[str]:
    """The keys among (path, key) whose object holds the same bytes as the file. Raises AwsCallError and OSError."""

    def same(candidate: tuple[str, str]) -> bool:
        path, key = candidate
        head = head_of(client, bucket, key)
        step()
        return bool(head) and holds_same_bytes(path, head) is True

    answers: Iterable[bool] = in_parallel(same, candidates, concurrency)
    return {key for (_, key), is_same in zip(candidates, answers, strict=True) if is_same}
