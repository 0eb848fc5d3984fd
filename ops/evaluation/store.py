"""Where runs and comparisons are kept: a folder, or the bucket of the data lake."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from ops.aws_calls import AwsCallError, aws_client, error_code, told
from ops.evaluation.options import NAME

# As the data lake names them: components/lake_layout.py.
BENCHMARKS, AB_TESTS = "benchmarks", "ab-tests"
PREFIX = "evaluations/"
S3_SCHEME = "s3://"
FIELDS = ("name", "results", "summary")


class StoreError(Exception):
    """A file cannot be read or written; the message says which and why."""


class Store(Protocol):
    """Keeps JSON documents and never overwrites one."""

    def check_free(self, kind: str, name: str) -> None:
        """Raises StoreError when there is one of this name already, before an hour is spent on another."""
        ...

    def write(self, kind: str, name: str, document: Mapping[str, Any]) -> str:
        """Keeps the document and says where."""
        ...


class FolderStore:
    """Below a folder, which is made when needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def check_free(self, kind: str, name: str) -> None:
        path = self._path(kind, name)
        if path.exists():
            raise StoreError(f"{path} is there already. Fix: choose another --name.")

    def write(self, kind: str, name: str, document: Mapping[str, Any]) -> str:
        path = self._path(kind, name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(as_text(document))
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror}.") from error
        return str(path)

    def _path(self, kind: str, name: str) -> Path:
        return self._folder / kind / f"{name}.json"


class BucketStore:
    """Below `evaluations/` of a bucket. `s3` is a boto3 client."""

    def __init__(self, s3: Any, bucket: str) -> None:
        self._s3 = s3
        self._bucket = bucket

    def check_free(self, kind: str, name: str) -> None:
        from botocore.exceptions import ClientError

        with told(f"looking for {self._address(kind, name)}"):
            try:
                self._s3.head_object(Bucket=self._bucket, Key=_key(kind, name))
            except ClientError as error:
                if error_code(error) == "404":
                    return
                raise
        raise StoreError(f"{self._address(kind, name)} is there already. Fix: choose another --name.")

    def write(self, kind: str, name: str, document: Mapping[str, Any]) -> str:
        with told(f"writing {self._address(kind, name)}"):
            self._s3.put_object(
                Bucket=self._bucket,
                Key=_key(kind, name),
                Body=as_text(document).encode(),
                ContentType="application/json",
                IfNoneMatch="*",
            )
        return self._address(kind, name)

    def _address(self, kind: str, name: str) -> str:
        return f"{S3_SCHEME}{self._bucket}/{_key(kind, name)}"


def read_run(place: str, region: str = "", profile: str | None = None) -> Mapping[str, Any]:
    """A run that was kept, by path or as s3://bucket/key. Raises StoreError."""
    try:
        if place.startswith(S3_SCHEME):
            bucket, _, key = place.removeprefix(S3_SCHEME).partition("/")
            with told(f"reading {place}"):
                s3 = aws_client("s3", region, profile)
                text = s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode()
        else:
            text = Path(place).read_text(encoding="utf-8")
        run = json.loads(text)
    except OSError as error:
        raise StoreError(f"{place} cannot be read: {error.strerror}.") from error
    except AwsCallError as error:
        raise StoreError(str(error)) from error
    except ValueError as error:
        raise StoreError(f"{place} is no JSON file.") from error
    # Its name becomes part of another file's.
    if not isinstance(run, dict) or not set(run) >= set(FIELDS) or not NAME.fullmatch(str(run["name"])):
        raise StoreError(f"{place} is no run of `python -m ops evaluate`.")
    return run


def as_text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _key(kind: str, name: str) -> str:
    return f"{PREFIX}{kind}/{name}.json"
