"""A lake on this machine for the transfer verbs: moto's server, so that requests are real ones, and what is in it."""

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest
from moto.moto_api._internal import mock_random
from moto.server import ThreadedMotoServer

from ops.aws_calls import aws_client

BUCKET = "lake-abc"
REGION = "eu-central-1"


class Lake:
    """The bucket `lake-abc`, versioned, so that everything that is ever sent can be counted."""

    def __init__(self) -> None:
        self.client = aws_client("s3", REGION)
        self.client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        self.client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})

    def put(self, key: str, data: bytes, **extra: Any) -> None:
        self.client.put_object(Bucket=BUCKET, Key=key, Body=data, ChecksumAlgorithm="CRC32", **extra)

    def objects(self) -> dict[str, bytes]:
        listed = self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        return {
            item["Key"]: self.client.get_object(Bucket=BUCKET, Key=item["Key"])["Body"].read()
            for item in listed
        }

    def sent(self) -> int:
        """How many objects were ever written."""
        return len(self.client.list_object_versions(Bucket=BUCKET).get("Versions", []))

    def open_uploads(self) -> list[str]:
        return [item["Key"] for item in self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])]


@contextmanager
def local_lake(monkeypatch: pytest.MonkeyPatch) -> Generator[Lake]:
    """Serves a lake for one test, and points every client of S3 at it."""
    mock_random.seed(7)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://{host}:{port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
        monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
        lake = Lake()
        yield lake
        lake.client.close()
    finally:
        server.stop()
        from moto.backends import get_backend

        get_backend("s3").reset()


@contextmanager
def signals_as_in_a_terminal() -> Generator[None]:
    """For tests of signals: `nohup` switches SIGHUP off for the tests themselves, too."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


class Wrapped:
    """A client of which some calls are others."""

    def __init__(self, client: Any, **calls: Callable[..., Any]) -> None:
        self._client = client
        for name, call in calls.items():
            setattr(self, name, call)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def wrapping(**make_calls: Callable[[Any], Callable[..., Any]]) -> Callable[..., Any]:
    """Makes clients with some calls replaced; each maker gets the client."""

    def make_client(*args: Any, **options: Any) -> Wrapped:
        client = aws_client(*args, **options)
        return Wrapped(client, **{name: make(client) for name, make in make_calls.items()})

    return make_client
