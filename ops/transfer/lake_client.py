"""The client that the transfer manager gets: S3's own, which remembers the uploads in parts that are open."""

import _thread
import io
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from ops.aws_calls import AwsCallError, told
from ops.stops import stopped_as_by_ctrl_c
from ops.transfer.checksums import crc32_text
from ops.transfer.parts import MIB

# Ten of them at a time are 640 MiB.
MOST_BYTES_IN_MEMORY = 64 * MIB


class LakeClient:
    """Looks like botocore's client of S3 to s3transfer. May be used from several threads."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.meta = client.meta
        self._open: dict[str, str] = {}
        self._lock = threading.Lock()
        self.meta.events.register("before-call.s3.UploadPart", _in_one_piece)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    @property
    def open_uploads(self) -> Mapping[str, str]:
        """Upload id to key of what was begun, and neither completed nor aborted."""
        with self._lock:
            return dict(self._open)

    def put_object(self, **asked: Any) -> Any:
        return _interruptible(self._client.put_object, asked)

    def create_multipart_upload(self, **asked: Any) -> Any:
        answer = self._client.create_multipart_upload(**asked)
        with self._lock:
            self._open[answer["UploadId"]] = asked["Key"]
        return answer

    def upload_part(self, **asked: Any) -> Any:
        """UploadPart. A part of moderate size is read once, rather than for its checksum and for the wire apart."""
        body = asked["Body"]
        if len(body) <= MOST_BYTES_IN_MEMORY:
            asked.pop("ChecksumAlgorithm")
            body.signal_transferring()
            data = body.read()
            asked |= {"Body": data, "ChecksumCRC32": crc32_text(data)}
        return _interruptible(self._client.upload_part, asked)

    def complete_multipart_upload(self, **asked: Any) -> Any:
        return self._closing(self._client.complete_multipart_upload, asked)

    def abort_multipart_upload(self, **asked: Any) -> Any:
        return self._closing(self._client.abort_multipart_upload, asked)

    def _closing(self, call: Callable[..., Any], asked: dict[str, Any]) -> Any:
        answer = call(**asked)
        with self._lock:
            self._open.pop(asked["UploadId"], None)
        return answer


def _in_one_piece(params: dict[str, Any], **rest: Any) -> None:
    """Gives a part that is in memory to the connection as it is, which sends it by one call, and at once.

    botocore makes a file of it, which is sent in pieces, and which S3 is first asked about (Expect: 100-continue). What
    that is for, a refusal or a redirect before the bytes are sent, S3 has answered when the upload was begun.
    """
    if isinstance(params["body"], io.BytesIO):
        params["body"] = params["body"].getvalue()
        params["headers"].pop("Expect", None)


def _interruptible(call: Callable[..., Any], asked: dict[str, Any]) -> Any:
    """s3transfer takes an interrupt in one of its threads for success; the main thread must hear of it."""
    try:
        return call(**asked)
    except KeyboardInterrupt:
        _thread.interrupt_main()
        raise RuntimeError("it was interrupted") from None


@contextmanager
def nothing_left_open(client: Any, bucket: str) -> Generator[LakeClient]:
    """The client for a transfer manager. Whatever upload is still open in the end is given up, by any way out."""
    lake = LakeClient(client)
    try:
        with stopped_as_by_ctrl_c():
            yield lake
    finally:
        for upload_id, key in lake.open_uploads.items():
            _give_up(lake, bucket, key, upload_id)


def _give_up(lake: LakeClient, bucket: str, key: str, upload_id: str) -> None:
    """Raises AwsCallError with the command that does it, since the parts of an open upload are billed."""
    try:
        with told(f"giving up the upload of {key}"):
            lake.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload_id)
    except AwsCallError as error:
        command = f"aws s3api abort-multipart-upload --bucket {bucket} --key '{key}' --upload-id {upload_id}"
        raise AwsCallError(
            f"{error} Its parts are billed until the lake's lifecycle rule removes them, or `{command}`."
        ) from None
