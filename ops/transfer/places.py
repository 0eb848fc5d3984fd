"""Where in the lake something belongs: its layout, and the bucket of a stack."""

import argparse
import unicodedata
from collections.abc import Sequence
from difflib import get_close_matches

from components.lake_layout import EVALUATIONS, LOGS_TRAINING, MODELS, PREFIXES, PROCESSED, RAW
from ops.stack_outputs import stack_outputs, stack_region

LONGEST_KEY_BYTES = 1024
# How much a folder must look like one of the layout to be taken for a slip of the keyboard.
ALIKE = 0.8


class TransferError(Exception):
    """Something cannot be sent or fetched as asked; the message says what and why."""


def checked_destination(text: str) -> str:
    """`text` when it lies in the lake's layout, else TransferError with the allowed places and the nearest, if one is near.

    A folder of the layout gets its /, or `a.pdf` sent to `raw/pdfs` would become an object of that name.
    """
    key = unicodedata.normalize("NFC", text)
    roots = (RAW, PROCESSED, MODELS, EVALUATIONS, LOGS_TRAINING)
    folder = "/".join(key.rstrip("/").split("/")[:2]) + "/"
    if key_fault(key.rstrip("/") or "/"):
        raise TransferError(f"{text!r} is no place in the lake: {key_fault(key.rstrip('/') or '/')}.")
    inside = any(key.startswith(root) or f"{key}/" == root for root in roots)
    slip = key.count("/") > 1 and folder not in PREFIXES and get_close_matches(folder, PREFIXES, 1, ALIKE)
    if inside and not slip:
        return f"{key}/" if f"{key}/" in (*roots, *PREFIXES) else key
    allowed = f"a name below {', '.join(roots)}, such as {', '.join(PREFIXES)}"
    raise TransferError(f"{text} is not in the lake's layout. Allowed: {allowed}.{_nearest(folder, roots)}")


def _nearest(folder: str, roots: Sequence[str]) -> str:
    """A sentence on the place that was meant; empty where none is much like it."""
    places = [*PREFIXES, *roots]
    above = [place for place in places if place.startswith(folder)]
    nearest = [*above, *get_close_matches(folder, places, 1, ALIKE)][:1]
    return f" The nearest is {nearest[0]}." if nearest else ""


def key_fault(key: str) -> str:
    """Why a name cannot be a key in the lake, or ""."""
    try:
        length = len(key.encode())
    except UnicodeEncodeError:
        return "its name is not UTF-8, which S3 takes only; rename it"
    if length > LONGEST_KEY_BYTES:
        return f"its key has {length} bytes, and S3 takes {LONGEST_KEY_BYTES}; shorten the names"
    if any(ord(letter) < 32 or letter == "\x7f" for letter in key):
        return "its name holds a control character, which breaks S3's listings; rename it"
    if any(part in ("", ".", "..") for part in key.split("/")):
        return "a part of the path is empty, or it is . or .., which leads elsewhere"
    return ""


def bucket_of(options: argparse.Namespace) -> tuple[str, str]:
    """Bucket and region, from the options or from the outputs of the stack. Raises StackOutputsError."""
    region = stack_region(options.stack) if options.stack else ""
    if options.bucket:
        return options.bucket, region
    return stack_outputs(options.stack, instead="name the bucket with --bucket").text("bucket"), region
