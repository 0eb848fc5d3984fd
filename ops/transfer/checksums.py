"""Whether a local file and an object hold the same bytes, told by the object's checksum and never by its time.

Objects are sent with the CRC-32 of the whole, which S3 checks and keeps, whatever the sizes of their parts
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html).
"""

import base64
import hashlib
import zlib
from collections.abc import Callable, Mapping
from typing import Any

BLOCK_BYTES = 1024 * 1024
# Asks S3 for the CRC-32 of the whole object, instead of one over those of its parts.
WHOLE_OBJECT = {"ChecksumAlgorithm": "CRC32", "ChecksumType": "FULL_OBJECT"}


def crc32_text(data: bytes) -> str:
    """The CRC-32 of bytes as S3 writes it."""
    return _text(zlib.crc32(data))


def crc32_of(path: str) -> str:
    """The CRC-32 of a file as S3 writes it. Raises OSError."""
    value, block = 0, bytearray(BLOCK_BYTES)
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(block):
            value = zlib.crc32(memoryview(block)[:count], value)
    return _text(value)


def sha256_of(path: str) -> str:
    """The SHA-256 of a file as S3 writes it. Raises OSError."""
    with open(path, "rb") as file:
        return base64.b64encode(hashlib.file_digest(file, "sha256").digest()).decode()


CHECKSUMS: Mapping[str, Callable[[str], str]] = {"ChecksumCRC32": crc32_of, "ChecksumSHA256": sha256_of}


def holds_same_bytes(path: str, head: Mapping[str, Any]) -> bool | None:
    """Compares a file with the answer of HeadObject; None when the object has no checksum of the whole.

    A checksum over those of the parts is written as `value-parts`, and says nothing without their sizes.
    """
    for name, of in CHECKSUMS.items():
        value = str(head.get(name, ""))
        if value and "-" not in value and head.get("ChecksumType", "FULL_OBJECT") == "FULL_OBJECT":
            return of(path) == value
    return None


def _text(value: int) -> str:
    return base64.b64encode(value.to_bytes(4, "big")).decode()
