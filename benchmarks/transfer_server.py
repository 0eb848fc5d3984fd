"""A local S3 that reads what is sent and keeps only its length: `python -m benchmarks.transfer_server`.

It speaks just enough for an upload by any client: listing, HEAD, PUT, and uploads in parts. Nothing is written to a
disk and no signature or checksum is checked, so that it is the client that is measured as far as that goes.
"""

import asyncio
import itertools
import json
import re
import sys
import time
from urllib.parse import parse_qs, unquote, urlsplit

HEAD_LIMIT = 64 * 1024
BUFFER_BYTES = 1024 * 1024
XML = '<?xml version="1.0" encoding="UTF-8"?>'
ETAG = 'ETag: "00000000000000000000000000000000"\r\n'


class Lake:
    """The lengths of what was sent, by path."""

    def __init__(self) -> None:
        self.objects: dict[str, int] = {}
        self.uploads: dict[str, dict[int, int]] = {}
        self._busy_before = 0.0
        self._ids = itertools.count(1)

    def answer(self, method: str, target: str, length: int) -> tuple[int, str, str]:
        """Status, more header lines, and body of the answer to one request."""
        url = urlsplit(target)
        path, query = unquote(url.path), parse_qs(url.query, keep_blank_values=True)
        if method == "PUT":
            return self._put(path, query, length)
        if method == "POST":
            return self._post(path, query)
        if path == "/-/figures":
            return 200, "", self._figures()
        if method == "GET":
            return 200, "", _listing(query)
        return (200 if path in self.objects or path.count("/") < 2 else 404), "", ""

    def _put(self, path: str, query: dict[str, list[str]], length: int) -> tuple[int, str, str]:
        if "uploadId" in query:
            self.uploads[query["uploadId"][0]][int(query["partNumber"][0])] = length
        elif path.count("/") > 1:
            self.objects[path] = length
        return 200, ETAG, ""

    def _post(self, path: str, query: dict[str, list[str]]) -> tuple[int, str, str]:
        bucket, _, key = path.lstrip("/").partition("/")
        if "uploads" in query:
            upload = f"upload-{next(self._ids)}"
            self.uploads[upload] = {}
            inside = f"<Bucket>{bucket}</Bucket><Key>{key}</Key><UploadId>{upload}</UploadId>"
            return 200, "", f"{XML}<InitiateMultipartUploadResult>{inside}</InitiateMultipartUploadResult>"
        self.objects[path] = sum(self.uploads.pop(query["uploadId"][0]).values())
        inside = f'<Bucket>{bucket}</Bucket><Key>{key}</Key><ETag>"0-1"</ETag>'
        return 200, "", f"{XML}<CompleteMultipartUploadResult>{inside}</CompleteMultipartUploadResult>"

    def _figures(self) -> str:
        """How much came since the last time somebody asked."""
        figures = {
            "objects": len(self.objects),
            "bytes": sum(self.objects.values()),
            "open": len(self.uploads),
            "busy_seconds": time.process_time() - self._busy_before,
        }
        self.objects, self.uploads, self._busy_before = {}, {}, time.process_time()
        return json.dumps(figures)


class Connection(asyncio.BufferedProtocol):
    """One connection, which is kept. A body is counted and dropped."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._buffer = bytearray(BUFFER_BYTES)
        self._head = b""
        self._left = 0
        self._request = ("", "", 0)
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._left > nbytes:
            self._left -= nbytes
            return
        data = bytes(self._buffer[:nbytes])
        while data:
            data = self._body(data) if self._left else self._line(data)

    def _body(self, data: bytes) -> bytes:
        taken = min(self._left, len(data))
        self._left -= taken
        if not self._left:
            self._answer()
        return data[taken:]

    def _line(self, data: bytes) -> bytes:
        """Takes the head of a request, as soon as it is whole."""
        self._head += data
        end = self._head.find(b"\r\n\r\n")
        if end < 0:
            assert len(self._head) < HEAD_LIMIT, "the head of a request is too long"
            return b""
        head, rest = self._head[:end].decode("latin-1"), self._head[end + 4 :]
        self._head = b""
        method, target, _ = head.split(" ", 2)
        self._left = _number(head, "content-length")
        self._request = (method, target, _number(head, "x-amz-decoded-content-length") or self._left)
        if self._transport and re.search(r"(?i)\r\nexpect: *100-continue", head):
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not self._left:
            self._answer()
        return rest

    def _answer(self) -> None:
        status, more, body = self._lake.answer(*self._request)
        head = f"HTTP/1.1 {status} -\r\nContent-Type: application/xml\r\n{more}Content-Length: {len(body)}\r\n\r\n"
        if self._transport:
            self._transport.write((head + body).encode())


def _number(head: str, name: str) -> int:
    found = re.search(rf"(?i)\r\n{name}: *(\d+)", head)
    return int(found[1]) if found else 0


def _listing(query: dict[str, list[str]]) -> str:
    """Nothing is there, and the bucket has no region of its own."""
    if "location" in query:
        return f"{XML}<LocationConstraint/>"
    return f"{XML}<ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>"


async def serve() -> None:
    """Tells its port on standard output, and serves until its standard input ends."""
    lake, loop = Lake(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(lake), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve())
