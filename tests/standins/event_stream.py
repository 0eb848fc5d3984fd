"""Writes the binary frames of AWS's event streams.

A frame is its length, the length of its headers, a checksum of both, the headers, the payload, and a checksum of all
(https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html#streaming-event-stream).
"""

import json
import struct
from binascii import crc32
from collections.abc import Mapping
from typing import Any

STRING = 7


def event(name: str, document: Mapping[str, Any]) -> bytes:
    """An event of a stream whose payload is JSON."""
    headers = {":message-type": "event", ":event-type": name, ":content-type": "application/json"}
    return frame(headers, json.dumps(document).encode())


def exception(name: str, message: str) -> bytes:
    """A modelled error in the middle of a stream, after which nothing follows."""
    headers = {":message-type": "exception", ":exception-type": name, ":content-type": "application/json"}
    return frame(headers, json.dumps({"message": message}).encode())


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    encoded = b"".join(_header(name, value) for name, value in headers.items())
    prelude = struct.pack(">II", 16 + len(encoded) + len(payload), len(encoded))
    message = prelude + struct.pack(">I", crc32(prelude)) + encoded + payload
    return message + struct.pack(">I", crc32(message))


def _header(name: str, value: str) -> bytes:
    return (
        struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", STRING, len(value)) + value.encode()
    )
