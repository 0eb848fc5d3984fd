"""How an object is cut into parts: a pure function, which agrees with what s3transfer does."""

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
# Limits of S3 (https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html).
MOST_PARTS = 10_000
SMALLEST_PART_BYTES = 5 * MIB
LARGEST_PART_BYTES = 5 * GIB
# What s3transfer takes by default, and so do boto3 and the AWS command line.
PART_BYTES = 8 * MIB


class PartError(ValueError):
    """An object is longer than 10,000 parts of 5 GiB."""


def part_bytes(length: int, wanted: int = PART_BYTES) -> int:
    """The size of every part but the last. Doubled from `wanted` until 10,000 parts hold `length` bytes.

    Raises PartError where even the largest parts do not.
    """
    size = wanted
    while -(-length // size) > MOST_PARTS:
        size *= 2
    size = min(max(size, SMALLEST_PART_BYTES), LARGEST_PART_BYTES)
    if -(-length // size) > MOST_PARTS:
        limit = MOST_PARTS * LARGEST_PART_BYTES
        raise PartError(f"{length} bytes are more than one object of S3 holds, {limit} bytes. Fix: split it.")
    return size


def part_lengths(length: int, wanted: int = PART_BYTES) -> list[int]:
    """The lengths of all parts in order. An empty object is one part of 0 bytes."""
    size = part_bytes(length, wanted)
    whole, rest = divmod(length, size)
    return [size] * whole + ([rest] if rest or not whole else [])
